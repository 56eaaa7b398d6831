import { noteModelList, type UnlistedModel } from '../db/channels/channel-mappings.ts';
import type { CountedCall } from '../db/channels/channel-calls.ts';
import { listChannels, withCredential, type ChannelRow } from '../db/channels/channels.ts';
import { credentialsInTurn } from '../domain/channels/draw-credential.ts';
import { unavailableUntilMs } from '../domain/channels/routing.ts';
import { createCached } from '../caches/cached.ts';
import { createChannelHistory, type ChannelHistory } from './channel-history.ts';
import { ChannelLimits } from './channel-limits.ts';
import { CircuitBreaker, type BreakerDeps } from './circuit-breaker.ts';
import { alarmOf } from '../domain/operators/alarm.ts';

export interface ChannelCache extends Pick<CircuitBreaker, 'release' | 'begin' | 'note' | 'noteFreeCall'> {
  /** The channels with their health, and the database's clock now. At most `keptMs` old. */
  list(): Promise<{ channels: readonly ChannelRow[]; nowMs: number }>;
  find(channelId: string): Promise<ChannelRow | null>;
  /**
   * The channel as it is known now, with the credential that the call sends, or null if no call may go to it. Only if its breaker was
   * tripped for this model does this ask the database; the call is then the one probe, until it is noted or released.
   */
  claim(channel: ChannelRow, call: ClaimedCall): Promise<ChannelRow | null>;
  /** `claim`, whatever the breaker says, for the call that tries a tripped channel all the same. */
  claimTripped(channel: ChannelRow, call: ClaimedCall): Promise<ChannelRow | null>;
  /** The calls that `claim` counted against the limits of their channels. */
  calls: Pick<ChannelLimits, 'fullForMs' | 'end' | 'undo' | 'tie'>;
  /** The channel with a credential in its turn, whatever its breaker says; null if all cool down or are left out. Counts no call. */
  drawCredential(channel: ChannelRow, draw: CredentialDraw): Promise<ChannelRow | null>;
  /** Notes which models the provider's complete list lacks, and raises an alarm for each. Returns the models whose state changed. */
  noteModelList: (channel: ChannelRow, lacking: readonly UnlistedModel[], isComplete: boolean) => Promise<ListNote>;
  /** Counts an attempt that ended, for the charts of operators. */
  count: ChannelHistory['count'];
  forget(): void;
  /** Writes what was counted. Call it before the process ends. */
  flush(): Promise<void>;
}

interface ClaimedCall {
  modelId: string;
  projectId: string;
  /** Credentials that the call does not send, by id. Absent: none. */
  without?: ReadonlySet<string>;
  /** What counts against the limits of the channel. Absent: the call is not counted. */
  counted?: CountedCall;
}

export interface CredentialDraw {
  /** Credentials that are left out, by id. */
  without: ReadonlySet<string>;
  /** Whether a call is about to begin, so that the next one sends another credential. The claim of a limited channel takes its turn itself. */
  takesTurn: boolean;
  /** The credential of an earlier draw for the same call, which is kept if it may still be sent. */
  drawnBefore?: string;
}

interface ListNote {
  marked: string[];
  cleared: string[];
}

const none: ReadonlySet<string> = new Set();

/** How stale the channels of a process may be if no notification reaches it. */
export const CHANNELS_KEPT_MS = 2_000;

/** Keeps the channels and their health for `keptMs`, or until this process changes the health of one. */
export function createChannelCache(
  db: BreakerDeps['db'],
  keptMs: number,
  settings: BreakerDeps['settings'],
  tools: Pick<BreakerDeps, 'logger' | 'probe'>,
): ChannelCache {
  const breaker = new CircuitBreaker({ ...tools, db, settings, changed: () => cached.forget() });
  const cached = createCached(keptMs, async () => {
    const { channels, nowMs } = await listChannels(db);
    const at = performance.now();
    breaker.restartTripped(channels);
    return { channels, nowMs, at };
  });
  const history = createChannelHistory(db, tools.logger);
  const list = async () => {
    const { channels, nowMs, at } = await cached.get();
    return { channels, nowMs: nowMs + (performance.now() - at) };
  };
  /** How many calls took a credential, by channel. */
  const turns = new Map<string, number>();
  const inTurn = (channel: ChannelRow, nowMs: number, { without, takesTurn }: CredentialDraw): string[] => {
    const turn = turns.get(channel.id) ?? 0;
    if (takesTurn && channel.credentials.length > 1) turns.set(channel.id, turn + 1);
    return credentialsInTurn(channel.credentials, { turn, nowMs, without }).map(({ id }) => id);
  };
  const limits = new ChannelLimits(db, tools.logger);
  /** The channel with the credential that the call sends. A limited channel counts the call. */
  const begin = async (channel: ChannelRow, nowMs: number, call: ClaimedCall): Promise<ChannelRow | null> => {
    const credentialIds = inTurn(channel, nowMs, { without: call.without ?? none, takesTurn: true });
    const [first] = credentialIds;
    if (first === undefined) return null;
    const isCounted = channel.isLimited && call.counted;
    const id = isCounted ? await limits.claim(channel, credentialIds, isCounted) : first;
    return id === null ? null : withCredential(channel, id);
  };
  return {
    list,
    find: async (channelId) => (await list()).channels.find(({ id }) => id === channelId) ?? null,
    async claim({ id }, call) {
      const { channels, nowMs } = await list();
      // The caller's row may be older than the cached one.
      const channel = channels.find((one) => one.id === id);
      if (!channel?.enabled || channel.notDrawn[call.modelId] !== undefined) return null;
      if (unavailableUntilMs(channel, call.modelId) > nowMs) return null;
      if (!(await breaker.claim(channel, call))) return null;
      const begun = await begin(channel, nowMs, call).catch((error: unknown) => {
        void breaker.release(channel, call.modelId);
        throw error;
      });
      if (!begun) await breaker.release(channel, call.modelId);
      return begun;
    },
    claimTripped: async (channel, call) => begin(channel, (await list()).nowMs, call),
    calls: limits,
    async drawCredential(channel, { without, drawnBefore, takesTurn }) {
      const draw = { without, takesTurn: takesTurn && !channel.isLimited };
      const ids = inTurn(channel, (await list()).nowMs, draw);
      const id = ids.find((each) => each === drawnBefore) ?? ids[0];
      return id === undefined ? null : withCredential(channel, id);
    },
    release: (channel, modelId) => breaker.release(channel, modelId),
    begin: (channel, call) => breaker.begin(channel, call),
    note: (channel, call, attempt) => breaker.note(channel, call, attempt),
    noteFreeCall: (channel, startedAt, attempt) => breaker.noteFreeCall(channel, startedAt, attempt),
    async noteModelList({ id, name }, lacking, isComplete) {
      const changed = await noteModelList(db, id, lacking, isComplete);
      if (changed.marked.length + changed.cleared.length > 0) cached.forget();
      for (const modelId of changed.marked) {
        tools.logger.error(
          { ...alarmOf('unlisted'), channel_id: id, channel: name, model: modelId },
          'a channel needs an operator',
        );
      }
      return changed;
    },
    count: (channelId, attempt) => history.count(channelId, attempt),
    forget: () => cached.forget(),
    flush: () => history.flush(),
  };
}
