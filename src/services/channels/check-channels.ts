import { listChannels, type ChannelRow } from '../../db/channels/channels.ts';
import type { Deps } from '../../deps.ts';
import type { Attempt } from '../../domain/channels/upstream.ts';
import { inLanes } from '../../platform/in-lanes.ts';
import { pause } from '../../platform/pause.ts';
import { probeChannel } from './probe-channel.ts';

type CheckDeps = Pick<Deps, 'db' | 'channels' | 'adapters' | 'sealer' | 'logger'>;

const lanes = 8;
/** A connection that fails twice within this time is no blip. */
const secondCallAfterMs = 1_000;

/**
 * Checks each enabled channel that is not tripped with its adapter's free call, and notes what the answer says about all of its models
 * (spec §4.8 check-api-channels): so an unused channel is out of the draw before a client's request fails on it. `checked` counts
 * the channels with an answer or a failure, `unhealthy` those whose free call failed. `probeChannels` asks the tripped ones.
 */
export async function checkChannels(deps: CheckDeps): Promise<{ checked: number; unhealthy: number }> {
  const count = { checked: 0, unhealthy: 0 };
  const { channels, nowMs } = await listChannels(deps.db);
  const isTripped = ({ trippedModels, unavailableUntil }: ChannelRow): boolean =>
    trippedModels.some((model) => (unavailableUntil[model] ?? 0) > nowMs);
  const untripped = channels.filter((channel) => channel.enabled && !isTripped(channel));
  await inLanes(untripped, lanes, async (channel) => {
    const answer = await check(deps, channel);
    if (!answer) return;
    count.checked += 1;
    if (answer.kind !== 'ok') count.unhealthy += 1;
  });
  return count;
}

/** Null if the family has no free call, or the call could not be made. Never rejects, so that one channel does not stop the others. */
async function check(deps: CheckDeps, channel: ChannelRow): Promise<Attempt<true> | null> {
  try {
    const startedAt = performance.now();
    let answer = await probeChannel(deps, channel);
    if (answer && answer.kind !== 'ok' && answer.errorClass === 'connect') {
      await pause(secondCallAfterMs);
      answer = await probeChannel(deps, channel);
    }
    if (answer) await deps.channels.noteFreeCall(channel, startedAt, answer);
    return answer;
  } catch (error) {
    deps.logger.warn({ err: error, channel_id: channel.id, channel: channel.name }, 'a channel could not be checked');
    return null;
  }
}
