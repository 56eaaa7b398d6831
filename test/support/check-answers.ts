import { afterEach, expect } from '@jest/globals';
import { standIn } from './stand-in.ts';

/**
 * Holds every answer of a gateway that a test receives by `fetch` to the OpenAPI documents, whatever else the test says about it. What the
 * documents do not allow fails the test. Jest runs this before each test file.
 */
const send = globalThis.fetch;
const checks: Promise<string | null>[] = [];

globalThis.fetch = async (...args) => {
  const answer = await send(...args);
  // No other server of the tests sends such ids.
  const isOurs = answer.headers.get('x-request-id')?.startsWith('req_') && !answer.headers.has(standIn);
  if (isOurs) checks.push(check(methodOf(...args), answer));
  return answer;
};

afterEach(async () => {
  const found = await Promise.all(checks.splice(0));
  expect(found.filter((sentence) => sentence !== null)).toEqual([]);
});

async function check(method: string, answer: Response): Promise<string | null> {
  const { url, status, headers } = answer;
  const isJson = /^application\/([\w.]+\+)?json/.test(headers.get('content-type') ?? '');
  // A client may leave before the end of the body.
  const text = isJson
    ? await answer
        .clone()
        .text()
        .catch(() => null)
    : null;
  // Loaded here, because most test files receive no answer.
  const { undocumented } = await import('./undocumented.ts');
  return undocumented({ method, url, status, headers, text });
}

const methodOf = (...[input, init]: Parameters<typeof fetch>): string =>
  init?.method ?? (input instanceof Request ? input.method : 'GET');
