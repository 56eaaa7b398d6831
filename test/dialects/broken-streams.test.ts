import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { listAt, objectAt, textAt } from './json-at.ts';
import { dialectNames, dialects, families, familyNames, type DialectName } from './matrix.ts';
import { eventsIn, startSdkScene, type SdkScene } from './sdk-scene.ts';
import type { JsonObject } from '../../src/domain/json.ts';

let scene: SdkScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startSdkScene();
});
afterAll(() => scene?.stop());

/** How a provider breaks an answer off after ten of its words, in the words of the sandbox. */
const breaks = { 'closes the connection': 'cut', 'sends no JSON': 'garble', 'sends an error of its own': 'break' };

/** What the last event of a broken stream must be, so that no client takes the answer for whole. */
const lastEvents: Record<DialectName, JsonObject> = {
  'chat completions': { error: { code: 'upstream_error' } },
  responses: { type: 'response.failed', response: { status: 'failed', error: { code: 'upstream_error' } } },
  messages: { type: 'error', error: { details: { error_code: 'upstream_error' } } },
  Gemini: { error: { details: [{ reason: 'UPSTREAM_ERROR' }] } },
};
/** Events and fields that only a whole answer has. */
const wholeWords =
  /\[DONE\]|message_stop|response\.completed|"finish_reason":"(?!error")|"finishReason":"|"stop_reason":"/;

/** Streams of all dialects that providers of all families break off in the middle. */
describe.each(dialectNames)('a stream of %s that breaks off', (dialect) => {
  const client = dialects[dialect];
  const cases = familyNames.flatMap((family) => Object.entries(breaks).map(([how, word]) => ({ family, how, word })));

  it.each(cases)('ends with the error of the dialect when $family $how', async ({ family, word }) => {
    const { gateway, apiKey } = scene;
    const prompt = `broken ${dialect} ${family} [[tokens=50 rate=400 ${word}=10]]`;
    const ask = { model: families[family], prompt, isStream: true };
    const response = await fetch(`${gateway.baseUrl}${client.path(ask)}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(client.body(ask)),
    });
    const text = await response.text();
    expect(response.status).toBe(200);
    const events = eventsIn(text);
    expect(events.at(-1)).toMatchObject(lastEvents[dialect]);
    // go-openai looks for an error at the beginning of an event only, and takes others for pieces of an answer.
    if (dialect === 'chat completions') expect(text).toMatch(/\ndata: \{"error":[^\n]*\n\n$/);
    // Google's SDK for Go takes each event for a piece of the answer, and reads an error beside the events only.
    if (dialect === 'Gemini') expect(text).toMatch(/\ndata: (\{"error":[^\n]*\n\n)\1$/);
    expect(text).not.toMatch(wholeWords);
    const textEvents = dialect === 'responses' ? events.slice(0, -1) : events;
    expect(textEvents.map(textOf).join('')).toMatch(/^the gate is open/);
  });
});
/** The text that an event of any dialect adds. */
const textOf = (event: JsonObject): string =>
  textAt(event, 'choices', 0, 'delta', 'content') ||
  textAt(objectAt(event, 'delta'), 'text') ||
  (event.type === 'response.output_text.delta' ? textAt(event, 'delta') : '') ||
  listAt(event, 'candidates', 0, 'content', 'parts')
    .map((part) => textAt(part, 'text'))
    .join('');
