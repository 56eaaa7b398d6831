import { randomBytes } from 'node:crypto';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateText, type LanguageModel } from 'ai';
import OpenAI from 'openai';
import type { JsonObject } from '../../src/domain/json.ts';
import type { Hit } from '../../packages/sandbox/src/hits.ts';
import { eventually } from '../support/eventually.ts';
import { assembled, object, pdf, rawStream, stream } from '../support/pdfs.ts';
import { dialectNames, dialects, families, familyNames, type DialectName, type FamilyName } from './matrix.ts';
import { textAt } from './json-at.ts';
import { startSdkScene, type SdkScene } from './sdk-scene.ts';
// Google's client asks globalThis for the dispatcher of Node's fetch, which exists only once undici is loaded.
import 'undici';

let scene: SdkScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startSdkScene();
  // The first document starts the thread that measures them, which may take longer than a request waits for it.
  await eventually(async () => (await countOf(2)) - (await countOf(1)) === tokensOfPage);
});
afterAll(() => scene?.stop());

const PAGES = 4;
const base64 = pdf({ pages: PAGES, form: 'compressed texts' }).toString('base64');
const uri = `data:application/pdf;base64,${base64}`;
const url = 'https://example.com/report.pdf';
/** Families whose models take PDFs. */
const takingFamilies = familyNames.filter((family) => family !== 'OpenAI-compatible');

const asking = (prompt: string) => ({ type: 'text' as const, text: prompt });
const byAi = (model: LanguageModel, prompt: string) =>
  generateText({
    model,
    maxRetries: 0,
    providerOptions: { openai: { store: false } },
    messages: [
      {
        role: 'user',
        content: [asking(prompt), { type: 'file', data: base64, mediaType: 'application/pdf', filename: 'report.pdf' }],
      },
    ],
  });

const senders: Record<string, Send> = {
  '@anthropic-ai/sdk': ({ gateway, apiKey }, model, prompt) =>
    new Anthropic({ baseURL: gateway.baseUrl, apiKey, maxRetries: 0 }).messages.create({
      model,
      max_tokens: 100,
      messages: [
        {
          role: 'user',
          content: [
            asking(prompt),
            {
              type: 'document',
              title: 'Report',
              source: { type: 'base64', media_type: 'application/pdf', data: base64 },
            },
          ],
        },
      ],
    }),
  'openai (chat completions)': ({ gateway, apiKey }, model, prompt) =>
    new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey, maxRetries: 0 }).chat.completions.create({
      model,
      messages: [
        { role: 'user', content: [asking(prompt), { type: 'file', file: { filename: 'report.pdf', file_data: uri } }] },
      ],
    }),
  'openai (responses)': ({ gateway, apiKey }, model, prompt) =>
    new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey, maxRetries: 0 }).responses.create({
      model,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: prompt },
            { type: 'input_file', filename: 'report.pdf', file_data: uri },
          ],
        },
      ],
    }),
  '@google/genai': ({ gateway, apiKey }, model, prompt) =>
    new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.baseUrl } }).models.generateContent({
      model,
      contents: [
        { role: 'user', parts: [{ text: prompt }, { inlineData: { mimeType: 'application/pdf', data: base64 } }] },
      ],
    }),
  '@ai-sdk/openai': ({ gateway, apiKey }, model, prompt) =>
    byAi(createOpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey }).responses(model), prompt),
  '@ai-sdk/openai-compatible': ({ gateway, apiKey }, model, prompt) =>
    byAi(createOpenAICompatible({ name: 'tollgate', baseURL: `${gateway.baseUrl}/v1`, apiKey })(model), prompt),
  '@ai-sdk/anthropic': ({ gateway, apiKey }, model, prompt) =>
    byAi(createAnthropic({ baseURL: `${gateway.baseUrl}/v1`, apiKey })(model), prompt),
  '@ai-sdk/google': ({ gateway, apiKey }, model, prompt) =>
    byAi(createGoogleGenerativeAI({ baseURL: `${gateway.baseUrl}/v1beta`, apiKey })(model), prompt),
};

interface FileForms {
  /** A request with the prompt and one part. */
  placed: (model: string, prompt: string, part: JsonObject) => JsonObject;
  forms: {
    taken: [what: string, part: JsonObject, documents: JsonObject[]][];
    refused: [what: string, part: JsonObject, path: string, advice: string][];
  };
}

const inline = [{ type: 'application/pdf', pages: PAGES }];
const byUrl = [{ type: 'application/pdf', url }];
const note = Buffer.from('a note').toString('base64');
const asText = [{ type: 'text/plain', text: 'a note' }];

const fileForms: Record<DialectName, FileForms> = {
  'chat completions': {
    placed: (model, prompt, part) => ({ model, messages: [{ role: 'user', content: [asking(prompt), part] }] }),
    forms: {
      taken: [
        ['a data URI', { type: 'file', file: { filename: 'a.pdf', file_data: uri } }, inline],
        ['base64 alone', { type: 'file', file: { filename: 'a.pdf', file_data: base64 } }, inline],
        ['a URL as data', { type: 'file', file: { file_data: url } }, byUrl],
        ['a data URI for Mistral', { type: 'document_url', document_url: uri, document_name: 'a.pdf' }, inline],
        ['a URL for Mistral', { type: 'document_url', document_url: url }, byUrl],
        ['a PDF among the pictures', { type: 'image_url', image_url: { url: uri } }, inline],
        ['a text', { type: 'file', file: { filename: 'a.md', file_data: note } }, asText],
      ],
      refused: [
        [
          'a stored file',
          { type: 'file', file: { file_id: 'file-1' } },
          'messages.0.content.1.file.file_id',
          'file_data',
        ],
        ['no file', { type: 'file', file: { filename: 'a.pdf' } }, 'messages.0.content.1.file.file_data', 'required'],
        [
          'no PDF',
          { type: 'file', file: { file_data: `data:application/pdf;base64,${note}` } },
          'messages.0.content.1',
          'no PDF',
        ],
        [
          'no base64',
          { type: 'file', file: { file_data: 'data:application/pdf;base64,a*b' } },
          'messages.0.content.1',
          'not base64',
        ],
        [
          'another type',
          { type: 'file', file: { file_data: `data:application/zip;base64,${note}` } },
          'messages.0.content.1',
          'a PDF, a text or a picture',
        ],
      ],
    },
  },
  responses: {
    placed: (model, prompt, part) => ({
      model,
      input: [{ role: 'user', content: [{ type: 'input_text', text: prompt }, part] }],
    }),
    forms: {
      taken: [
        ['a data URI', { type: 'input_file', filename: 'a.pdf', file_data: uri }, inline],
        ['a URL', { type: 'input_file', file_url: url }, byUrl],
        ['a text', { type: 'input_file', filename: 'a.csv', file_data: `data:text/csv;base64,${note}` }, asText],
      ],
      refused: [
        ['a stored file', { type: 'input_file', file_id: 'file-1' }, 'input.0.content.1.file_id', 'file_data'],
        [
          'no PDF',
          { type: 'input_file', file_data: `data:application/pdf;base64,${note}` },
          'input.0.content.1',
          'no PDF',
        ],
        [
          'a private address',
          { type: 'input_file', file_url: 'https://10.0.0.1/a.pdf' },
          'input.0.content.1',
          'input.0.content.1',
        ],
        ['a text by URL', { type: 'input_file', file_url: 'https://example.com/a.txt' }, 'input.0.content.1', 'base64'],
      ],
    },
  },
  messages: {
    placed: (model, prompt, part) => ({
      model,
      max_tokens: 100,
      messages: [{ role: 'user', content: [asking(prompt), part] }],
    }),
    forms: {
      taken: [
        [
          'base64',
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: base64 } },
          inline,
        ],
        ['a URL', { type: 'document', source: { type: 'url', url } }, byUrl],
        [
          'a text',
          { type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'a note' } },
          asText,
        ],
        ['a content of one text', { type: 'document', source: { type: 'content', content: 'a note' } }, asText],
        ['a content of blocks', { type: 'document', source: { type: 'content', content: [asking('a note')] } }, []],
        ['citations', { type: 'document', citations: { enabled: true }, source: { type: 'url', url } }, byUrl],
      ],
      refused: [
        [
          'a stored file',
          { type: 'document', source: { type: 'file', file_id: 'f' } },
          'messages.0.content.1.source.type',
          'base64',
        ],
        [
          'a stored picture',
          { type: 'image', source: { type: 'file', file_id: 'f' } },
          'messages.0.content.1.source.type',
          'base64',
        ],
        [
          'no PDF',
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: note } },
          'messages.0.content.1',
          'no PDF',
        ],
        [
          'a private address',
          { type: 'document', source: { type: 'url', url: 'https://10.0.0.1/a.pdf' } },
          'messages.0.content.1',
          'messages.0.content.1',
        ],
      ],
    },
  },
  Gemini: {
    placed: (_model, prompt, part) => ({ contents: [{ role: 'user', parts: [{ text: prompt }, part] }] }),
    forms: {
      taken: [
        ['inlineData', { inlineData: { mimeType: 'application/pdf', data: base64 } }, inline],
        ['inline_data', { inline_data: { mime_type: 'application/pdf', data: base64 } }, inline],
        [
          'the URL-safe alphabet',
          { inlineData: { mimeType: 'application/pdf', data: base64.replaceAll('+', '-').replaceAll('/', '_') } },
          inline,
        ],
        ['fileData', { fileData: { fileUri: url, mimeType: 'application/pdf' } }, byUrl],
        ['a text', { inlineData: { mimeType: 'text/markdown', data: note } }, [{ type: 'text/plain', text: 'a note' }]],
      ],
      refused: [
        [
          'a stored file',
          {
            fileData: {
              fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/a',
              mimeType: 'application/pdf',
            },
          },
          'contents.0.parts.1.fileData.fileUri',
          'inlineData',
        ],
        ['a bucket', { fileData: { fileUri: 'gs://a/b.pdf' } }, 'contents.0.parts.1.fileData.fileUri', 'inlineData'],
        ['no PDF', { inlineData: { mimeType: 'application/pdf', data: note } }, 'contents.0.parts.1', 'no PDF'],
        ['a clip', { inline_data: { mime_type: 'video/mp4', data: note } }, 'contents.0.parts.1', 'video/mp4'],
      ],
    },
  },
};

const hitOf = async (prompt: string): Promise<Partial<Hit> | undefined> => {
  const response = await fetch(
    `${scene.gateway.sandboxUrl}/_sandbox/hits?contains=${encodeURIComponent(prompt)}&kind=chat`,
  );
  return ((await response.json()) as Partial<Hit>[]).at(-1);
};

describe.each(Object.keys(senders))('a PDF that %s sends', (library) => {
  it.each(takingFamilies)('reaches the provider: %s', async (family) => {
    const prompt = `documents ${library} ${family}`;
    await senders[library]?.(scene, families[family], prompt);
    expect((await hitOf(prompt))?.documents).toMatchObject([{ type: 'application/pdf', pages: PAGES }]);
  });
});

describe.each(dialectNames)('a file in a request of %s', (dialect) => {
  const { placed, forms } = fileForms[dialect];

  async function send(family: FamilyName, prompt: string, part: JsonObject) {
    const { gateway, apiKey } = scene;
    const ask = { model: families[family], prompt };
    const response = await fetch(`${gateway.baseUrl}${dialects[dialect].path(ask)}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(placed(ask.model, prompt, part)),
    });
    return { status: response.status, json: (await response.json()) as JsonObject };
  }

  it.each(forms.taken)('is taken: %s', async (what, part, documents) => {
    const prompt = `${dialect} takes ${what}`;
    const { status, json } = await send('Anthropic', prompt, part);
    expect({ status, json }).toMatchObject({ status: 200 });
    expect((await hitOf(prompt))?.documents ?? []).toMatchObject(documents);
  });

  it.each(forms.refused)('is refused by its path and with what to send: %s', async (what, part, path, advice) => {
    const { status, json } = await send('Anthropic', `${dialect} refuses ${what}`, part);
    expect({ status, param: dialects[dialect].error(json).param }).toEqual({ status: 400, param: path });
    expect(textAt(json, 'error', 'message')).toContain(advice);
  });

  it('names the models that take a PDF where the model takes none', async () => {
    const [, part] = forms.taken[0] ?? [];
    const { status, json } = await send('OpenAI-compatible', 'none', part ?? {});
    expect(status).toBe(400);
    expect(textAt(json, 'error', 'message')).toMatch(/qwen3\.8-flash does not take PDF documents.*claude-opus-5\.5/);
  });
});

it('is held for as the whole context of the model where its size is not known, and charged by the count of the provider', async () => {
  const { gateway } = scene;
  const { apiKey } = await gateway.project({ credits: 500 });
  const ask = async (data: string, prompt: string) => {
    const response = await fetch(`${gateway.baseUrl}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(
        fileForms.messages.placed(families.Anthropic, prompt, {
          type: 'document',
          source: { type: 'base64', media_type: 'application/pdf', data },
        }),
      ),
    });
    return { status: response.status, text: await response.text() };
  };
  const encrypted = assembled([pdf(), object(90, '<< /Encrypt 91 0 R >>')]).toString('base64');
  expect(await ask(encrypted, 'unknown size')).toMatchObject({ status: 402 });
  expect(await ask(base64, 'known size')).toMatchObject({ status: 200 });
});

it('is taken with megabytes of pictures, and with streams that unpack to far more than is read', async () => {
  const { gateway, apiKey } = scene;
  const photo = rawStream(50, randomBytes(5_000_000), '/Subtype /Image /Filter /DCTDecode');
  const bomb = stream(51, ' '.repeat(200_000_000));
  const { apiKey: poor } = await gateway.project({ credits: 500 });
  for (const [more, key, status] of [
    [bomb, apiKey, 200],
    [photo, poor, 200],
    // What the bomb holds is unknown, so it is held for as the whole context.
    [bomb, poor, 402],
  ] as const) {
    const data = assembled([more, pdf({ pages: PAGES })]).toString('base64');
    const source = { type: 'base64', media_type: 'application/pdf', data };
    const response = await fetch(`${gateway.baseUrl}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(fileForms.messages.placed(families.Anthropic, 'large', { type: 'document', source })),
    });
    expect([response.status, await response.text()]).toEqual([status, expect.any(String)]);
  }
});

it('counts the tokens of a PDF without a charge', async () => {
  expect((await countOf(10)) - (await countOf(2))).toBe(8 * tokensOfPage);
});

const tokensOfPage = 2_350;
/** The tokens of a message with a PDF, as the gateway counts them. */
async function countOf(pages: number): Promise<number> {
  const { gateway, apiKey } = scene;
  const client = new Anthropic({ baseURL: gateway.baseUrl, apiKey, maxRetries: 0 });
  const data = pdf({ pages }).toString('base64');
  const document = {
    type: 'document' as const,
    source: { type: 'base64' as const, media_type: 'application/pdf' as const, data },
  };
  const { input_tokens: count } = await client.messages.countTokens({
    model: families.Anthropic,
    messages: [{ role: 'user', content: [document] }],
  });
  return count;
}
type Send = (scene: SdkScene, model: string, prompt: string) => Promise<unknown>;
