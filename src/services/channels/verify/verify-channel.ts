import { recordAudit } from '../../../db/operators/audit.ts';
import type { ChannelRow } from '../../../db/channels/channels.ts';
import { listModels } from '../../../db/catalog/models.ts';
import type { JsonObject } from '../../../domain/json.ts';
import {
  servedMappings,
  unlistedNames,
  upstreamNames,
  type ServedMapping,
} from '../../../domain/catalog/listed-models.ts';
import { inLanes } from '../../../platform/in-lanes.ts';
import { listUpstreamModels } from '../free-calls.ts';
import { demandChannel, testChannelRow, type ChannelTest } from '../test-channel.ts';
import { askOnce, askable, type LiveCallResult, type VerifyDeps } from './ask-once.ts';

export interface VerifiedMapping {
  model: string;
  type: 'chat' | 'image' | 'video';
  /** The provider's names of the model. */
  upstream: string[];
  /** Whether the provider's list has all of them; null if there is no complete list. */
  listed: boolean | null;
  /** False while the channel is not drawn for this model because its provider's list lacked the model, and no real call shows that it is there. */
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
  /** What the provider's model list came to, and how many names it has. */
  list: { state: 'complete' | 'incomplete' | 'not_offered' | 'failed'; names: number; detail: string | null };
  mappings: VerifiedMapping[];
  /** What the real calls cost, in micro-USD; for a call of unknown cost, its maximum. */
  spent: number;
  ok: boolean;
}

/** Real calls: `maxCost` in micro-USD for all together, who allows it, and how long their results are waited for. */
interface LiveCalls {
  maxCost: number;
  actor: string;
  secondsMax: number;
}

/** Real calls at the same time: providers allow that many, and one slow clip does not make all others wait. */
const lanes = 4;

/**
 * Checks a channel, given by id or name: whether it answers, accepts the credential and lists each model that the channel serves. With
 * `live` it also makes the cheapest real request of each model, as long as the costs of all stay within `maxCost`. The audit
 * log says before the first of them who allows that cost. A channel that was not drawn for a model is drawn again after a success.
 * Throws `OperatorError` if no call can be made.
 */
export async function verifyChannel(
  deps: VerifyDeps,
  { channel: named, live }: { channel: string; live: LiveCalls | null },
): Promise<ChannelVerification> {
  const channel = await demandChannel(deps, named);
  return verifyChannelRow(deps, { channel, test: await testChannelRow(deps, channel), live });
}

/** The same for a channel that was tested, and that need not be stored unless real calls are made. */
export async function verifyChannelRow(
  deps: VerifyDeps,
  { channel, test, live }: { channel: ChannelRow; test: ChannelTest; live: LiveCalls | null },
): Promise<ChannelVerification> {
  const { names, ...list } = await readList(deps, channel);
  const served = servedMappings(await listModels(deps.db), channel);
  let called: Awaited<ReturnType<typeof askEach>> = { checks: new Map(), spent: 0 };
  if (live) {
    await recordAudit(deps.db, {
      actor: live.actor,
      action: 'channels.verify',
      subject: channel.id,
      before: null,
      after: { maxCostMicroUsd: live.maxCost },
      detail: { name: channel.name },
    });
    called = await askEach(deps, channel, served, live);
  }
  const mappings = served.map((one) => {
    const { entry, mapping } = one;
    const listed = list.state === 'complete' ? unlistedNames(mapping, names).length === 0 : null;
    const check = called.checks.get(one) ?? null;
    // Without its list check a channel may serve what the list lacks, and a call that succeeded says more than the list.
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
  const failsByList = list.state === 'failed' && channel.listCheck;
  const ok = isReachable && !failsByList && mappings.every((mapping) => mapping.ok);
  return { test, list: { ...list, names: names.size }, mappings, spent: called.spent, ok };
}

async function readList(deps: VerifyDeps, channel: ChannelRow) {
  const none = { names: new Set<string>() as ReadonlySet<string>, detail: null };
  const answer = await listUpstreamModels(deps, channel);
  if (!answer) return { ...none, state: 'not_offered' } as const;
  if (answer.kind !== 'ok') return { ...none, state: 'failed', detail: answer.detail } as const;
  const { names, isComplete } = answer.value;
  return { ...none, names, state: isComplete ? 'complete' : 'incomplete' } as const;
}

/** Makes the cheapest calls first, so that as many mappings as possible are checked for `maxCost`. */
async function askEach(
  deps: VerifyDeps,
  channel: ChannelRow,
  served: readonly ServedMapping[],
  { maxCost, secondsMax }: LiveCalls,
): Promise<{ checks: Map<ServedMapping, LiveCheck>; spent: number }> {
  const checks = new Map<ServedMapping, LiveCheck>();
  let spent = 0;
  const callsEndAt = performance.now() + secondsMax * 1_000;
  const asks = served.map((one) => ({ one, ask: askable(one) }));
  asks.sort((a, b) => costOf(a.ask) - costOf(b.ask));
  await inLanes(asks, lanes, async ({ one, ask }) => {
    if (ask.kind === 'none') {
      checks.set(one, { request: {}, outcome: 'not_asked', detail: ask.why });
      return;
    }
    if (performance.now() >= callsEndAt) {
      checks.set(one, { request: ask.shown, outcome: 'not_asked', detail: 'the time for the calls was over' });
      return;
    }
    const left = Math.max(0, maxCost - spent);
    if (ask.costMax > left) {
      const detail = `the call may cost ${ask.costMax} micro-USD, and the cost limit leaves ${left}`;
      checks.set(one, { request: ask.shown, outcome: 'not_asked', detail });
      return;
    }
    // Before the call, because calls run side by side.
    spent += ask.costMax;
    const result = await askOnce({ ...deps, callsEndAt }, channel, one, ask);
    // Replace the reserved maximum by the real cost: 0 for a refused call, more than the maximum if the provider counted more tokens.
    spent += result.costMicroUsd - ask.costMax;
    checks.set(one, { request: ask.shown, ...result });
  });
  return { checks, spent };
}

const costOf = (ask: ReturnType<typeof askable>): number => (ask.kind === 'none' ? 0 : ask.costMax);
