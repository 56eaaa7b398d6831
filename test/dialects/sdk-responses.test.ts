import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI, { BadRequestError } from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { weather } from './dialect-client.ts';
import { families, familyNames } from './matrix.ts';
import { hitsOf, weatherPrompts, startSdkScene, type SdkScene } from './sdk-scene.ts';

let scene: SdkScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startSdkScene();
});
afterAll(() => scene?.stop());

let client: OpenAI;
const tools: OpenAI.Responses.Tool[] = [{ type: 'function', strict: false, ...weather }];

/** Tests of the Responses of the package `openai`, of which only the base URL and the key are set. */
describe('openai, responses', () => {
  beforeAll(() => {
    const { gateway, apiKey } = scene;
    client = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey, maxRetries: 0 });
  });

  it.each(familyNames)('runs an agent loop of several turns with tools, thoughts and streams: %s', async (family) => {
    const input: OpenAI.Responses.ResponseInput = [];
    const cities: unknown[] = [];
    for (const prompt of weatherPrompts) {
      input.push({ role: 'user', content: `responses ${family} ${prompt}` });
      let text = '';
      for (let turn = 0; turn < 3 && text === ''; turn += 1) {
        const stream = client.responses.stream({
          model: families[family],
          input,
          tools,
          reasoning: { effort: 'high', summary: 'auto' },
          include: ['reasoning.encrypted_content'],
          store: false,
        });
        const response = await stream.finalResponse();
        input.push(...response.output.map(asInput));
        text = response.output_text;
        for (const item of response.output) {
          if (item.type !== 'function_call') continue;
          cities.push(z.object({ city: z.string() }).parse(JSON.parse(item.arguments)).city);
          input.push({ type: 'function_call_output', call_id: item.call_id, output: 'rain' });
        }
      }
      expect(text).toMatch(/^Sandbox answer to: /);
    }
    expect(cities).toEqual(['Oslo', 'Rome']);
  });

  // OpenAI's answers have them without `include`, as the type of a reasoning item says.
  it.each(['OpenAI Responses', 'Anthropic', 'Gemini'] as const)(
    'gets signed thoughts without asking for them, whole and streamed: %s',
    async (family) => {
      for (const stream of [false, true]) {
        const prompt = `unasked ${family} ${stream} [[thoughts=20 tool=weather args={"city":"Oslo"}]]`;
        const question = { role: 'user' as const, content: prompt };
        const ask = { model: families[family], tools, reasoning: { effort: 'high' as const } };
        const { output } = stream
          ? await client.responses.stream({ ...ask, input: [question] }).finalResponse()
          : await client.responses.create({ ...ask, input: [question] });
        const results = output.flatMap((item) =>
          item.type === 'function_call'
            ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'rain' }]
            : [],
        );
        await client.responses.create({ ...ask, input: [question, ...output.map(asInput), ...results] });
        expect((await hitsOf(scene.gateway, prompt)).at(-1)?.signed).toBeGreaterThan(0);
      }
    },
  );

  it.each(['OpenAI Responses', 'Anthropic'] as const)(
    'takes thoughts back whose summary the client dropped, as genai for Rust does: %s',
    async (family) => {
      const ask = {
        model: families[family],
        tools,
        include: ['reasoning.encrypted_content' as const],
        reasoning: { effort: 'high' as const, summary: 'auto' as const },
      };
      const question = { role: 'user' as const, content: `without summaries ${family} ${weatherPrompts[0]}` };
      const { output } = await client.responses.create({ ...ask, input: [question] });
      const input = output.flatMap((item): OpenAI.Responses.ResponseInputItem[] => {
        if (item.type === 'function_call')
          return [asInput(item), { type: 'function_call_output', call_id: item.call_id, output: 'rain' }];
        return item.type === 'reasoning' ? [{ ...item, summary: [] }] : [];
      });
      expect(input).toHaveLength(3);
      const answer = await client.responses.create({ ...ask, input: [question, ...input] });
      expect(answer.output_text).toMatch(/^Sandbox answer to: /);
    },
  );

  it('reads an answer by a schema and what it cost', async () => {
    const { data, response } = await client.responses
      .parse({
        model: families.Anthropic,
        instructions: 'Be brief.',
        input: 'the weather [[usage=40,12 cached=8]]',
        text: { format: zodTextFormat(z.object({ city: z.string() }), 'weather') },
      })
      .withResponse();
    expect(data.output_parsed).toEqual({ city: 'sandbox' });
    expect(data).toMatchObject({
      id: expect.stringMatching(/^resp_/),
      store: false,
      instructions: 'Be brief.',
      usage: { input_tokens: 40, output_tokens: 12, input_tokens_details: { cached_tokens: 8 } },
    });
    expect(Number(response.headers.get('x-tollgate-credits'))).toBeGreaterThan(0);
  });

  // After this code GitHub Copilot sends the whole conversation.
  const notFound = 'previous_response_not_found';
  it.each([
    { fields: { store: true }, code: 'unsupported_parameter' },
    { fields: { previous_response_id: 'resp_1' }, code: notFound },
    { fields: { previous_response_id: 'resp_1', stream: true }, code: notFound },
    { fields: { background: true }, code: 'unsupported_parameter' },
  ])('is told that nothing is stored: $fields', async ({ fields, code }) => {
    const call = client.responses.create({ model: families.Gemini, input: 'hello', ...fields });
    await expect(call).rejects.toBeInstanceOf(BadRequestError);
    await expect(call).rejects.toMatchObject({ code, param: Object.keys(fields)[0] });
  });

  it('throws after what came before if a stream breaks off', async () => {
    const stream = await client.responses.create({
      model: families['OpenAI Responses'],
      input: 'broken [[tokens=50 rate=200 break=10]]',
      stream: true,
    });
    let text = '';
    const read = async (): Promise<void> => {
      for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta;
    };
    await expect(read()).rejects.toMatchObject({ code: 'upstream_error' });
    expect(text.split(' ')).toHaveLength(10);
  });
});
/** The SDK adds a parsed form to its items, which the API does not know. */
function asInput(item: OpenAI.Responses.ResponseOutputItem): OpenAI.Responses.ResponseInputItem {
  if (item.type === 'function_call') {
    const { type, id, call_id, name, arguments: text, status } = item;
    return { type, id, call_id, name, arguments: text, status };
  }
  if (item.type !== 'message') return item as OpenAI.Responses.ResponseInputItem;
  const content = item.content.map((part) =>
    part.type === 'output_text' ? { type: part.type, text: part.text, annotations: part.annotations } : part,
  );
  return { ...item, content };
}
