import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../src/domain/json.ts';
import { textAt } from './json-at.ts';
import { dialectNames, dialects, families, familyNames, type DialectName, type FamilyName } from './matrix.ts';
import { startSdkScene, type SdkScene } from './sdk-scene.ts';

let scene: SdkScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startSdkScene();
});
afterAll(() => scene?.stop());

/** The families that speak the API of a dialect's vendor, which are sent the fields that only the vendor knows. */
const ownFamily: Partial<Record<DialectName, FamilyName>> = {
  responses: 'OpenAI Responses',
  messages: 'Anthropic',
  Gemini: 'Gemini',
};
/** Such a field of each dialect, and the path under which it is named. */
const ownField: Partial<Record<DialectName, { field: JsonObject; path: string }>> = {
  responses: { field: { truncation: 'auto' }, path: 'truncation' },
  messages: { field: { context_management: { edits: [{ type: 'clear_tool_uses' }] } }, path: 'context_management' },
  Gemini: {
    field: { generationConfig: { mediaResolution: 'MEDIA_RESOLUTION_LOW' } },
    path: 'generationConfig.mediaResolution',
  },
};

/** Unknown fields of all dialects at all families, whole and streamed: they are left out and named, never refused. */
describe.each(dialectNames)('unknown fields of a client of %s', (dialect) => {
  const client = dialects[dialect];

  async function send(family: FamilyName, more: JsonObject, headers: Record<string, string> = {}, isStream = false) {
    const { gateway, apiKey } = scene;
    const ask = { model: families[family], prompt: `unknown fields ${dialect} ${family}`, isStream };
    const response = await fetch(`${gateway.baseUrl}${client.path(ask)}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ ...client.body(ask), ...more }),
    });
    return {
      status: response.status,
      ignored: response.headers.get('x-tollgate-ignored'),
      text: await response.text(),
    };
  }

  it.each(familyNames)('are left out and named for %s, whole and streamed', async (family) => {
    for (const isStream of [false, true]) {
      const more = { never_heard_of: { a: 1 }, asks_for_nothing: [] };
      expect(await send(family, more, {}, isStream)).toMatchObject({
        status: 200,
        ignored: 'never_heard_of',
        text: expect.stringContaining('without fields that it does not take here: never_heard_of'),
      });
    }
  });

  it.each(familyNames)('are refused by name for %s where the client asks for it', async (family) => {
    const { status, text } = await send(family, { never_heard_of: 1 }, { 'x-tollgate-strict': 'true' });
    expect(status).toBe(400);
    expect(client.error(JSON.parse(text) as JsonObject)).toMatchObject({ param: 'never_heard_of' });
  });

  const own = ownField[dialect];
  if (own) {
    it.each(familyNames)('that only its vendor knows reach the vendor alone (%s)', async (family) => {
      const betas = { 'anthropic-beta': 'context-management-2025-06-27,made-up-2020-01-01' };
      const { status, ignored } = await send(family, own.field, betas);
      expect({ status, ignored }).toEqual({ status: 200, ignored: family === ownFamily[dialect] ? null : own.path });
    });
  }

  it('are named again by the replay of a stored answer', async () => {
    const key = { 'idempotency-key': `unknown fields ${dialect}` };
    const first = await send('Anthropic', { never_heard_of: 1 }, key);
    expect(await send('Anthropic', { never_heard_of: 1 }, key)).toEqual(first);
    expect(textAt(JSON.parse(first.text) as JsonObject, 'tollgate', 'warning')).toContain('never_heard_of');
  });
});

/** OpenAI's documents write `web_search_options: {}` to search with the defaults: an answer without a search must not pass for one with it. */
describe.each(familyNames)('a search that an empty object turns on at %s', (family) => {
  it.each(['web_search_options', 'search_parameters'])('is left out by name (%s)', async (field) => {
    const { gateway, apiKey } = scene;
    const client = dialects['chat completions'];
    const ask = { model: families[family], prompt: `search ${family} ${field}`, isStream: false };
    const ignoredWith = async (value: unknown) => {
      const response = await fetch(`${gateway.baseUrl}${client.path(ask)}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...client.body(ask), [field]: value }),
      });
      await response.text();
      return { status: response.status, ignored: response.headers.get('x-tollgate-ignored') };
    };
    expect(await ignoredWith({})).toEqual({ status: 200, ignored: field });
    expect(await ignoredWith(null)).toEqual({ status: 200, ignored: null });
  });
});
