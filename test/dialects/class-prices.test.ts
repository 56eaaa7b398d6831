import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { findChat } from '../../src/db/chat/chats.ts';
import { readSummary, rebuildDay } from '../../src/db/ledger/summaries.ts';
import type { JsonObject, JsonValue } from '../../src/domain/json.ts';
import { awayFromMidnight } from '../support/away-from-midnight.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { objectAt, parsed } from './json-at.ts';
import { dialectNames, dialects, families, familyNames, type DialectName, type FamilyName } from './matrix.ts';
import { eventsIn } from './sdk-scene.ts';

const pricing = {
  unit: 'tokens',
  credits_per_request: 1,
  min_credits_per_request: 1,
  credits_per_1k_input_tokens: 1_000,
  credits_per_1k_cached_input_tokens: 100,
  credits_per_1k_cache_write_tokens: 1_250,
  credits_per_1k_output_tokens: 5_000,
  credits_per_1k_reasoning_tokens: 3_000,
  long_input: { above_tokens: 2_000, credits_per_1k_input_tokens: 2_000, credits_per_1k_cached_input_tokens: 200 },
};
/** What a token costs: that of a short input, and that of a long one, whose written tokens are plain. */
const rates = {
  short: { input: 1, cached: 0.1, written: 1.25 },
  long: { input: 2, cached: 0.2, written: 2 },
};
const output = { tokens: 200, reasoning: 80, credits: 600, reasoningCredits: 240 };

/** These families report what was written to a cache. */
const reportsWrites: readonly FamilyName[] = ['Anthropic', 'OpenAI Responses'];

const modelOf = (family: FamilyName): string => `priced-${families[family]}`;

interface Sent {
  requestId: string;
  credits: string | null;
  /** Every object of the answer that says what it cost. */
  costs: JsonObject[];
}

let gateway: Gateway;
let project: TestProject;
/** What the requests of the tests came to. */
const sums = { credits: 0, input: 0, cached: 0, written: 0, reasoning: 0 };

await awayFromMidnight();

beforeAll(async () => {
  gateway = await startGateway({ workers: 0 });
  project = await gateway.project({ credits: 1_000_000 });
  await gateway.database.query(
    'test-priced-models',
    `insert into model (id, position, entry, private)
     select 'priced-' || id, position + 1000, entry || jsonb_build_object('id', 'priced-' || id, 'pricing', $2::jsonb),
       private || '{"aliases": {}}' from model where id = any ($1)`,
    [Object.values(families), JSON.stringify(pricing)],
  );
  await eventually(async () => {
    const { body } = await gateway.get(project.apiKey, '/api/v1/models');
    return JSON.stringify(body).includes(modelOf('Gemini'));
  });
});

afterAll(() => gateway?.stop());

const send = async (dialect: DialectName, family: FamilyName, isStream: boolean, script: string): Promise<Sent> => {
  const ask = { model: modelOf(family), prompt: `${dialect} ${family} [[${script}]]`, isStream, maxTokens: 500 };
  const response = await fetch(`${gateway.baseUrl}${dialects[dialect].path(ask)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${project.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(dialects[dialect].body(ask)),
  });
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  return {
    requestId: response.headers.get('x-request-id') ?? '',
    credits: response.headers.get('x-tollgate-credits'),
    costs: costsIn(isStream ? eventsIn(text) : objectAt(parsed(text))),
  };
};

describe.each(dialectNames)('an answer in %s', (dialect) => {
  it.each(familyNames)('of a model of %s costs the price of each class of its tokens, and says so', async (family) => {
    const written = reportsWrites.includes(family) ? 100 : 0;
    for (const { isStream, tier, input, cached } of [
      { isStream: false, tier: 'short', input: 1_000, cached: 600 },
      { isStream: true, tier: 'short', input: 2_000, cached: 600 },
      { isStream: true, tier: 'long', input: 2_001, cached: 1_601 },
    ] as const) {
      const script = `usage=${input},${output.tokens} cached=${cached} written=${written} thoughts=${output.reasoning}`;
      const { requestId, credits: header, costs } = await send(dialect, family, isStream, script);
      const rate = rates[tier];
      const exact = {
        input: (input - cached - written) * rate.input,
        cached_input: cached * rate.cached,
        cache_write: written * rate.written,
      };
      const credits = Math.ceil(
        exact.input + exact.cached_input + exact.cache_write + output.credits + output.reasoningCredits - 1e-6,
      );
      const [cost] = costs;
      expect(cost).toMatchObject({ credits });
      for (const each of costs) expect(each).toMatchObject(cost ?? {});
      const details = Details.parse(cost?.['cost_details']);
      expect(Object.values(details).reduce((sum, part) => sum + part, 0)).toBe(credits);
      for (const [part, amount] of Object.entries({ ...exact, output: 600, reasoning: 240 }))
        expect(Math.abs(details[part as keyof typeof exact] - amount)).toBeLessThan(1);
      if (!isStream) expect(header).toBe(String(credits));
      const entry = await entryOf(requestId);
      expect(entry).toMatchObject({
        credits: -credits,
        input_tokens: input,
        cached_input_tokens: cached,
        cache_write_tokens: written,
        cache_write_1h_tokens: 0,
        output_tokens: output.tokens,
        reasoning_tokens: output.reasoning,
      });
      expect(await findChat(gateway.database, requestId)).toMatchObject({
        creditsCharged: credits,
        cachedInputTokens: cached,
        cacheWriteTokens: written,
        reasoningTokens: output.reasoning,
      });
      sums.credits += credits;
      sums.input += input;
      sums.cached += cached;
      sums.written += written;
      sums.reasoning += output.reasoning;
    }
  });
});

it('is the same in the usage of the project, in its tables and in the summary of the month', async () => {
  const { apiKey, projectId } = project;
  const total = {
    credits: sums.credits,
    input_tokens: sums.input,
    cached_input_tokens: sums.cached,
    cache_write_tokens: sums.written,
    cache_write_1h_tokens: 0,
    reasoning_tokens: sums.reasoning,
  };
  const range = `from=${Math.floor(Date.now() / 1_000) - 3_600}&group_by=model`;
  expect((await gateway.get(apiKey, `/api/v1/usage?${range}`)).body).toMatchObject({ total });
  const table = async (path: string): Promise<string[]> => {
    const headers = { authorization: `Bearer ${apiKey}`, accept: 'text/csv' };
    const response = await fetch(`${gateway.baseUrl}${path}`, { headers });
    return (await response.text()).trim().split(/\r?\n/);
  };
  for (const path of [`/api/v1/usage?${range}`, '/api/v1/ledger?limit=100']) {
    const [head = '', ...rows] = await table(path);
    const sum = (column: string): number =>
      rows.reduce((soFar, row) => soFar + Number(row.split(',')[head.split(',').indexOf(column)]), 0);
    for (const [column, tokens] of Object.entries(total).filter(([name]) => name.endsWith('_tokens')))
      expect({ path, column, sum: sum(column) }).toEqual({ path, column, sum: tokens });
  }
  const day = new Date().toISOString().slice(0, 10);
  await rebuildDay(gateway.database, { day, creditValueMicroUsd: 1, lagSeconds: 0, freezeAfterDays: 2 });
  const summary = await readSummary(gateway.database, day.slice(0, 7));
  const rows = summary?.rows.filter((row) => row.projectId === projectId) ?? [];
  const sumOf = (name: 'cachedInputTokens' | 'cacheWriteTokens' | 'reasoningTokens' | 'creditsCharged'): number =>
    rows.reduce((soFar, row) => soFar + row[name], 0);
  expect(sumOf('creditsCharged')).toBe(sums.credits);
  expect(sumOf('cachedInputTokens')).toBe(sums.cached);
  expect(sumOf('cacheWriteTokens')).toBe(sums.written);
  expect(sumOf('reasoningTokens')).toBe(sums.reasoning);
  expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
});

/** The settlement of a chat in the project's ledger, once it is written. */
const entryOf = (requestId: string) =>
  eventually(async () => {
    const { body } = await gateway.get(project.apiKey, `/api/v1/ledger?request_id=${requestId}`);
    return z.object({ data: z.array(z.record(z.string(), z.unknown())) }).parse(body).data[0];
  });
const Details = z.object({
  input: z.int(),
  cached_input: z.int(),
  cache_write: z.int(),
  output: z.int(),
  reasoning: z.int(),
});

/** The objects with `cost_details`, wherever they are in an answer. */
function costsIn(value: JsonValue): JsonObject[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(costsIn);
  return [...('cost_details' in value ? [value] : []), ...Object.values(value).flatMap(costsIn)];
}
