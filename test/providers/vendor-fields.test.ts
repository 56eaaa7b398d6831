import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../src/domain/json.ts';
import { citySchema, weather } from '../dialects/dialect-client.ts';
import { objectAt, textAt } from '../dialects/json-at.ts';
import { dialectNames, dialects, type DialectName } from '../dialects/matrix.ts';
import { send, type Answered, startProviderScene, type ProviderScene } from './provider-scene.ts';
import {
  clientFields,
  named,
  silent,
  vendorNames,
  vendors,
  type ClientField,
  type VendorName,
} from './vendor-table.ts';

let scene: ProviderScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startProviderScene();
});
afterAll(() => scene?.stop());
beforeEach(() => scene.provider.serve());

/** The fields of `clientFields` that a dialect has, in its words. */
const inDialect: Record<DialectName, { fields: Partial<Record<ClientField, string>>; body: object }> = {
  'chat completions': {
    fields: Object.fromEntries(Object.keys(clientFields).map((field) => [field, field])),
    body: clientFields,
  },
  responses: {
    fields: {
      temperature: 'temperature',
      top_p: 'top_p',
      user: 'user',
      parallel_tool_calls: 'parallel_tool_calls',
      reasoning_effort: 'reasoning.effort',
      metadata: 'metadata',
      prompt_cache_key: 'prompt_cache_key',
    },
    body: {
      temperature: 0.4,
      top_p: 0.9,
      user: 'customer-17',
      parallel_tool_calls: false,
      reasoning: { effort: 'high' },
      metadata: { a: 'b' },
      prompt_cache_key: 'k',
    },
  },
  messages: {
    fields: { temperature: 'temperature', top_p: 'top_p', top_k: 'top_k', stop: 'stop_sequences', user: 'metadata' },
    body: {
      temperature: 0.4,
      top_p: 0.9,
      top_k: 40,
      stop_sequences: ['END'],
      metadata: { user_id: 'customer-17' },
    },
  },
  Gemini: {
    fields: {
      temperature: 'generationConfig.temperature',
      top_p: 'generationConfig.topP',
      top_k: 'generationConfig.topK',
      seed: 'generationConfig.seed',
      stop: 'generationConfig.stopSequences',
      presence_penalty: 'generationConfig.presencePenalty',
      frequency_penalty: 'generationConfig.frequencyPenalty',
    },
    body: {
      generationConfig: {
        temperature: 0.4,
        topP: 0.9,
        topK: 40,
        seed: 5,
        stopSequences: ['END'],
        presencePenalty: 0.25,
        frequencyPenalty: 0.5,
      },
    },
  },
};

/** What each vendor of the family `openai` receives of each field, by its table, from clients of all dialects, whole and streamed. */
const lastBody = (): JsonObject => objectAt(scene.provider.received.at(-1)?.body);
const chat = dialects['chat completions'];
const askModel = (model: string, more: object, isStream = false): Promise<Answered> =>
  send(scene, chat, { model, prompt: 'fields', isStream, maxTokens: 2_000 }, { more });

/** What the answer says of fields that were left out: in its header, and in its warning, which a stream has in its last event. */
const warningOf = ({ headers, text }: Answered): string =>
  `${headers.get('x-tollgate-ignored') ?? ''} ${/"The model [^"]*"/.exec(text)?.[0] ?? ''}`;

describe.each(vendorNames)('the vendor %s', (vendor: VendorName) => {
  const { model, fields, length, streamOptions, names, strict } = vendors[vendor];

  it.each(dialectNames)('receives what it takes of a client of %s, whole and streamed', async (dialect) => {
    const sample = inDialect[dialect];
    for (const isStream of [false, true]) {
      const client = dialects[dialect];
      const ask = { model, prompt: `fields ${dialect}`, isStream, maxTokens: 2_000, hasTool: true };
      const body = objectAt(client.body(ask) as JsonObject);
      const more = sample.body as JsonObject;
      const config = { ...objectAt(body.generationConfig), ...objectAt(more.generationConfig) };
      const answer = await send(scene, client, ask, {
        more: { ...more, ...(dialect === 'Gemini' && { generationConfig: config }) },
      });
      expect(answer.status).toBe(200);
      const received = lastBody();
      for (const [field, word] of Object.entries(sample.fields) as [ClientField, string][]) {
        const fate = fields[field];
        if (fate === named || fate === silent) expect(received).not.toHaveProperty(field);
        else expect(received).toMatchObject({ [fate]: clientFields[field] });
        const warning = warningOf(answer);
        const isReported = warning.includes(word) || new RegExp(`does not take [^.]*\\b${field}\\b`).test(warning);
        if (fate === named && field !== 'temperature') expect([field, isReported]).toEqual([field, true]);
        if (fate === silent) expect(answer.headers.get('x-tollgate-ignored') ?? '').not.toContain(word);
      }
      expect(received).toMatchObject({ [length]: 2_000 });
      // A whole answer that is long is fetched as a stream, too.
      expect('stream_options' in received).toBe(received.stream === true && streamOptions);
    }
  });

  it('receives names of messages and strict tools only if it has them', async () => {
    const messages = [{ role: 'user', content: 'hi', name: 'ann' }];
    const tools = [{ type: 'function', function: { ...weather, strict: true } }];
    const { status } = await askModel(model, { messages, tools });
    const body = lastBody();
    expect(status).toBe(200);
    expect('name' in objectAt(body, 'messages', 0)).toBe(names);
    expect('strict' in objectAt(body, 'tools', 0, 'function')).toBe(strict);
  });

  it('is told what it lacks by a strict client in a warning, and is sent the rest', async () => {
    const strictly = { headers: { 'x-tollgate-strict': 'true' }, more: { seed: 5, user: 'customer-17' } };
    const answer = await send(scene, chat, { model, prompt: 'strict' }, strictly);
    expect(answer.status).toBe(200);
    if (fields.seed === named) expect(textAt(answer.json, 'tollgate', 'warning')).toContain('does not take seed');
    else expect(lastBody()).toMatchObject({ [fields.seed]: 5 });
  });

  it('receives the safety identifier as the user', async () => {
    await askModel(model, { safety_identifier: 'customer-17' });
    const name = fields.user;
    if (name === silent || name === named) expect(JSON.stringify(lastBody())).not.toContain('customer-17');
    else expect(lastBody()).toMatchObject({ [name]: 'customer-17' });
  });
});

describe('a JSON schema', () => {
  const format = { type: 'json_schema', json_schema: { name: 'city', schema: citySchema, strict: true } };
  const held: Record<VendorName, 'schema' | 'object' | 'none'> = {
    openai: 'schema',
    xai: 'schema',
    qwen: 'schema',
    moonshot: 'schema',
    mistral: 'schema',
    openrouter: 'schema',
    deepseek: 'object',
    zai: 'object',
    minimax: 'none',
  };

  it.each(vendorNames)(
    'reaches %s as a format, or as an instruction where it has none, with a warning',
    async (vendor) => {
      for (const isStream of [false, true]) {
        const answer = await askModel(vendors[vendor].model, { response_format: format }, isStream);
        expect(answer.status).toBe(200);
        const { response_format: sent, messages } = lastBody();
        const isInstructed = JSON.stringify(messages).includes(JSON.stringify(JSON.stringify(citySchema)).slice(1, -1));
        expect({ sent, isInstructed }).toEqual(
          {
            schema: { sent: expect.objectContaining({ type: 'json_schema' }), isInstructed: false },
            object: { sent: { type: 'json_object' }, isInstructed: true },
            none: { sent: undefined, isInstructed: true },
          }[held[vendor]],
        );
        const warning = expect.stringContaining('is not held to it');
        if (held[vendor] !== 'schema' && !isStream) expect(textAt(answer.json, 'tollgate', 'warning')).toEqual(warning);
      }
    },
  );
});

it('a JSON schema is sent as it is on the route of the specification, as it always was', async () => {
  const format = { type: 'json_schema', json_schema: { name: 'city', schema: citySchema, strict: true } };
  for (const vendor of ['deepseek', 'zai', 'minimax'] as const) {
    const more = { path: '/api/v1/chat/completions', more: { response_format: format } };
    const { json } = await send(scene, chat, { model: vendors[vendor].model, prompt: 'spec' }, more);
    expect(lastBody()).toMatchObject({ response_format: { type: 'json_schema' } });
    expect(textAt(json, 'tollgate', 'warning')).toBe('');
  }
});

describe('a forced tool', () => {
  const tools = [{ type: 'function', function: weather }];
  const choices = ['required', { type: 'function', function: { name: 'weather' } }];
  const unthinking: Partial<Record<VendorName, object>> = {
    deepseek: { thinking: { type: 'disabled' } },
    qwen: { enable_thinking: false },
  };
  const able = vendorNames.filter((vendor) => vendor !== 'zai' && vendor !== 'minimax');

  it.each(able)('is forced at %s, without thoughts where they exclude it', async (vendor) => {
    for (const tool_choice of choices) {
      const { status } = await askModel(vendors[vendor].model, { tools, tool_choice, reasoning_effort: 'high' });
      expect(status).toBe(200);
      const byName = vendor === 'moonshot' ? choices[1] : tool_choice;
      expect(lastBody()).toMatchObject({ tool_choice: byName, ...unthinking[vendor] });
      if (unthinking[vendor]) expect(lastBody()).not.toHaveProperty('reasoning_effort');
    }
  });

  it.each(['zai', 'minimax'] as const)('is refused by name for %s, which forces none', async (vendor) => {
    for (const tool_choice of choices) {
      const { status, json } = await askModel(vendors[vendor].model, { tools, tool_choice });
      expect({ status, ...chat.error(json) }).toMatchObject({ status: 400, param: 'tool_choice' });
      expect(textAt(json, 'error', 'message')).toContain('response_format');
    }
    const none = await askModel(vendors[vendor].model, { tools, tool_choice: 'none' });
    expect(none.status).toBe(200);
    expect(lastBody()).not.toHaveProperty('tools');
    await askModel(vendors[vendor].model, { tools, tool_choice: 'auto' });
    expect(lastBody()).toHaveProperty('tools');
    expect(lastBody()).not.toHaveProperty('tool_choice');
  });
});

describe('the effort of thoughts', () => {
  it.each([
    ['xai', 'none', { reasoning_effort: 'low' }],
    ['xai', 'max', { reasoning_effort: 'xhigh' }],
    ['deepseek', 'minimal', { reasoning_effort: 'low' }],
    ['deepseek', 'none', { thinking: { type: 'disabled' } }],
    ['qwen', 'none', { enable_thinking: false }],
    ['moonshot', 'xhigh', { reasoning_effort: 'high' }],
    ['zai', 'none', { reasoning_effort: 'low' }],
    ['zai', 'medium', { reasoning_effort: 'low' }],
    ['minimax', 'none', { thinking: { type: 'disabled' } }],
    ['mistral', 'max', { reasoning_effort: 'xhigh' }],
  ] as const)('is sent to %s in its words: %s', async (vendor, effort, expected) => {
    await askModel(vendors[vendor].model, { reasoning_effort: effort });
    expect(lastBody()).toMatchObject(expected);
  });

  it.each([
    ['deepseek', { thinking: { type: 'disabled' } }],
    ['qwen', { enable_thinking: false }],
    ['minimax', { thinking: { type: 'disabled' } }],
  ] as const)('is none at %s for a client of messages that switches thoughts off', async (vendor, expected) => {
    const ask = { model: vendors[vendor].model, prompt: 'no thoughts' };
    const { status } = await send(scene, dialects.messages, ask, { more: { thinking: { type: 'disabled' } } });
    expect(status).toBe(200);
    expect(lastBody()).toMatchObject(expected);
  });

  it('may be given in the words of the vendor itself', async () => {
    await askModel(vendors.deepseek.model, { thinking: { type: 'disabled' } });
    expect(lastBody()).toMatchObject({ thinking: { type: 'disabled' } });
    await askModel(vendors.qwen.model, { enable_thinking: true, thinking_budget: 100 });
    expect(lastBody()).toMatchObject({ enable_thinking: true, thinking_budget: 100 });
  });
});

it('a temperature above what a vendor takes is sent as the highest, and the answer says so', async () => {
  for (const [vendor, most] of [
    ['zai', 1],
    ['minimax', 1],
    ['mistral', 1.5],
    ['qwen', 1.99],
  ] as const) {
    const { json } = await askModel(vendors[vendor].model, { temperature: 2 });
    expect(lastBody()).toMatchObject({ temperature: most });
    expect(textAt(json, 'tollgate', 'warning')).toContain(`temperature was sent as ${most}`);
  }
});

it('several stop sequences are refused by name for a vendor of one', async () => {
  const { status, json } = await askModel(vendors.zai.model, { stop: ['A', 'B'] });
  expect({ status, ...chat.error(json) }).toMatchObject({ status: 400, param: 'stop' });
});

it('penalties are refused on the route of the specification, as they always were', async () => {
  const ask = { model: vendors.mistral.model, prompt: 'spec' };
  const { status, json } = await send(scene, chat, ask, {
    path: '/api/v1/chat/completions',
    more: { frequency_penalty: 0.5 },
  });
  expect({ status, ...chat.error(json) }).toMatchObject({ status: 400, param: 'frequency_penalty' });
});
