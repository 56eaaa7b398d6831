import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../src/domain/json.ts';
import { textAt } from '../dialects/json-at.ts';
import { dialectNames, dialects, type DialectName } from '../dialects/matrix.ts';
import { familyWires, type FamilyName } from '../support/family-wires.ts';
import { send, startProviderScene, type ProviderScene } from './provider-scene.ts';
import { sendJson } from './scripted-provider.ts';

let scene: ProviderScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startProviderScene();
});
afterAll(() => scene?.stop());
beforeEach(() => scene.provider.serve());

const familyNames = Object.keys(familyWires) as FamilyName[];

/** The refusal of a request as each family writes it: of the schema of its second tool. */
const refusals: Record<FamilyName, object> = {
  openai: {
    error: {
      message: "Invalid schema for function 'look': 'qq' is not a valid type. See https://help.example.com for more.",
      type: 'invalid_request_error',
      param: 'tools[1].function.parameters',
      code: 'invalid_function_parameters',
    },
  },
  responses: {
    error: {
      message: "Invalid schema for function 'look': 'qq' is not a valid type.",
      type: 'invalid_request_error',
      param: 'tools[1].parameters',
      code: 'invalid_function_parameters',
    },
  },
  anthropic: {
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message: "tools.1.custom.input_schema: Invalid schema for function 'look': 'qq' is not a valid type.",
    },
    request_id: 'req_011CSecretSecret',
  },
  gemini: {
    error: {
      code: 400,
      status: 'INVALID_ARGUMENT',
      message: "Invalid schema for function 'look': 'qq' is not a valid type.",
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field: 'tools[0].function_declarations[1].parameters', description: 'x' }],
        },
      ],
    },
  },
};

/** The dialect's name of the schema of the second tool. */
const schemas: Record<DialectName, string> = {
  'chat completions': 'tools.1.function.parameters',
  responses: 'tools.1.parameters',
  messages: 'tools.1.input_schema',
  Gemini: 'tools.0.functionDeclarations.1.parameters',
};

/** What must never reach a client, by the sentence in which a provider says it. */
const secrets: [what: string, message: string, secret: RegExp][] = [
  ['an address', 'Image is too large, see https://api.hidden.example/docs/limits for limits.', /hidden\.example|https/],
  ['a bare domain', 'Image is too large, ask platform.hidden.com/help about it.', /hidden/],
  ['an IPv4 address', 'Image is too large at 10.1.2.3:8080 today.', /10\.1\.2\.3/],
  ['an account', 'Image is too large for account 4711-secret.', /4711-secret/],
  ['an organization', 'Image is too large for organization org-Secret12345.', /org-Secret/],
  ['an organization id alone', 'Image is too large (org-Secret12345).', /org-Secret/],
  ['a project id', 'Image is too large in proj_Secret12345.', /proj_Secret/],
  ["Google's project", 'Image is too large in projects/123456789.', /123456789/],
  ['a key', 'Image is too large with sk-secret-1234.', /sk-secret/],
  ["Google's key", 'Image is too large with AIzaSecretSecretSecret.', /AIza/],
  ['a request id', 'Image is too large. request id: 20260101secret', /20260101secret/],
  ['a request id in brackets', 'Image is too large (request_id: req_secret123456).', /secret123456/],
  ['a UUID', 'Image is too large in 5bf78562-0341-9de2-8d10-5429ef761b7e.', /5bf78562/],
  ['an e-mail address', 'Image is too large, ask ops@hidden.example.', /ops@/],
  ["a vendor's name", 'Image is too large for OpenAI and Moonshot AI.', /OpenAI|Moonshot/],
  ['a long token', `Image is too large: ${'a1'.repeat(30)}.`, /a1a1a1/],
];

/** A provider's 400 as clients of all dialects read it, from all families, whole and streamed. */
const refuse = (error: object, status = 400) => scene.provider.serve((response) => sendJson(response, status, error));

describe.each(dialectNames)('a client of %s', (dialect) => {
  const client = dialects[dialect];
  const messageOf = (json: JsonObject): string => textAt(json, 'error', 'message');

  it.each(familyNames)('reads what %s refuses, and the field in its own words, whole and streamed', async (family) => {
    for (const isStream of [false, true]) {
      refuse(refusals[family]);
      const ask = { model: familyWires[family].model, prompt: 'refused', isStream, hasTool: true };
      const { status, json, text } = await send(scene, client, ask);
      expect({ status, ...client.error(json) }).toMatchObject({ status: 400, param: schemas[dialect] });
      expect(messageOf(json)).toContain("Invalid schema for function 'look': 'qq' is not a valid type.");
      expect(text).not.toMatch(/https|help\.example|req_011/);
    }
  });
});

describe.each(familyNames)('a refusal of %s', (family) => {
  it.each(secrets)('never shows %s', async (_what, message, secret) => {
    const error: Record<FamilyName, object> = {
      openai: { error: { message, type: 'invalid_request_error', param: null, code: null } },
      responses: { error: { message, type: 'invalid_request_error', param: null, code: null } },
      anthropic: { type: 'error', error: { type: 'invalid_request_error', message } },
      gemini: { error: { code: 400, status: 'INVALID_ARGUMENT', message } },
    };
    refuse(error[family]);
    const ask = { model: familyWires[family].model, prompt: 'secret' };
    const { status, text } = await send(scene, dialects['chat completions'], ask);
    expect(status).toBe(400);
    expect(text).not.toMatch(secret);
  });

  it("says the model by the client's name", async () => {
    const names: Record<FamilyName, string> = {
      openai: 'gpt-5-mini-2025-08-07',
      responses: 'gpt-6-luna',
      anthropic: 'claude-sonnet-4-5',
      gemini: 'models/gemini-2.5-flash',
    };
    const message = `The model ${names[family]} takes no images of this kind.`;
    refuse(
      family === 'gemini'
        ? { error: { code: 400, status: 'INVALID_ARGUMENT', message } }
        : { type: 'error', error: { type: 'invalid_request_error', message } },
    );
    const { model } = familyWires[family];
    const { json } = await send(scene, dialects['chat completions'], { model, prompt: 'name' });
    expect(textAt(json, 'error', 'message')).toBe(`The model ${model} takes no images of this kind.`);
  });

  it.each([false, true])('is told on the routes of the specification as before (streamed: %p)', async (isStream) => {
    refuse(refusals[family]);
    const chat = dialects['chat completions'];
    const ask = { model: familyWires[family].model, prompt: 'spec', isStream };
    const { status, json } = await send(scene, chat, ask, { path: '/api/v1/chat/completions' });
    expect({ status, message: textAt(json, 'error', 'message'), ...chat.error(json) }).toEqual({
      status: 400,
      code: 'invalid_value',
      param: '',
      message: 'A field has a value that is not accepted.',
    });
  });
});

it('what a provider behind OpenRouter says is read from its own words', async () => {
  const raw = JSON.stringify({ error: { message: 'temperature: must be at most 1', type: 'invalid_request_error' } });
  refuse({ error: { message: 'Provider returned error', code: 400, metadata: { raw, provider_name: 'Hidden' } } });
  const chat = dialects['chat completions'];
  const { json } = await send(scene, chat, { model: 'deepseek-v3.2', prompt: 'raw' });
  expect(chat.error(json)).toMatchObject({ param: 'temperature' });
  expect(textAt(json, 'error', 'message')).toBe('temperature: must be at most 1.');
});
