import { noteLastCharacters } from '../../db/channels/channel-credentials.ts';
import { listChannels, withCredential, type ChannelRow } from '../../db/channels/channels.ts';
import type { Deps } from '../../deps.ts';
import { isOfCredential } from '../../domain/channels/draw-credential.ts';
import { lastCharacters } from '../../domain/channels/last-characters.ts';
import type { Attempt } from '../../domain/channels/upstream.ts';
import { inLanes } from '../../platform/in-lanes.ts';
import { pause } from '../../platform/pause.ts';
import { probeChannel } from './free-calls.ts';
import { usableCredential } from './unseal-credential.ts';

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
    await noteEndings(deps, channel);
    const answer = await checkEach(deps, channel);
    if (!answer) return;
    count.checked += 1;
    if (answer.kind !== 'ok') count.unhealthy += 1;
  });
  return count;
}

/**
 * Asks with each credential. A failure that is not of a credential is the channel's own, so the others are not asked. The answer is the
 * first that is not good, else the last.
 */
async function checkEach(deps: CheckDeps, channel: ChannelRow): Promise<Attempt<true> | null> {
  let worst: Attempt<true> | null = null;
  for (const { id } of channel.credentials) {
    const candidate = withCredential(channel, id);
    const answer = candidate && (await check(deps, candidate));
    if (worst === null || worst.kind === 'ok') worst = answer;
    if (answer && answer.kind !== 'ok' && !isOfCredential(answer)) break;
  }
  return worst;
}

/** Notes the last characters of credentials that a process of the previous release has written. */
async function noteEndings(deps: CheckDeps, channel: ChannelRow): Promise<void> {
  for (const credential of channel.credentials) {
    const secret = usableCredential(deps, { name: channel.name, credential });
    const last4 = secret === null ? credential.last4 : lastCharacters(secret);
    if (last4 === null || last4 === credential.last4) continue;
    const noted = { channelId: channel.id, credentialId: credential.id, last4 };
    await noteLastCharacters(deps.db, noted).catch((error: unknown) =>
      deps.logger.warn({ err: error, channel: channel.name }, 'the last characters of a credential were not noted'),
    );
  }
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
