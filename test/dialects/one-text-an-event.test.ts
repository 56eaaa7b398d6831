import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../src/domain/json.ts';
import { listAt, parsed } from './json-at.ts';
import { families, familyNames } from './matrix.ts';
import { eventsIn, startSdkScene, type SdkScene } from './sdk-scene.ts';

let scene: SdkScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startSdkScene();
});
afterAll(() => scene?.stop());

async function post(path: string, body: object, headers: Record<string, string> = {}) {
  const answer = await fetch(scene.gateway.baseUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${scene.apiKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text(), answer };
}

const asking = (text: string) => ({ contents: [{ role: 'user', parts: [{ text }] }] });
const partsOf = (event: JsonObject) => listAt(event, 'candidates', 0, 'content', 'parts');

/** Readers in R and Emacs take the first part of an event, and some read nothing but events. */
describe.each(familyNames)('an answer in the words of Gemini, of %s', (family) => {
  const model = `/v1beta/models/${families[family]}`;

  it('has one text in each event of a stream, also where a thought and the answer come together', async () => {
    const body = {
      ...asking('parts [[thoughts=6 tokens=40]]'),
      generationConfig: { thinkingConfig: { includeThoughts: true } },
    };
    const streamed = eventsIn((await post(`${model}:streamGenerateContent?alt=sse`, body)).text);
    const listed = parsed((await post(`${model}:streamGenerateContent`, body)).text);
    for (const events of [streamed, listAt(listed)]) {
      expect(events.map((event) => partsOf(event).length)).toEqual(events.map(() => 1));
      expect(events.length).toBeGreaterThan(1);
    }
  });

  it('is one event where the client asks for events of what is not streamed', async () => {
    const headers = { 'idempotency-key': `one event of ${family}` };
    const plain = await post(`${model}:generateContent`, asking('one event'), headers);
    const event = await post(`${model}:generateContent?alt=sse`, asking('one event'), headers);
    expect(event).toMatchObject({
      status: 200,
      type: 'text/event-stream; charset=utf-8',
      text: `data: ${plain.text}\n\n`,
    });
    expect(event.answer.headers.get('idempotent-replayed')).toBe('true');
  });
});

describe('a chat completion', () => {
  const messages = [{ role: 'user', content: 'hi' }];

  it('takes the seed by the name that it has at Mistral', async () => {
    const { status, answer } = await post('/v1/chat/completions', { model: families.Gemini, messages, random_seed: 7 });
    expect([status, answer.headers.get('x-tollgate-ignored')]).toEqual([200, null]);
  });
});
