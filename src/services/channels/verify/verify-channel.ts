import { recordAudit } from '../../../db/operators/audit.ts';
import { listChannels, type ChannelRow } from '../../../db/channels/channels.ts';
import { listModels } from '../../../db/catalog/models.ts';
import type { JsonObject } from '../../../domain/json.ts';
import {
  servedMappings,
  unlistedNames,
  upstreamNames,
  type ServedMapping,
} from '../../../domain/catalog/listed-models.ts';
import { inLanes } from '../../../platform/in-lanes.ts';
import { UnknownToOperator } from '../../operator-error.ts';
import { listUpstreamModels } from '../list-upstream-models.ts';
import { testChannel, type ChannelTest } from '../test-channel.ts';
import { askOnce, askable, type LiveCallResult, type VerifyDeps } from './ask-once.ts';

export interface VerifiedMapping {
  model: string;
  type: 'chat' | 'image' | 'video';
  /** The provider's names of the model. */
  upstream: string[];
  /** Whether the provider's list has all of them; null if there is no complete list. */
  listed: boolean | null;
  /** False while the channel is not drawn for this model. */
  drawn: boolean;
  /** Where and when the mapping was last checked against the provider's documents. */
  verified: { source: string; on: string } | null;
  /** What a real call came to; null without one. */
  live: LiveCheck | null;
  ok: boolean;
}

export type LiveCheck = { request: JsonObject } & (LiveCallResult | { outcome: 'not_asked'; detail: string });

export interface ChannelVerification {
  test: ChannelTest;
  /** What the provider's model list came to. */
  list: { state: 'complete' | 'incomplete' | 'not_offered' | 'failed'; names: number; detail: string | null };
  mappings: VerifiedMapping[];
  /** What the real calls cost at most, in micro-USD. */
  spent: number;
  ok: boolean;
}

/** Providers allow more, and one slow clip must not make the others wait. */
const lanes = 4;

/**
 * Checks a channel, given by id or name: whether it answers, accepts the credential and lists each model that the channel serves. With
 * `live` it also makes the cheapest real request of each model, while their costs together stay within `maxCost` micro-USD. The audit
 * log says before the first of them who allows that cost. A success makes a mapping that was not drawn available. Throws
 * `OperatorError` if no call can be made.
 */
export async function verifyChannel(
  deps: VerifyDeps,
  { channel: named, live }: { channel: string; live: { maxCost: number; actor: string } | null },
): Promise<ChannelVerification> {
  const test = await testChannel(deps, named);
  const { channels } = await listChannels(deps.db);
  const channel = channels.find(({ id }) => id === test.channelId);
  if (!channel) throw new UnknownToOperator(`There is no channel ${named}.`);
  return verifyChannelRow(deps, { channel, test, live });
}

/** The same for a channel that was tested, and that need not be stored unless real calls are made. */
export async function verifyChannelRow(
  deps: VerifyDeps,
  { channel, test, live }: { channel: ChannelRow; test: ChannelTest; live: { maxCost: number; actor: string } | null },
): Promise<ChannelVerification> {
  const { names, ...list } = await readList(deps, channel);
  const served = servedMappings(await listModels(deps.db), channel);
  const budget = { left: live?.maxCost ?? 0 };
  const checks = new Map<ServedMapping, LiveCheck>();
  if (live) {
    await recordAudit(deps.db, {
      actor: live.actor,
      action: 'channels.verify',
      subject: channel.id,
      before: null,
      after: { maxCostMicroUsd: live.maxCost },
      detail: { name: channel.name },
    });
    await askEach(deps, { channel, served, budget, checks });
  }
  const mappings = served.map((one) => {
    const { entry, mapping } = one;
    const listed = list.state === 'complete' ? unlistedNames(mapping, names).length === 0 : null;
    const check = checks.get(one) ?? null;
    // A list that is not to decide about the channel does not fail its mappings either, and neither does it one that works.
    const failsByList = listed === false && channel.listCheck && check?.outcome !== 'ok';
    return {
      model: entry.model.id,
      type: entry.model.type,
      upstream: upstreamNames(mapping),
      listed,
      drawn: channel.notDrawn[entry.model.id] === undefined || check?.outcome === 'ok',
      verified: mapping.verified ?? null,
      live: check,
      ok: !failsByList && check?.outcome !== 'failed',
    };
  });
  const isReachable = test.answer.kind === 'ok' || test.answer.kind === 'not_offered';
  const ok = isReachable && list.state !== 'failed' && mappings.every((mapping) => mapping.ok);
  return {
    test,
    list: { ...list, names: names.size },
    mappings,
    spent: live ? live.maxCost - budget.left : 0,
    ok,
  };
}

async function readList(deps: VerifyDeps, channel: ChannelRow) {
  const none = { names: new Set<string>() as ReadonlySet<string>, detail: null };
  const answer = await listUpstreamModels(deps, channel);
  if (!answer) return { ...none, state: 'not_offered' } as const;
  if (answer.kind !== 'ok') return { ...none, state: 'failed', detail: answer.detail } as const;
  const { names, isComplete } = answer.value;
  return { ...none, names, state: isComplete ? 'complete' : 'incomplete' } as const;
}

/** Asks the cheapest mappings first, so that the budget verifies as many as it can. */
async function askEach(
  deps: VerifyDeps,
  input: {
    channel: ChannelRow;
    served: ServedMapping[];
    budget: { left: number };
    checks: Map<ServedMapping, LiveCheck>;
  },
): Promise<void> {
  const { channel, served, budget, checks } = input;
  const asks = served.map((one) => ({ one, ask: askable(one) }));
  asks.sort((a, b) => costOf(a.ask) - costOf(b.ask));
  await inLanes(asks, lanes, async ({ one, ask }) => {
    if (ask.kind === 'none') {
      checks.set(one, { request: {}, outcome: 'not_asked', detail: ask.why });
      return;
    }
    if (ask.costMax > budget.left) {
      const detail = `the call may cost ${ask.costMax} micro-USD, and --max-cost leaves ${budget.left}`;
      checks.set(one, { request: ask.shown, outcome: 'not_asked', detail });
      return;
    }
    // Before the call, because calls run side by side.
    budget.left -= ask.costMax;
    const result = await askOnce(deps, channel, one, ask);
    // A call that a provider refused was not billed.
    budget.left += ask.costMax - Math.min(ask.costMax, result.costMicroUsd);
    checks.set(one, { request: ask.shown, ...result });
  });
}

const costOf = (ask: ReturnType<typeof askable>): number => (ask.kind === 'none' ? 0 : ask.costMax);
