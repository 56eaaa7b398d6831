import { describe, expect, it } from '@jest/globals';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import type { ChatPart, ChatRequest, PdfPart } from '../../../src/domain/chat/chat.ts';
import { chatHold } from '../../../src/domain/chat/chat-hold.ts';
import {
  checkDocuments,
  documentTokensOf,
  plainDocuments,
  tokensOfDocuments,
  type DocumentTokens,
} from '../../../src/domain/chat/documents.ts';
import { tokensPerPage } from '../../../packages/sandbox/src/documents.ts';

const at = 'messages.0.content.0';
const part = (more: Partial<PdfPart> = {}): PdfPart => ({
  type: 'document',
  at,
  url: 'data:application/pdf;base64,JVBERi0=',
  ...more,
});
const byUrl = part({ url: 'https://example.com/a.pdf' });
const asking = (...content: ChatPart[]): ChatRequest => ({
  model: 'm',
  messages: [{ role: 'user', content }],
  tools: [],
  maxTokens: 16,
  extra: {},
});
const tokens: DocumentTokens = { page: 4_600, likelyPage: 2_000, context: 200_000 };
const of = (...documents: PdfPart[]) => tokensOfDocuments(documents, tokens);

describe('the tokens of documents', () => {
  it('are at most those of all pages, and of the text beyond a full page', () => {
    expect(of(part({ size: { pages: 3, textBytes: 5_000 } }))).toEqual({ most: 13_800, likely: 6_000 });
    expect(of(part({ size: { pages: 1, textBytes: 103_000 } }))).toEqual({ most: 104_600, likely: 27_000 });
    const two = part({ size: { pages: 2, textBytes: 0 } });
    expect(of(two, two).most).toBe(4 * 4_600);
  });

  it('are the whole context for a document whose size is not known or that nobody fetched, and never more', () => {
    for (const document of [part(), part({ size: null }), byUrl]) expect(of(document).most).toBe(200_000);
    expect(of(part(), byUrl, part({ size: { pages: 9_000, textBytes: 0 } })).most).toBe(200_000);
    expect(of(part({ url: `data:application/pdf;base64,${'A'.repeat(40_000)}` })).likely).toBe(4_000);
  });

  it('count in the hold beside the words about them', () => {
    const plain = asking({ type: 'text', text: 'look' });
    const hold = chatHold(
      asking({ type: 'text', text: 'look' }, part({ size: { pages: 2, textBytes: 0 } })),
      1_600,
      tokens,
    );
    const { inputTokens } = chatHold(plain, 1_600, tokens);
    expect(hold.inputTokens).toBe(inputTokens + 9_200);
    expect(hold.likelyInputTokens - chatHold(plain, 1_600).likelyInputTokens).toBe(4_000);
    const titled = asking(part({ size: { pages: 2, textBytes: 0 }, title: 'x'.repeat(100) }));
    expect(chatHold(titled, 1_600, tokens).inputTokens).toBe(9_200 + 8 + 50);
  });
});

describe('the shipped catalog', () => {
  it('holds for a page at least what the provider counts, and says which models take documents', async () => {
    const { entries } = await loadCatalog('catalog');
    const perPage: Record<string, number> = tokensPerPage;
    const taking = entries.flatMap(({ model, private: hidden }) =>
      Object.entries(hidden.upstream).flatMap(([family, { documents }]) =>
        documents ? [{ model, family, documents }] : [],
      ),
    );
    expect(new Set(taking.map(({ family }) => family))).toEqual(new Set(Object.keys(perPage)));
    for (const { model, family, documents } of taking) {
      expect(documents.page_tokens).toBeGreaterThanOrEqual(perPage[family] ?? Infinity);
      // Anthropic: 3,000 tokens of text and a picture of 1,600. The others count less for the picture or the text.
      expect(documents.page_tokens).toBeGreaterThanOrEqual(3_000);
      expect(model.capability.split(',')).toContain('documents');
    }
    expect(documentTokensOf([{}], 1_000)).toBeUndefined();
    expect(documentTokensOf([{}, ...taking.map(({ documents }) => ({ documents }))], 1_000)).toEqual({
      page: 6_000,
      likelyPage: 2_500,
      context: 1_000,
    });
  });
});

describe('a document', () => {
  const taker = {
    mapping: { documents: { page_tokens: 1, likely_page_tokens: 1 } },
    supports: { documents: { urls: true as const } },
  };
  const noUrls = { ...taker, supports: { documents: {} } };
  const none = { mapping: {}, supports: { documents: {} } };
  const check = (
    families: Parameters<typeof checkDocuments>[0]['families'],
    document: PdfPart,
    takers: string[] = [],
  ) => checkDocuments({ model: 'm', families, takers: () => takers }, [document]);

  it('is refused by its path if no family of the model takes it, with the models that do', () => {
    expect(() => check([none], part(), ['a', 'b'])).toThrow(
      expect.objectContaining({
        code: 'unsupported_parameter',
        param: at,
        isInClientWords: true,
        message: `${at}: the model m does not take PDF documents. Send its text, or use a model that takes them: a, b.`,
      }),
    );
    expect(() => check([none], part())).toThrow('Send its text.');
    expect(() => check([none], part(), [...'abcdefghij'])).toThrow(/g, h, …\.$/);
    expect(() => check([noUrls], byUrl)).toThrow('takes no document by URL. Send its bytes in base64.');
  });

  it('is taken if one family of the model takes it', () => {
    check([none, taker], part());
    check([noUrls, taker], byUrl);
    check([noUrls], part());
  });

  it('of text, and the words about a PDF, become text for a family without documents in its own words', () => {
    const request = asking(
      { type: 'text', text: 'body', document: { title: 'T', context: 'C' } },
      part({ title: 'P' }),
      part(),
    );
    expect(plainDocuments(request).messages).toEqual([
      {
        role: 'user',
        content: [{ type: 'text', text: 'T\nC\n\nbody' }, { type: 'text', text: 'P' }, part(), part()],
      },
    ]);
    const without = asking({ type: 'text', text: 'body' }, part());
    expect(plainDocuments(without)).toBe(without);
  });
});
