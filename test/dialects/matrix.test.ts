import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadCatalog } from '../../src/services/catalog/load-catalog.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import { chatCredits } from '../../src/domain/ledger/pricing.ts';
import { letModelsStream } from '../services/chat/streams.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { pdf } from '../support/pdfs.ts';
import type { Ask, DialectClient, Seen, ToolResult } from './dialect-client.ts';
import { objectAt, parsed, textAt } from './json-at.ts';
import {
  dialectNames,
  dialects,
  families,
  familyNames,
  featureNames,
  features,
  outcomeOf,
  type DialectName,
  type FamilyName,
  type Feature,
} from './matrix.ts';
import { eventsIn, hitsOf } from './sdk-scene.ts';

let gateway: Gateway;
let apiKey = '';
beforeAll(async () => {
  gateway = await startGateway({ workers: 0 });
  ({ apiKey } = await gateway.project({ credits: 100_000 }));
  await letModelsStream(gateway, apiKey, Object.values(families));
});
afterAll(async () => {
  try {
    expect(await gateway?.verifyLedger()).toMatchObject({ ok: true });
  } finally {
    await gateway?.stop();
  }
});

const onePixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const PDF_PAGES = 3;
const report = {
  type: 'application/pdf' as const,
  name: 'report.pdf',
  base64: pdf({ pages: PDF_PAGES, form: 'compressed objects' }).toString('base64'),
};
const { entries } = await loadCatalog('test/support/catalog');

interface Answered {
  status: number;
  headers: Headers;
  json: JsonObject;
}

async function send(client: DialectClient, ask: Ask, more: object = {}): Promise<Answered> {
  const response = await fetch(`${gateway.baseUrl}${client.path(ask)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...client.body(ask), ...more }),
    signal: AbortSignal.timeout(60_000),
  });
  const { status, headers } = response;
  const text = await response.text();
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  return { status, headers, json: isStream ? client.join(eventsIn(text)) : objectAt(parsed(text)) };
}

async function seen(client: DialectClient, ask: Ask): Promise<Seen> {
  const { status, json } = await send(client, ask);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(json)}`);
  return client.read(json);
}

/** Asks with a tool, sends the results of its calls back and returns both answers. The provider sees each call with its result. */
async function overTwoTurns(
  client: DialectClient,
  ask: Ask,
  cities = ['Oslo'],
  { picture, file }: Pick<ToolResult, 'picture' | 'file'> = {},
): Promise<[Seen, Seen]> {
  const first = await seen(client, ask);
  expect(first).toMatchObject({
    finish: client.finishes.tool,
    calls: cities.map((city) => ({ name: 'weather', arguments: { city } })),
  });
  expect(new Set(first.calls.map(({ id }) => id)).size).toBe(cities.length);
  const { choice: _, ...next } = ask;
  const results = first.calls.map(({ id }, index) => ({ callId: id, text: `rain in ${cities[index]}`, picture, file }));
  const second = await seen(client, { ...next, answered: { turn: first.turn, results } });
  expect(second).toMatchObject({ text: expect.stringContaining('Sandbox answer to'), finish: client.finishes.end });
  expect((await hitsOf(gateway, ask.prompt)).at(-1)).toMatchObject({
    results: cities.length,
    ...(picture && { pictures: cities.length }),
    ...(file && { documents: cities.map(() => ({ type: file.type, pages: PDF_PAGES })) }),
  });
  return [first, second];
}

const oslo = '[[tool=weather args={"city":"Oslo"}]]';
const cities = ['Oslo', 'Rome', 'Oslo'];
const parallel = `[[tool=weather args=${JSON.stringify(cities.map((city) => ({ city })))}]]`;

type Run = (client: DialectClient, ask: Ask, names: { dialect: DialectName; family: FamilyName }) => Promise<void>;

/** What each feature must show where it works. `ask` has the model and a prompt that no other case has. */
const runs: Record<Feature, Run> = {
  async text(client, ask) {
    expect(await seen(client, ask)).toMatchObject({
      text: `Sandbox answer to: ${ask.prompt}`,
      finish: client.finishes.end,
    });
  },

  async stream(client, ask) {
    const request = { ...ask, prompt: `${ask.prompt} [[tokens=12]]`, isStream: true };
    const { headers, json } = await send(client, request);
    expect(headers.get('x-tollgate-stream')).toBe('live');
    const answer = client.read(json);
    expect(answer.text.split(' ')).toHaveLength(12);
    expect(answer).toMatchObject({ finish: client.finishes.end, usage: { output: 12 } });
  },

  async tools(client, ask) {
    await overTwoTurns(client, { ...ask, prompt: `${ask.prompt} ${oslo}`, hasTool: true });
  },

  async streamedTools(client, ask) {
    await overTwoTurns(client, { ...ask, prompt: `${ask.prompt} ${oslo}`, hasTool: true, isStream: true });
  },

  async parallelTools(client, ask) {
    await overTwoTurns(client, { ...ask, prompt: `${ask.prompt} ${parallel}`, hasTool: true }, cities);
  },

  async streamedParallelTools(client, ask) {
    const prompt = `${ask.prompt} ${parallel}`;
    await overTwoTurns(client, { ...ask, prompt, hasTool: true, isStream: true }, cities);
  },

  async forcedTools(client, ask) {
    for (const choice of ['weather', 'any'] as const)
      for (const isStream of [false, true]) {
        // The script names no tool of the request, so that only the force can.
        const prompt = `${ask.prompt} ${choice} ${isStream} [[tool=none calls=0 args={"city":"Oslo"}]]`;
        await overTwoTurns(client, { ...ask, prompt, hasTool: true, furtherTools: 2, choice, isStream });
      }
    // Without a script the sandbox makes up arguments that fit the tool's schema, so that programs for structured output work with it.
    const unscripted = { ...ask, prompt: `${ask.prompt} by its schema`, hasTool: true, choice: 'weather' } as const;
    await overTwoTurns(client, unscripted, ['sandbox']);
  },

  async allowedTools(client, ask) {
    for (const isStream of [false, true]) {
      const prompt = `${ask.prompt} ${isStream} [[tool=none calls=0 args={"city":"Oslo"}]]`;
      await overTwoTurns(client, { ...ask, prompt, hasTool: true, furtherTools: 2, choice: 'allowed', isStream });
    }
  },

  async manyTools(client, ask) {
    const prompt = `${ask.prompt} ${oslo}`;
    await overTwoTurns(client, { ...ask, ...asks.manyTools, prompt });
  },

  async toolPictures(client, ask) {
    for (const isStream of [false, true]) {
      const prompt = `${ask.prompt} ${isStream} ${parallel}`;
      await overTwoTurns(client, { ...ask, prompt, hasTool: true, isStream }, cities, { picture: onePixel });
    }
  },

  async pictures(client, ask) {
    const { text } = await seen(client, { ...ask, picture: onePixel });
    expect(text).toContain('Sandbox answer to');
  },

  async pdfs(client, ask) {
    const model = entries.find(({ model: { id } }) => id === ask.model);
    for (const isStream of [false, true]) {
      const prompt = `${ask.prompt} ${isStream} [[tokens=10]]`;
      const { headers, json } = await send(client, { ...ask, file: report, prompt, isStream });
      expect((await hitsOf(gateway, prompt)).at(-1)?.documents).toMatchObject([
        { type: 'application/pdf', pages: PDF_PAGES },
      ]);
      const { usage } = client.read(json);
      expect(usage.input).toBeGreaterThan(PDF_PAGES * 500);
      if (isStream || !model) continue;
      // More than the hold would be charged as the hold.
      expect(Number(headers.get('x-tollgate-credits'))).toBe(chatCredits(model.model.pricing, usage));
    }
  },

  async toolPdfs(client, ask) {
    for (const isStream of [false, true]) {
      const prompt = `${ask.prompt} ${isStream} ${parallel}`;
      await overTwoTurns(client, { ...ask, prompt, hasTool: true, isStream }, cities, { file: report });
    }
  },

  async textFiles(client, ask, { family }) {
    const text = `${ask.prompt} in a file`;
    const file = { type: 'text/plain' as const, name: 'notes.txt', base64: Buffer.from(text).toString('base64') };
    for (const isStream of [false, true]) {
      await seen(client, { ...ask, prompt: `${ask.prompt} ${isStream}`, file, isStream });
      const hit = (await hitsOf(gateway, family === 'Anthropic' ? `${ask.prompt} ${isStream}` : text)).at(-1);
      expect(hit).toBeDefined();
      if (family === 'Anthropic') expect(hit?.documents).toMatchObject([{ type: 'text/plain', text }]);
    }
  },

  async structured(client, ask) {
    const { text } = await seen(client, { ...ask, isStructured: true });
    expect(JSON.parse(text)).toEqual({ city: 'sandbox' });
  },

  async reasoning(client, ask) {
    const prompt = `${ask.prompt} [[thoughts=20]]`;
    for (const isStream of [false, true]) {
      const answer = await seen(client, { ...ask, prompt, isThinking: true, isStream, maxTokens: 2_000 });
      expect(answer).toMatchObject({
        thoughts: expect.stringMatching(/^the gate is open/),
        text: expect.stringContaining('Sandbox answer to'),
        usage: { thoughts: 20 },
      });
    }
  },

  async signedThoughts(client, ask) {
    for (const isStream of [false, true]) {
      const prompt = `${ask.prompt} ${isStream ? 's' : 'w'} [[thoughts=20 tool=weather args={"city":"Oslo"}]]`;
      const request = { ...ask, prompt, hasTool: true, isThinking: true, isStream, maxTokens: 2_000 };
      await overTwoTurns(client, request);
      expect((await hitsOf(gateway, prompt)).at(-1)?.signed).toBeGreaterThan(0);
    }
  },

  async length(client, ask) {
    const answer = await seen(client, { ...ask, prompt: `${ask.prompt} [[tokens=200]]`, maxTokens: 20 });
    expect(answer).toMatchObject({ finish: client.finishes.length, usage: { output: 20 } });
  },

  async stop(client, ask, { dialect, family }) {
    const { json } = await send(client, { ...ask, stop: 'to:' });
    if (outcomeOf('stop', dialect, family) === 'warning') {
      expect(textAt(json, 'tollgate', 'warning')).toContain('does not take stop');
      return;
    }
    const isNamed = dialect === 'messages' && family === 'Anthropic';
    expect(client.read(json)).toMatchObject({
      text: 'Sandbox answer ',
      finish: isNamed ? 'stop_sequence' : client.finishes.stopSequence,
    });
  },

  async usage(client, ask) {
    const prompt = `${ask.prompt} [[usage=40,32 cached=8 thoughts=20]]`;
    for (const isStream of [false, true]) {
      const { usage } = await seen(client, { ...ask, prompt, isStream, maxTokens: 100 });
      expect(usage).toEqual({ input: 40, output: 32, cached: 8, thoughts: 20 });
    }
  },

  async refusal(client, ask) {
    for (const isStream of [false, true]) {
      const { status, json } = await send(client, { ...ask, prompt: `${ask.prompt} [[fail=refused]]`, isStream });
      expect({ status, ...client.error(json) }).toMatchObject({ status: 400, code: 'content_policy_violation' });
    }
  },
};

/** What a request for a feature has, where that is refused by the name of a field. */
const asks: Partial<Record<Feature, Partial<Ask>>> = {
  manyTools: { hasTool: true, furtherTools: 128 },
  pdfs: { file: report },
};
async function refusedAsk(client: DialectClient, feature: Feature, ask: Ask): Promise<Ask> {
  if (feature !== 'toolPdfs') return { ...ask, ...asks[feature] };
  const { turn, calls } = await seen(client, { ...ask, prompt: `${ask.prompt} ${oslo}`, hasTool: true });
  const results = calls.map(({ id }) => ({ callId: id, text: 'rain', file: report }));
  return { ...ask, hasTool: true, answered: { turn, results } };
}

describe.each(dialectNames)('a client of %s', (dialect) => {
  const client = dialects[dialect];

  describe.each(familyNames)('with a model of %s', (family) => {
    const model = families[family];
    const cases = featureNames.flatMap((feature) => {
      const outcome = outcomeOf(feature, dialect, family);
      return outcome === 'yes' || outcome === 'warning' ? [{ feature, title: features[feature], outcome }] : [];
    });
    const promptOf = (feature: Feature): string => `${dialectNames.indexOf(dialect)} ${family} ${feature}`;

    it.each(cases)('shows: $title ($outcome)', async ({ feature }) => {
      await runs[feature](client, { model, prompt: promptOf(feature) }, { dialect, family });
    });

    const refused = featureNames.flatMap((feature) => {
      const outcome = outcomeOf(feature, dialect, family);
      return typeof outcome === 'object' ? [{ feature, title: features[feature], field: outcome.refused }] : [];
    });
    if (refused.length > 0) {
      it.each(refused)('is refused by the name of the field: $title, $field', async ({ feature, field }) => {
        const ask = await refusedAsk(client, feature, { model, prompt: promptOf(feature) });
        const { status, json } = await send(client, ask);
        expect({ status, ...client.error(json) }).toMatchObject({ status: 400, param: field });
      });
    }
  });
});

describe.each<[Exclude<DialectName, 'messages'>, object]>([
  ['chat completions', { response_format: { type: 'json_object' } }],
  ['responses', { text: { format: { type: 'json_object' } } }],
  ['Gemini', { generationConfig: { responseMimeType: 'application/json' } }],
])('JSON of any form in the dialect %s', (dialect, asksForJson) => {
  it.each(familyNames.flatMap((family) => (['whole', 'stream'] as const).map((form) => [form, family] as const)))(
    'comes as a %s from a model of %s',
    async (form, family) => {
      const client = dialects[dialect];
      const ask = { model: families[family], prompt: `any JSON ${form} ${dialect}`, isStream: form === 'stream' };
      const { status, json } = await send(client, ask, asksForJson);
      expect([status, JSON.parse(client.read(json).text)]).toEqual([200, { answer: ask.prompt }]);
      const isWarned = JSON.stringify(json).includes('is not held to it');
      expect(isWarned).toBe(family === 'Anthropic');
    },
  );
});

it('has a test for each feature', () => {
  expect(Object.keys(runs)).toEqual(Object.keys(features));
});
