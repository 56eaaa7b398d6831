import {
  endFreeCallFailures,
  listTrippedChannels,
  recoverChannel,
  type TrippedChannel,
} from '../../db/channels/channels.ts';
import type { Deps } from '../../deps.ts';
import { freeCallNoteOf } from '../../domain/channels/channel-health.ts';
import type { Attempt } from '../../domain/channels/upstream.ts';
import { inLanes } from '../../platform/in-lanes.ts';
import { probeChannel } from './free-calls.ts';

type ProbeDeps = Pick<Deps, 'db' | 'channels' | 'adapters' | 'sealer' | 'logger'>;

const lanes = 8;

/**
 * Probes each enabled channel whose breaker is tripped with its adapter's free call. A channel that answers becomes probing: it may
 * be drawn for one call at a time (spec §4.8 check-api-channels). A cool-down after a 429 or an account error lasts to its end,
 * because the free call was not what the provider limited. A channel without a free call stays tripped until its time is over.
 */
export async function probeTrippedChannels(
  deps: ProbeDeps,
): Promise<{ probed: number; reopened: number; failed: number }> {
  const count = { probed: 0, reopened: 0, failed: 0 };
  await inLanes(await listTrippedChannels(deps.db), lanes, async (tripped) => {
    const result = await probe(deps, tripped);
    if (result !== 'not_offered') count.probed += 1;
    if (result === 'reopened' || result === 'failed') count[result] += 1;
  });
  if (count.reopened > 0) deps.channels.forget();
  return count;
}

/**
 * Probes each enabled channel whose breaker tripped because its provider could not be reached. Nothing is sent to a provider that is away,
 * so it may be called every few seconds, and a short outage does not last as long as the trip. Any answer that does not count
 * as a failure makes the channel probing. Returns how many became so.
 */
export async function probeUnreachableChannels(deps: ProbeDeps): Promise<number> {
  const unreachable = (await listTrippedChannels(deps.db)).filter(({ reason }) => reason === 'connect');
  let reopened = 0;
  await inLanes(unreachable, lanes, async (tripped) => {
    if ((await probe(deps, tripped, (answer) => freeCallNoteOf(answer).kind !== 'failure')) === 'reopened')
      reopened += 1;
  });
  if (reopened > 0) deps.channels.forget();
  return reopened;
}

/**
 * `superseded`: the channel answered, but in the meantime it was tripped again or recovered. Never rejects, so that a failed probe
 * does not stop the others.
 */
async function probe(
  deps: ProbeDeps,
  tripped: TrippedChannel,
  isWell: (answer: Attempt<true>) => boolean = ({ kind }) => kind === 'ok',
): Promise<'reopened' | 'superseded' | 'failed' | 'not_offered'> {
  const { channelId, modelIds } = tripped;
  const about: Record<string, unknown> = { channel_id: channelId, models: modelIds };
  try {
    const channel = await deps.channels.find(channelId);
    if (!channel) return 'not_offered';
    about['channel'] = channel.name;
    const answer = await probeChannel(deps, channel);
    if (!answer) return 'not_offered';
    const well = isWell(answer);
    // A provider that stays away is probed every few seconds.
    const level = !well && tripped.reason === 'connect' ? 'debug' : 'info';
    deps.logger[level]({ ...about, answer: answer.kind }, 'a tripped channel was probed');
    if (!well) return 'failed';
    const recovered = await recoverChannel(deps.db, tripped);
    // A trip for all models was of a free call, so a free call proves the end of its cause.
    if (recovered && modelIds.includes('*')) await endFreeCallFailures(deps.db, channelId);
    return recovered ? 'reopened' : 'superseded';
  } catch (error) {
    deps.logger.warn({ ...about, err: error }, 'a tripped channel could not be probed');
    return 'failed';
  }
}
