import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ChatReply, ChatRequest } from '../../../src/domain/chat/chat.ts';
import {
  chatHold,
  checkContext,
  checkTextLength,
  heldCredits,
  settledCredits,
  settledUsage,
} from '../../../src/domain/chat/chat-hold.ts';
import { rareScriptBytes, utf8Bytes } from '../../../src/domain/chat/text-size.ts';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import { spec } from '../../spec/spec.ts';

const asking = (more: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'm',
  messages: [{ role: 'user', content: 'hello' }],
  tools: [],
  maxTokens: 1_024,
  extra: {},
  ...more,
});
const reply = (more: Partial<ChatReply> = {}): ChatReply => ({
  content: 'an answer',
  refusal: null,
  toolCalls: [],
  finishReason: 'stop',
  usage: null,
  ...more,
});
const pricing = {
  unit: 'tokens' as const,
  credits_per_request: 1,
  credits_per_1k_input_tokens: 3,
  credits_per_1k_output_tokens: 15,
  min_credits_per_request: 1,
};
const imageTokens = 1_600;
const data = `data:image/png;base64,${'A'.repeat(4_000)}`;

describe('the hold of a chat', () => {
  it('is half the UTF-8 bytes plus 8 tokens per message, and the maximum length of the answer', () => {
    expect(chatHold(asking(), imageTokens)).toMatchObject({ inputTokens: 3 + 8, outputTokens: 1_024 });
    const two = asking({
      messages: [...asking().messages, { role: 'assistant', content: 'žluť 🦊', toolCalls: [] }],
      maxTokens: 16,
    });
    expect(chatHold(two, imageTokens)).toMatchObject({
      inputTokens: Math.ceil((5 + 7) / 2) + 4 + 16,
      outputTokens: 16,
    });
  });

  it.each([
    ['English', 'All human beings are born free and equal'],
    ['Vietnamese', 'Tất cả mọi người sinh ra đều được tự do'],
    ['Greek', 'Όλοι οι άνθρωποι γεννιούνται ελεύθεροι'],
    ['Russian', 'Все люди рождаются свободными и равными'],
    ['Chinese', '人人生而自由,在尊严和权利上一律平等。'],
    ['Japanese', 'すべての人間は、生れながらにして自由であり、ﾃｽﾄ「１」'],
    ['Korean', '모든 인간은 태어날 때부터 자유로우며 ㅋㅋ'],
    ['punctuation and prices', '“no” – it costs 5 € … §3'],
  ])('counts half the bytes of %s', (_what, text) => {
    const { inputTokens } = chatHold(asking({ messages: [{ role: 'user', content: text }] }), imageTokens);
    expect(inputTokens).toBe(Math.ceil(Buffer.byteLength(text) / 2) + 8);
  });

  it.each([
    ['Cherokee', 'ᏂᎦᏓᎠᏂᏴᏫ'],
    ['Amharic', 'የሰውልጅሁሉ'],
    ['Mongolian', 'ᠬᠦᠮᠦᠨᠪᠦᠷ'],
    ['Yi', 'ꊿꂷꃅꄿꐨꐥ'],
    ['Thai', 'มนุษย์ทั้งหลาย'],
    ['Arabic', 'يولدجميعالناس'],
    ['Tibetan', 'འགྲོ་བ་མིའི་'],
    ['Gothic', '𐌲𐌿𐍄𐌹𐍃𐌺'],
    ['cuneiform', '𒀭𒂗𒆠'],
    ['ideographs of Extension B', '𠀀𠀁𠀂'],
    ['emoji', '🦊🐉🫠'],
    ['combining marks', '\u0300\u0301\u0302'],
  ])('counts all bytes of %s, in every text of the request', (_what, text) => {
    const bytes = Buffer.byteLength(text);
    const inputOf = (more: Partial<ChatRequest>) => chatHold(asking(more), imageTokens).inputTokens;
    const plain = inputOf({});
    const withMessage = (message: ChatRequest['messages'][number]) => ({ messages: [...asking().messages, message] });
    expect(inputOf(withMessage({ role: 'user', content: text }))).toBe(plain + bytes + 8);
    expect(inputOf(withMessage({ role: 'user', content: [{ type: 'text', text }] }))).toBe(plain + bytes + 8);
    const call = { id: '', name: '', arguments: text };
    expect(inputOf(withMessage({ role: 'assistant', content: null, toolCalls: [call] }))).toBe(plain + bytes + 8);
    for (const more of [{ tools: [{ name: 'f', description: text }] }, { extra: { metadata: { text } } }]) {
      expect(inputOf(more)).toBeGreaterThanOrEqual(plain + bytes);
    }
  });

  it('counts an image by its tokens and not by its bytes', () => {
    const content = [
      { type: 'text' as const, text: 'hello' },
      { type: 'image' as const, url: data },
    ];
    const hold = chatHold(asking({ messages: [{ role: 'user', content: [...content, ...content] }] }), imageTokens);
    expect(hold.inputTokens).toBe(5 + 8 + 2 * imageTokens);
  });

  it('counts tool calls with signatures, tools, the schema with its description, and unknown fields', () => {
    const plain = chatHold(asking(), imageTokens).inputTokens;
    const text = 'x'.repeat(1_000);
    for (const more of [
      {
        messages: [{ role: 'assistant' as const, content: null, toolCalls: [{ id: '1', name: 'f', arguments: text }] }],
      },
      {
        messages: [
          {
            role: 'assistant' as const,
            content: null,
            toolCalls: [{ id: '1', name: 'f', arguments: '{}', signature: text }],
          },
        ],
      },
      { tools: [{ name: 'f', description: text }] },
      { responseFormat: { type: 'json_schema' as const, name: 's', description: text, schema: { description: '' } } },
      { responseFormat: { type: 'json_schema' as const, name: 's', schema: { description: text } } },
      { extra: { prediction: text } },
    ]) {
      expect(chatHold(asking(more), imageTokens).inputTokens).toBeGreaterThanOrEqual(plain + 490);
    }
  });

  it('is never below the likely input and grows with every message', () => {
    const messages = fc.array(fc.string({ unit: 'binary' }), { minLength: 1 });
    fc.assert(
      fc.property(messages, fc.string(), (texts, more) => {
        const of = (all: string[]) =>
          chatHold(asking({ messages: all.map((content) => ({ role: 'user' as const, content })) }), imageTokens);
        const hold = of(texts);
        expect(hold.likelyInputTokens).toBeLessThanOrEqual(hold.inputTokens);
        expect(of([...texts, more]).inputTokens).toBeGreaterThan(hold.inputTokens);
      }),
    );
  });

  it('counts bytes as UTF-8 does', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        fc.pre(text.isWellFormed());
        expect(utf8Bytes(text)).toBe(Buffer.byteLength(text));
      }),
    );
  });

  it('never counts more bytes of rare scripts than bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(rareScriptBytes(text)).toBeLessThanOrEqual(utf8Bytes(text));
      }),
    );
  });

  it("is refused only if its likely input exceeds the model's context", async () => {
    const entry = (await loadCatalog('test/support/catalog')).entries.find(({ model }) => model.id === 'deepseek-v3.2');
    if (!entry) throw new Error('no deepseek-v3.2');
    const words = (count: number) =>
      chatHold(asking({ messages: [{ role: 'user', content: 'word '.repeat(count) }] }), imageTokens);
    // The context is 128,000 tokens.
    expect(() => checkContext(entry, words(115_000))).not.toThrow();
    expect(() => checkContext(entry, words(122_000))).toThrow(
      expect.objectContaining({ code: 'context_length_exceeded' }),
    );
  });

  it('is refused before it is counted if its texts have more than 12,000,000 characters, pictures not counted', () => {
    const of = (characters: number) => {
      const url = `data:image/png;base64,${'A1b2'.repeat(5_000_000)}`;
      const content = [
        { type: 'text' as const, text: ' '.repeat(characters) },
        { type: 'image' as const, url },
      ];
      return () => checkTextLength(asking({ messages: [{ role: 'user', content }] }));
    };
    expect(of(12_000_000)).not.toThrow();
    expect(of(12_000_001)).toThrow(
      expect.objectContaining({ code: 'context_length_exceeded', message: expect.stringContaining('12000001') }),
    );
  });
});

describe('the settlement of a chat', () => {
  const hold = chatHold(asking(), imageTokens);
  const usage = (inputTokens: number | null, outputTokens: number | null) => ({ inputTokens, outputTokens });

  it('bills the reported usage', () => {
    const settled = settledUsage(reply({ usage: usage(1_000, 200) }), hold);
    expect(settled).toEqual({ input: 1_000, output: 200, estimated: false, empty: false });
    expect(settledCredits(pricing, settled, 100)).toEqual({ credits: 6, undercharged: 0 });
  });

  it('estimates and flags missing and invalid counts', () => {
    for (const reported of [null, usage(null, null), usage(NaN, 1.5), usage(2 ** 60, Infinity)]) {
      const settled = settledUsage(reply({ usage: reported }), hold);
      expect(settled).toEqual({ input: hold.likelyInputTokens, output: 3, estimated: true, empty: false });
    }
    expect(settledUsage(reply({ usage: usage(7, null) }), hold)).toMatchObject({
      input: 7,
      output: 3,
      estimated: true,
    });
  });

  it('counts a negative number as zero', () => {
    const settled = settledUsage(reply({ usage: usage(-5, -1) }), hold);
    expect(settled).toEqual({ input: 0, output: 0, estimated: false, empty: false });
    expect(settledCredits(pricing, settled, 10)).toEqual({ credits: 1, undercharged: 0 });
  });

  it('bills nothing for an empty answer', () => {
    for (const nothing of [
      reply({ content: null }),
      reply({ content: '', usage: usage(500, 0) }),
      reply({ content: null, usage: usage(500, null) }),
      reply({ content: '', usage: usage(500, -3) }),
    ]) {
      const settled = settledUsage(nothing, hold);
      expect(settled.empty).toBe(true);
      expect(settledCredits(pricing, settled, 100)).toEqual({ credits: 0, undercharged: 0 });
    }
  });

  it('does not treat thoughts, a tool call or a refusal as an empty answer', () => {
    const call = { id: '1', name: 'f', arguments: '{}' };
    for (const something of [
      reply({ content: null, usage: usage(5, 9) }),
      reply({ content: null, toolCalls: [call] }),
      reply({ content: null, toolCalls: [call], usage: usage(5, 0) }),
      reply({ content: null, refusal: 'No.' }),
    ]) {
      expect(settledUsage(something, hold).empty).toBe(false);
    }
  });

  it('never charges more than the hold or less than zero, and reports the undercharge', () => {
    spec('4.2 billing');
    const counts = fc.option(fc.oneof(fc.integer(), fc.double(), fc.maxSafeInteger()));
    const texts = fc.option(fc.string());
    fc.assert(
      fc.property(counts, counts, texts, fc.integer({ min: 0, max: 1_000 }), (input, output, content, bytes) => {
        const requestHold = chatHold(asking({ messages: [{ role: 'user', content: 'x'.repeat(bytes) }] }), imageTokens);
        const held = heldCredits(pricing, requestHold);
        const settled = settledUsage(reply({ content, usage: usage(input, output) }), requestHold);
        const { credits, undercharged } = settledCredits(pricing, settled, held);
        expect(Number.isSafeInteger(credits) && Number.isSafeInteger(undercharged)).toBe(true);
        expect(credits).toBeGreaterThanOrEqual(0);
        expect(credits).toBeLessThanOrEqual(held);
        expect(undercharged > 0).toBe(undercharged > 0 && credits === held);
        if (settled.estimated && input === null && output === null) expect(undercharged).toBe(0);
      }),
    );
  });
});
