import { expect } from '@jest/globals';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import { chatCredits } from '../../../src/domain/ledger/pricing.ts';
import { dialects, type DialectName } from '../../dialects/matrix.ts';
import { startChatUpstream, type ChatUpstream } from '../../support/chat-upstream.ts';
import { eventually } from '../../support/eventually.ts';
import { familyWires, type WireUsage } from '../../support/family-wires.ts';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';
import { testConfig } from '../../support/test-config.ts';
import { createSealer } from '../../../src/platform/crypto/seal.ts';
import { ensureChannel } from '../../../packages/dev-stack/src/ensure-channel.ts';
import { letModelsStream } from './streams.ts';
import { chatFacts, deliveredTokensOf, type ChatFacts } from './chats.ts';

/** A gateway whose channels all lead to one scripted provider. */
export interface ChargeScene {
  gateway: Gateway;
  upstream: ChatUpstream;
  project: TestProject;
}

/** Starts one without a worker. */
export async function startChargeScene(): Promise<ChargeScene & { stop(): Promise<void> }> {
  const [gateway, upstream] = await Promise.all([startGateway({ workers: 0, sandbox: false }), startChatUpstream()]);
  await gateway.database.query('test-slow-channels', 'update channel set enabled = false');
  const sealer = createSealer(testConfig(gateway.env).secrets.masterKeys);
  for (const adapter of ['openai', 'anthropic', 'gemini']) {
    await ensureChannel(
      { db: gateway.database, sealer },
      {
        name: `slow-${adapter}`,
        adapter,
        baseUrl: upstream.url,
        credential: 'x',
        groups: ['chat'],
        priority: 0,
        weight: 1,
        actor: 'test',
      },
    );
  }
  await gateway.database.query(
    'test-long-answers',
    `update model set private = jsonb_set(private, '{max_output_tokens}', '128000') where id = any ($1)`,
    [Object.values(familyWires).map(({ model }) => model)],
  );
  const project = await gateway.project({ credits: 10_000_000 });
  await letModelsStream(
    gateway,
    project.apiKey,
    Object.values(familyWires).map(({ model }) => model),
  );
  return {
    gateway,
    upstream,
    project,
    async stop() {
      await gateway.stop();
      await upstream.die();
    },
  };
}

/** About 200 tokens, which no provider of these tests reports. */
export const words = 'the gate is open and '.repeat(40);
/** The fewest tokens that they can have. */
const leastTokens = 13;
/** Far above what the answer may have. */
export const overlong = 'the gate is open and '.repeat(12_000);

export interface Counts {
  name: string;
  interim?: WireUsage;
  final: WireUsage | null;
  /** What is billed when the final counts come; absent: as without any. */
  billed?: { input: number | 'likely'; output: number | 'likely'; isEstimated: boolean };
}

export const counts: Counts[] = [
  { name: 'no counts', final: null },
  { name: 'counts of its beginning only', interim: { input: 1_000, output: 12 }, final: null },
  {
    name: 'counts at its end',
    final: { input: 1_000, output: 700 },
    billed: { input: 1_000, output: 700, isEstimated: false },
  },
  { name: 'absurd counts', final: { input: 400_000_000, output: 400_000_000 } },
  {
    name: 'a prompt of zero tokens',
    final: { input: 0, output: 700 },
    billed: { input: 'likely', output: 700, isEstimated: true },
  },
  {
    name: 'zero tokens for its text',
    final: { input: 1_000, output: 0 },
    billed: { input: 1_000, output: 'likely', isEstimated: true },
  },
  {
    name: 'fewer tokens than its text can have',
    final: { input: 1_000, output: 3 },
    billed: { input: 1_000, output: 3, isEstimated: false },
  },
];
/** The counts of a test about something else. */
export const plainCounts = counts.filter(({ name }) => name === 'counts at its end');

export type Charged = ChatFacts & { deliveredTokens: number | null | undefined };

/** What is charged: the tokens, whether they are estimated, and their price by the model's rates, at most the hold. */
export async function expectCharge(
  facts: Charged,
  model: string,
  { input, output, isEstimated }: { input: number | 'likely'; output: number | 'likely'; isEstimated: boolean },
): Promise<void> {
  if (input === 'likely') expectLikely(facts.inputTokens, 12);
  else expect(facts.inputTokens).toBe(input);
  if (output === 'likely') expectLikely(facts.outputTokens, 200);
  else expect(facts.outputTokens).toBe(output);
  expect(facts.usageEstimated).toBe(isEstimated);
  expect(facts.deliveredTokens).toBeGreaterThanOrEqual(
    output === 'likely' ? leastTokens : Math.min(leastTokens, output),
  );
  expect(facts.deliveredTokens).toBeLessThanOrEqual(facts.outputTokens ?? 0);
  const used = { input: facts.inputTokens ?? -1, output: facts.outputTokens ?? -1 };
  const credits = chatCredits(await pricingOf(model), used);
  expect(facts).toMatchObject({ state: 'settled', settledAmount: Math.min(credits, facts.amount) });
}

/** Within the error of an estimate without the tokenizer of the model. */
function expectLikely(tokens: number | null, about: number): void {
  expect(tokens).toBeGreaterThanOrEqual(about * 0.6);
  expect(tokens).toBeLessThanOrEqual(about * 1.6);
}

const entries = loadCatalog('test/support/catalog').then((catalog) => catalog.entries);

async function pricingOf(modelId: string) {
  const entry = (await entries).find(({ model }) => model.id === modelId);
  if (!entry) throw new Error(`no ${modelId}`);
  return entry.model.pricing;
}

export interface ChargedAsk {
  dialect: DialectName;
  model: string;
  isStream: boolean;
  maxTokens: number;
}

export const sendChat = (
  { gateway: { baseUrl }, project: { apiKey } }: ChargeScene,
  { dialect, ...ask }: ChargedAsk,
  signal?: AbortSignal,
): Promise<Response> => {
  const request = { ...ask, prompt: 'Tell me about the gate.' };
  return fetch(`${baseUrl}${dialects[dialect].path(request)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(dialects[dialect].body(request)),
    ...(signal && { signal }),
  });
};

/** What was written of the chat with this answer, once it has ended. */
export const endOf = (scene: ChargeScene, { headers }: Response): Promise<Charged> =>
  endOfChat(scene, headers.get('x-request-id') ?? '');

/** What was written of a chat, once it has ended. */
export async function endOfChat({ gateway }: ChargeScene, requestId: string): Promise<Charged> {
  const facts = await eventually(async () => {
    const soFar = await chatFacts(gateway, requestId);
    return soFar !== undefined && soFar.state !== 'held' && soFar;
  });
  return { ...facts, deliveredTokens: await deliveredTokensOf(gateway, requestId) };
}

/** The request id of the latest chat that holds credits. */
export async function latestChat({ gateway, project }: ChargeScene): Promise<string> {
  const [row] = await gateway.database.query<{ id: string }>(
    'test-latest-chat',
    `select id from reservation where project_id = $1 and state = 'held' order by created_at desc limit 1`,
    [project.projectId],
  );
  return row?.id ?? '';
}
