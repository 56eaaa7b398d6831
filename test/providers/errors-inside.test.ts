import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { dialects } from '../dialects/matrix.ts';
import { eventually } from '../support/eventually.ts';
import { beginEvents, familyWires, type FamilyName } from '../support/family-wires.ts';
import { send, startProviderScene, type ProviderScene } from './provider-scene.ts';
import { sendJson, type ReceivedChat } from './scripted-provider.ts';

let scene: ProviderScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startProviderScene();
});
afterAll(() => scene?.stop());
beforeEach(() => scene.provider.serve());

const familyNames = Object.keys(familyWires) as FamilyName[];
const cases = familyNames.flatMap((family) => [false, true].map((isStream) => ({ family, isStream })));

/** An error inside a 200: as the first event of a stream, or as the whole body. */
const inside =
  (error: object) =>
  (response: ServerResponse, { isStream }: ReceivedChat): void => {
    const json = { type: 'error', error: { type: 'x', message: 'It failed.', ...error } };
    if (!isStream) return sendJson(response, 200, json);
    beginEvents(response);
    response.end(`data: ${JSON.stringify(json)}\n\n`);
  };

const retryInfo = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '16.2s' };
/** Errors in a 200, and delays inside errors, from all families, whole and streamed. */
const chat = dialects['chat completions'];
const ask = (family: FamilyName, isStream: boolean) =>
  send(scene, chat, { model: familyWires[family].model, prompt: 'inside', isStream });
/** Whether a channel rests, once that is written. */
const rests = (): Promise<boolean> =>
  eventually(async () => {
    const sql = 'select 1 from channel_health where unavailable_until > clock_timestamp()';
    return (await scene.gateway.database.query('test-health', sql)).length > 0 || null;
  });

/** Until the API server has read that all channels are available again. */
afterEach(async () => {
  const { gateway, provider } = scene;
  provider.serve();
  provider.serveFree();
  await gateway.database.query('test-available', 'delete from channel_health');
  await eventually(async () => {
    const answers = await Promise.all(familyNames.map((family) => ask(family, false)));
    return answers.every(({ status }) => status === 200);
  });
});

describe.each(cases)('an error inside a 200 of $family (streamed: $isStream)', ({ family, isStream }) => {
  it("is the client's with 400, and no other channel is asked", async () => {
    const { provider } = scene;
    provider.serve(inside({ code: 400, status: 'INVALID_ARGUMENT', message: 'temperature: must be at most 1' }));
    const before = provider.received.length;
    const { status, json } = await ask(family, isStream);
    expect({ status, ...chat.error(json) }).toMatchObject({
      status: 400,
      code: 'invalid_value',
      param: 'temperature',
    });
    expect(provider.received.length - before).toBe(1);
  });

  it.each([401, 402, 403])('rests the channel with %d', async (code) => {
    // A 403 is our account's if the free call is refused, too.
    scene.provider.serveFree((response) => sendJson(response, code, { error: { code, message: 'no' } }));
    scene.provider.serve(inside({ code, status: 'PERMISSION_DENIED' }));
    const { status } = await ask(family, isStream);
    expect(status).toBe(502);
    expect(await rests()).toBe(true);
  });

  it('cools the channel down with 429 for as long as it says, as a 429 with its own status does', async () => {
    const error = { code: 429, status: 'RESOURCE_EXHAUSTED', details: [retryInfo], retry_after: 17 };
    scene.provider.serve(inside(error));
    const { status, headers } = await ask(family, isStream);
    expect({ status, after: headers.get('retry-after') }).toEqual({ status: 503, after: '17' });
    expect(await rests()).toBe(true);
  });

  it('with its own status 429 cools it down for as long as its body says', async () => {
    const error = {
      code: 429,
      type: 'x',
      status: 'RESOURCE_EXHAUSTED',
      message: 'Slow down.',
      details: [retryInfo],
      retry_after: 17,
    };
    scene.provider.serve((response) => sendJson(response, 429, { type: 'error', error }));
    const { status, headers } = await ask(family, isStream);
    expect({ status, after: headers.get('retry-after') }).toEqual({ status: 503, after: '17' });
    expect(await rests()).toBe(true);
  });
});
