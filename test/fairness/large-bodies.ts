import type { Gateway, TestProject } from '../support/gateway.ts';
import type { GreedyRequest } from './greedy-callers.ts';

/** The size of a whole body, just below the largest one. */
const bodyBytes = 30_000_000;
/** A client that is refused waits as `Retry-After` says. */
const refusedPauseMs = 2_000;
const zeros = '\0'.repeat(100);

/** Chats of 30 MB, of many parts and of bombs, as one project may send them. `scale` shrinks them. */
export function largeBodies({ baseUrl }: Gateway, { apiKey }: TestProject, scale = 1): GreedyRequest[] {
  const bytes = bodyBytes * scale;
  const chat = (name: string, body: Required<GreedyRequest>['body'], path = '/v1/chat/completions'): GreedyRequest => ({
    name,
    url: baseUrl + path,
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body,
    refusedPauseMs,
  });
  const head =
    '{"model":"gpt-5-mini","max_tokens":16,"messages":[{"role":"user","content":[{"type":"text","text":"Hello"},';
  const tail = ']}]}';
  const picture = { head: `${head}{"type":"image_url","image_url":{"url":"data:image/png;base64,`, tail: `"}}${tail}` };
  const text = { head: `${head}{"type":"text","text":"`, tail: `"}${tail}` };
  const size = `${bytes / 1e6} MB`;
  const textOf = (words: string) => ({
    ...text,
    item: words,
    count: Math.floor(bytes / Buffer.byteLength(words)),
    joint: '',
  });
  const parts = (count: number, characters: number) => ({
    head,
    item: `{"type":"text","text":"${'x'.repeat(characters)}"}`,
    count,
    tail,
  });
  const bomb = (coding: 'gzip' | 'deflate' | 'zstd', megabytes: number) => ({
    head: '',
    item: zeros,
    count: (Math.min(megabytes, 64) * 1e6) / zeros.length,
    joint: '',
    tail: '',
    coding,
    members: Math.ceil(megabytes / 64),
  });
  return [
    chat(`a picture of ${size}`, {
      ...picture,
      item: 'A1b2C3d4'.repeat(1_000),
      count: Math.floor(bytes / 8_000),
      joint: '',
    }),
    chat(`a text of ${size}`, textOf('The quick brown fox jumps over the lazy dog. '.repeat(10))),
    chat(`a text of ${size} of blanks`, textOf(' '.repeat(400))),
    chat(`a text of ${size} of escapes`, textOf('\\u4e2d\\n'.repeat(50))),
    chat('300,000 parts', parts(300_000 * scale, 0)),
    chat(`9,900 parts of ${bytes / 1e4} bytes`, parts(9_900, Math.floor(bytes / 1e4) - 40)),
    chat('a gzip bomb of 33 MB', bomb('gzip', 33)),
    chat('a deflate bomb of 33 MB', bomb('deflate', 33)),
    chat('a zstd bomb of 33 MB', bomb('zstd', 33)),
    chat('a gzip bomb of 1 GB', bomb('gzip', 1_000 * scale)),
    chat('a zstd bomb of 1 GB', bomb('zstd', 1_000 * scale)),
  ];
}
