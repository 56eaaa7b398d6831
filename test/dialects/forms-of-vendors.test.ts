import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../src/domain/json.ts';
import { listAt, objectAt, parsed } from './json-at.ts';
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

  it.each(familyNames)('has each count of OpenAI’s, whole and streamed: %s', async (family) => {
    const counts = {
      prompt_tokens_details: { cached_tokens: expect.any(Number), cache_write_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: expect.any(Number),
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    };
    const request = { model: families[family], messages };
    const whole = parsed((await post('/v1/chat/completions', request)).text);
    const streamed = { ...request, stream: true, stream_options: { include_usage: true } };
    const events = eventsIn((await post('/v1/chat/completions', streamed)).text);
    for (const answer of [whole, events.at(-1)]) expect(answer).toMatchObject({ usage: counts });
  });

  describe.each(familyNames)('to %s', (family) => {
    const call = { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' } };
    const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }];
    const statusWith = async (...turns: object[]) =>
      (await post('/v1/chat/completions', { model: families[family], tools, messages: [...messages, ...turns] }))
        .status;

    it.each([
      ['an empty list', { content: [] }],
      ['nothing', {}],
      ['null', { content: null }],
    ])('may say %s for the answer of a tool without a word', async (_name, content) => {
      const answered = { role: 'tool', tool_call_id: 'c1', ...content };
      expect(await statusWith({ role: 'assistant', tool_calls: [call] }, answered)).toBe(200);
    });

    it.each([
      ['beside a text', [{ type: 'text', text: 'Hello.' }]],
      ['alone', []],
    ])('may have thoughts in the form of Mistral, %s', async (_name, texts) => {
      const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'A greeting.' }] };
      expect(await statusWith({ role: 'assistant', content: [thinking, ...texts] }, ...messages)).toBe(200);
    });
  });
});

/** Clients of a vendor's own API read its form of OpenAI's answers. */
describe('a call of a tool in a chat completion', () => {
  const args = '{"city":"Oslo"}';
  const requestOf = (model: string, isStream: boolean) => ({
    model,
    messages: [{ role: 'user', content: `weather [[tool=weather args=${args}]]` }],
    tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }],
    stream: isStream,
  });
  const whole = async (path: string, model: string) =>
    objectAt(parsed((await post(path, requestOf(model, false))).text), 'choices', 0, 'message');
  const streamed = async (model: string) => eventsIn((await post('/v1/chat/completions', requestOf(model, true))).text);
  const callsIn = (events: JsonObject[]) =>
    events.filter((event) => listAt(event, 'choices', 0, 'delta', 'tool_calls').length > 0);

  it("is whole and stands with the reason and the counts of the end, beside a text, for models of Mistral's", async () => {
    const calls = [{ type: 'function', function: { name: 'weather', arguments: args } }];
    expect(await whole('/v1/chat/completions', 'mistral-small-4')).toMatchObject({ content: '', tool_calls: calls });
    const last = (await streamed('mistral-small-4')).at(-1);
    expect(last).toMatchObject({
      choices: [{ delta: { content: '', tool_calls: calls }, finish_reason: 'tool_calls' }],
      usage: { completion_tokens: expect.any(Number) },
    });
    expect(callsIn(await streamed('mistral-small-4'))).toHaveLength(1);
  });

  it.each(familyNames)("comes in OpenAI's form of other models: %s", async (family) => {
    expect(await whole('/v1/chat/completions', families[family])).toMatchObject({ content: null });
    const events = await streamed(families[family]);
    expect(callsIn(events).length).toBeGreaterThan(0);
    expect(events.at(-1)).toMatchObject({ choices: [{ delta: {}, finish_reason: 'tool_calls' }] });
    expect(events.at(-1)).not.toHaveProperty('usage');
  });

  it("comes in OpenAI's form on the route of the specification", async () => {
    expect(await whole('/api/v1/chat/completions', 'mistral-small-4')).toMatchObject({ content: null });
  });

  it("is numbered, beside a text, in a whole answer of DeepSeek's models", async () => {
    const numbered = { content: '', tool_calls: [{ index: 0, type: 'function', function: { name: 'weather' } }] };
    expect(await whole('/v1/chat/completions', 'deepseek-v3.2')).toMatchObject(numbered);
  });

  it("has its counts in the last chunk of DeepSeek's models unasked", async () => {
    expect((await streamed('deepseek-v3.2')).at(-1)).toMatchObject({ usage: { prompt_tokens: expect.any(Number) } });
  });
});
