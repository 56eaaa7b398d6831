import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../src/domain/json.ts';
import { V1ImageUrl } from '../../../src/http/dialects/picture-url.ts';
import { readBy, refusalOf } from './tool-readers.ts';

const bytes = 'iVBORw0KGgo=';

describe('a picture of a client under /v1', () => {
  it.each([
    ['https://example.com/a.png', 'https://example.com/a.png'],
    [`data:image/png;base64,${bytes}`, `data:image/png;base64,${bytes}`],
    [`data:image/jpg;base64,${bytes}`, `data:image/jpg;base64,${bytes}`],
    [`data:image/heic;base64,${bytes}`, `data:image/heic;base64,${bytes}`],
    [`data:image/png;charset=utf-8;base64,${bytes}`, `data:image/png;base64,${bytes}`],
    [`data:image/webp;name=a.webp;charset=utf-8;base64,${bytes}`, `data:image/webp;base64,${bytes}`],
  ])('is sent as %s', (url, sent) => {
    expect(V1ImageUrl.parse(url)).toBe(sent);
  });

  it.each([
    `data:image/svg+xml;base64,${bytes}`,
    `data:image/avif;base64,${bytes}`,
    `data:text/html;base64,${bytes}`,
    'data:image/png;base64,',
    'data:image/png;base64,not base64!',
    `data:image/png,${bytes}`,
    'a.png',
  ])('is refused: %s', (url) => {
    expect(V1ImageUrl.safeParse(url).success).toBe(false);
  });
});

describe('a picture whose data is not base64', () => {
  const broken = '%%% not base64';
  const saying = (part: JsonObject) => [{ role: 'user', content: [part] }];
  const url = `data:image/png;base64,${broken}`;
  const file = { filename: 'a.png', file_data: broken };
  it.each<[dialect: string, request: JsonObject, param: string]>([
    [
      'chat completions',
      { messages: saying({ type: 'image_url', image_url: { url } }) },
      'messages.0.content.0.image_url.url',
    ],
    ['chat completions', { messages: saying({ type: 'file', file }) }, 'messages.0.content.0'],
    ['responses', { input: saying({ type: 'input_image', image_url: url }) }, 'input.0.content.0.image_url'],
    ['responses', { input: saying({ type: 'input_file', ...file }) }, 'input.0.content.0'],
    [
      'messages',
      { messages: saying({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: broken } }) },
      'messages.0.content.0.source.data',
    ],
    [
      'Gemini',
      { contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: broken } }] }] },
      'contents.0.parts.0',
    ],
  ])('is refused in %s: %j', (dialect, request, param) => {
    expect(refusalOf(() => readBy(dialect)(request))).toMatchObject({ code: 'invalid_value', param });
  });
});
