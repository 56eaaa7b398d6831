import { LRUCache } from 'lru-cache';
import type { Config } from '../config/load-config.ts';
import {
  claimChannel,
  coolDownChannel,
  endFreeCallFailures,
  noteChannelFailure,
  noteChannelSuccess,
  raiseChannelAlarm,
  releaseChannel,
  type ChannelCall,
  type ChannelRow,
} from '../db/channels/channels.ts';
import { coolDownCredential, setCredentialAlarm } from '../db/channels/channel-credentials.ts';
import { noteMappingSuccess } from '../db/channels/channel-mappings.ts';
import type { Database } from '../db/database.ts';
import {
  freeCallNoteOf,
  healthNoteOf,
  noteOutcome,
  type HealthNote,
  type OutcomeWindow,
} from '../domain/channels/channel-health.ts';
import type { Attempt, ErrorClass } from '../domain/channels/upstream.ts';
import { alarmOf, type AlarmName } from '../domain/operators/alarm.ts';
import type { Logger } from '../platform/observe/logger.ts';
import { ChannelCorroboration, type UseOutcome } from './channel-corroboration.ts';

/** The longest trip: a channel that recovered is found within five minutes, however often it was tripped. */
const trippedMaxSeconds = 300;

/** An answer of the free call is kept for this long, so that a flood of 403s makes few free calls. */
const probeKeptMs = 10_000;
const probesMax = 1_000;

/** A success of a mapping is written again after this time, which is short beside the day for which it counts. */
const successKeptMs = 3_600_000;
const successesMax = 10_000;

export interface BreakerDeps {
  db: Database;
  settings: Config['breaker'];
  logger: Logger;
  /** The channel's free call (`channels test`); null if its family has none. It may throw. */
  probe: (channel: ChannelRow) => Promise<Attempt<true> | null>;
  /** Called after the health of a channel has changed in the database. */
  changed: () => void;
}

/** One call of a channel, as its outcome is noted. */
export interface NotedCall {
  modelId: string;
  projectId: string;
  /** By `performance.now()`. */
  startedAt: number;
}

/**
 * The circuit breaker of each channel and model, and the cool-down after a 429 or an error of our account: of the credential that was sent, or
 * of the whole channel if it has no other. Both are rows in PostgreSQL, so that all processes agree. Only the share of failures in the last
 * minute is counted in each process.
 */
export class CircuitBreaker {
  readonly #deps: BreakerDeps;
  /** By channel and model, with the moment the window began. Calls that began before it are not counted. */
  readonly #windows = new Map<string, OutcomeWindow & { since: number }>();
  /** The channels and models that were tripped when they were last listed. */
  #tripped: ReadonlySet<string> = new Set();
  readonly #corroboration: ChannelCorroboration;
  /** By credential: whether the free call showed that the provider refuses our account. */
  readonly #refused = new LRUCache<string, { at: number; isRefused: Promise<boolean> }>({ max: probesMax });

  /** By channel and model: when the last success was written down. */
  readonly #succeededAt = new LRUCache<string, number>({ max: successesMax });

  constructor(deps: BreakerDeps) {
    this.#deps = deps;
    this.#corroboration = new ChannelCorroboration(deps.db);
  }

  /**
   * Outcomes that were counted before a trip, or during it, must not trip the breaker again after it. Each trip and each recovery begins the
   * window once: the probes of a trip begin later, and their outcomes count.
   */
  restartTripped(channels: readonly ChannelRow[]): void {
    const tripped = new Set(
      channels.flatMap(({ id, trippedModels }) => trippedModels.map((model) => `${id} ${model}`)),
    );
    for (const key of [...tripped, ...this.#tripped])
      if (tripped.has(key) !== this.#tripped.has(key)) this.#beginWindow(key);
    this.#tripped = tripped;
  }

  /** Whether a call of this project may go to the channel. While the breaker is tripped, that call is the one probe. */
  async claim(
    { id, trippedModels }: ChannelRow,
    { modelId, projectId }: Pick<NotedCall, 'modelId' | 'projectId'>,
  ): Promise<boolean> {
    if (!trippedModels.includes(modelId)) return true;
    const { db, settings, changed } = this.#deps;
    const claimed = await claimChannel(db, { channelId: id, modelId, projectId }, settings.probeSeconds);
    changed();
    return claimed;
  }

  /** Ends a claim without an outcome. Never rejects, because a claim expires by itself. */
  async release({ id, name, trippedModels }: ChannelRow, modelId: string): Promise<void> {
    if (!trippedModels.includes(modelId)) return;
    try {
      await releaseChannel(this.#deps.db, { channelId: id, modelId });
      this.#deps.changed();
    } catch (error) {
      this.#deps.logger.warn(
        { err: error, channel: name, model: modelId },
        'the probe of a channel could not be released',
      );
    }
  }

  /** Notes that a project's call begins, so that another project is not taken for the only one. Never rejects: `note` repeats it. */
  async begin(channel: ChannelRow, call: NotedCall): Promise<void> {
    await this.#use(channel, call, 'neutral').catch(() => undefined);
  }

  /**
   * Records the outcome of a call. After a 403 without a reason this waits for the channel's free call. Never rejects, because the
   * next call reports the health of the channel again.
   */
  async note(channel: ChannelRow, call: NotedCall, attempt: Attempt<unknown>): Promise<void> {
    try {
      const note = healthNoteOf(attempt);
      await this.#record(
        channel,
        call,
        note.kind === 'doubtful' ? await this.#decide(channel, call, note.reason) : note,
      );
      if (note.kind !== 'doubtful' && note.kind !== 'unknown_model') {
        await this.#use(channel, call, note.kind === 'success' ? 'ok' : 'neutral');
      }
    } catch (error) {
      this.#deps.logger.warn({ err: error, channel: channel.name }, "a channel's health could not be recorded");
    }
  }

  /**
   * Records the answer to a channel's free call for all of its models. A refused account cools the channel down. A failure counts as one of a
   * call, until a call of a client succeeds; a provider that cannot be reached trips it. A success ends what earlier free calls began.
   */
  async noteFreeCall(channel: ChannelRow, startedAt: number, attempt: Attempt<unknown>): Promise<void> {
    const note = freeCallNoteOf(attempt);
    if (note.kind === 'success' && (await endFreeCallFailures(this.#deps.db, channel.id))) this.#deps.changed();
    if (note.kind === 'failure') await this.#countFailure(channel, { modelId: '*', startedAt, ...note });
    if (note.kind === 'account') await this.#refuseAccount(channel);
  }

  /** Asks the channel's free call and the other projects whether a failure is the channel's own. */
  async #decide(channel: ChannelRow, call: NotedCall, reason: ErrorClass): Promise<CertainNote> {
    if (reason === 'forbidden' && (await this.#isAccountRefused(channel))) return { kind: 'account' };
    // Calls that were running at a trip say nothing about the time after it.
    const isLate = call.startedAt < (this.#windows.get(`${channel.id} ${call.modelId}`)?.since ?? -Infinity);
    const counts = await this.#use(channel, call, isLate ? 'neutral' : 'failed');
    return counts ? { kind: 'failure', reason } : { kind: 'neutral' };
  }

  #use({ id: channelId }: ChannelRow, { modelId, projectId }: NotedCall, outcome: UseOutcome): Promise<boolean> {
    return this.#corroboration.note({ channelId, modelId, projectId }, outcome);
  }

  async #record(channel: ChannelRow, call: NotedCall, note: CertainNote): Promise<void> {
    const { settings } = this.#deps;
    const { modelId, startedAt } = call;
    switch (note.kind) {
      case 'success':
        return this.#succeed(channel, modelId, startedAt);
      case 'failure':
        return this.#fail(channel, modelId, note.reason, startedAt);
      case 'rate_limit': {
        await this.release(channel, modelId);
        const seconds = Math.min(
          note.requestedSeconds ?? settings.rateLimitCoolDownSeconds,
          settings.rateLimitCoolDownMaxSeconds,
        );
        return this.#coolDownAccount(channel, seconds, 'rate_limit');
      }
      case 'account':
        await this.release(channel, modelId);
        return this.#refuseAccount(channel);
      case 'unknown_model':
        await this.release(channel, modelId);
        // Not drawn for this model. One project's requests alone must not take the model from the others.
        if (await this.#use(channel, call, 'failed')) {
          await this.#coolDown(channel, settings.accountCoolDownSeconds, 'unknown_model', modelId);
        }
        return this.#alarm(channel, modelId, 'unknown_model');
      case 'neutral':
        return this.release(channel, modelId);
    }
  }

  async #succeed(channel: ChannelRow, modelId: string, startedAt: number): Promise<void> {
    this.#isMostlyFailing(channel, modelId, false, startedAt);
    const { id: credentialId, alarm } = channel.credential;
    if (alarm !== null && (await setCredentialAlarm(this.#deps.db, { credentialId, alarm: null })))
      this.#deps.changed();
    const troubled = channel.troubledModels.includes(modelId) || channel.troubledModels.includes('*');
    if (troubled && (await noteChannelSuccess(this.#deps.db, callOf(channel, modelId, startedAt))))
      this.#deps.changed();
    await this.#noteSuccess(channel, modelId);
  }

  /** A mapping that works is drawn even if the provider's list lacks its model. */
  async #noteSuccess({ id: channelId, notDrawn }: ChannelRow, modelId: string): Promise<void> {
    const key = `${channelId} ${modelId}`;
    const now = performance.now();
    const isMarked = notDrawn[modelId] !== undefined;
    if (!isMarked && now - (this.#succeededAt.get(key) ?? -Infinity) < successKeptMs) return;
    this.#succeededAt.set(key, now);
    try {
      await noteMappingSuccess(this.#deps.db, { channelId, modelId });
    } catch (error) {
      this.#succeededAt.delete(key);
      throw error;
    }
    if (isMarked) this.#deps.changed();
  }

  async #fail(channel: ChannelRow, modelId: string, reason: ErrorClass, startedAt: number): Promise<void> {
    const trip = this.#isMostlyFailing(channel, modelId, true, startedAt);
    const tripped = await this.#countFailure(channel, { modelId, startedAt, reason, trip });
    // The free call did not explain it, so the account may lack the right to this model.
    if (tripped && reason === 'forbidden') await this.#alarm(channel, modelId, reason);
  }

  /** Writes a failure of a call down; true if it tripped the breaker. */
  async #countFailure(
    channel: ChannelRow,
    { modelId, startedAt, reason, trip }: { modelId: string; startedAt: number; reason: ErrorClass; trip: boolean },
  ): Promise<boolean> {
    const { db, settings, logger, changed } = this.#deps;
    const tripped = await noteChannelFailure(
      db,
      { ...callOf(channel, modelId, startedAt), reason, trip },
      { ...settings, trippedMaxSeconds },
    );
    changed();
    if (tripped) {
      logger.warn(
        { channel_id: channel.id, channel: channel.name, model: modelId, reason },
        'the circuit breaker of a channel tripped',
      );
    }
    return tripped;
  }

  /** The provider refuses the account: the credential that was sent cools down, or the channel if it has no other. */
  async #refuseAccount(channel: ChannelRow): Promise<void> {
    await this.#coolDownAccount(channel, this.#deps.settings.accountCoolDownSeconds, 'account');
    if (channel.credentials.length === 1) return this.#alarm(channel, '*', 'account');
    const { db, logger } = this.#deps;
    const { id: credentialId, last4 } = channel.credential;
    if (!(await setCredentialAlarm(db, { credentialId, alarm: 'account' }))) return;
    logger.error(
      { ...alarmOf('account'), channel_id: channel.id, channel: channel.name, model: '*', credential: last4 },
      'a channel needs an operator',
    );
  }

  async #coolDownAccount(channel: ChannelRow, seconds: number, reason: ErrorClass): Promise<void> {
    if (channel.credentials.length === 1) return this.#coolDown(channel, seconds, reason);
    const { id: credentialId } = channel.credential;
    await coolDownCredential(this.#deps.db, { channelId: channel.id, credentialId, seconds, reason });
    this.#deps.changed();
  }

  async #coolDown({ id }: ChannelRow, seconds: number, reason: ErrorClass, modelId = '*'): Promise<void> {
    await coolDownChannel(this.#deps.db, { channelId: id, modelId, seconds, reason });
    this.#deps.changed();
  }

  async #alarm({ id, name, alarms }: ChannelRow, modelId: string, alarm: AlarmName): Promise<void> {
    const { db, logger } = this.#deps;
    if (alarms[modelId] === alarm) return;
    if (!(await raiseChannelAlarm(db, { channelId: id, modelId, alarm }))) return;
    logger.error({ ...alarmOf(alarm), channel_id: id, channel: name, model: modelId }, 'a channel needs an operator');
  }

  /** Whether the free call shows that the provider refuses our account. Any other answer does not show it. */
  #isAccountRefused(channel: ChannelRow): Promise<boolean> {
    const cached = this.#refused.get(channel.credential.id);
    if (cached && performance.now() - cached.at < probeKeptMs) return cached.isRefused;
    const isRefused = this.#deps.probe(channel).then(
      (answer) => {
        const refused = answer?.kind !== 'ok' && ['account', 'forbidden'].includes(answer?.errorClass ?? '');
        // The credential cools down now. After that, the account may be in order again.
        if (refused) this.#refused.delete(channel.credential.id);
        return refused;
      },
      (error: unknown) => {
        this.#deps.logger.warn({ err: error, channel: channel.name }, 'the free call of a channel could not be made');
        return false;
      },
    );
    this.#refused.set(channel.credential.id, { at: performance.now(), isRefused });
    return isRefused;
  }

  #isMostlyFailing({ id }: ChannelRow, modelId: string, failed: boolean, startedAt: number): boolean {
    const key = `${id} ${modelId}`;
    const window = this.#windows.get(key) ?? this.#beginWindow(key, startedAt);
    if (startedAt < window.since) return false;
    const tooMany = noteOutcome(window, failed, performance.now());
    if (tooMany) this.#beginWindow(key);
    return tooMany;
  }

  #beginWindow(key: string, since = performance.now()) {
    const window = { outcomes: [], since };
    this.#windows.set(key, window);
    return window;
  }
}

type CertainNote = Exclude<HealthNote, { kind: 'doubtful' }>;

const callOf = ({ id }: ChannelRow, modelId: string, startedAt: number): ChannelCall => ({
  channelId: id,
  modelId,
  ageSeconds: (performance.now() - startedAt) / 1000,
});
