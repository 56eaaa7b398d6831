import type { Config } from '../config/load-config.ts';
import {
  claimChannel,
  coolDownChannel,
  noteChannelFailure,
  noteChannelSuccess,
  raiseChannelAlarm,
  releaseChannel,
  type ChannelCall,
  type ChannelRow,
} from '../db/channels.ts';
import type { Database } from '../db/database.ts';
import { healthNoteOf, noteOutcome, type OutcomeWindow } from '../domain/channel-health.ts';
import type { Attempt, ErrorClass } from '../domain/upstream.ts';
import type { Logger } from '../platform/observe/logger.ts';
import type { Metrics } from '../platform/observe/metrics.ts';

/** The longest trip: a channel that recovered is found within five minutes, however often it was tripped. */
const trippedMaxSeconds = 300;

export interface BreakerDeps {
  db: Database;
  settings: Config['breaker'];
  logger: Logger;
  metrics: Pick<Metrics, 'alarm'>;
  /** Called after the health of a channel has changed in the database. */
  changed: () => void;
}

/**
 * The circuit breaker of each channel and model, and the cool-down of a whole channel after a 429 or an error of our account. Both
 * are rows in PostgreSQL, so that all processes agree. Only the share of failures in the last minute is counted in each process.
 */
export class CircuitBreaker {
  readonly #deps: BreakerDeps;
  /** By channel and model, with the moment the window began. Calls that began before it are not counted. */
  readonly #windows = new Map<string, OutcomeWindow & { since: number }>();

  constructor(deps: BreakerDeps) {
    this.#deps = deps;
  }

  /** Outcomes that were counted before a trip must not trip the breaker again after it. */
  restartTripped(channels: readonly ChannelRow[]): void {
    for (const { id, trippedModels } of channels) for (const modelId of trippedModels) this.#beginWindow(id, modelId);
  }

  /** Whether a call may go to the channel. While the breaker is tripped, that call is the one probe. */
  async claim({ id, trippedModels }: ChannelRow, modelId: string): Promise<boolean> {
    if (!trippedModels.includes(modelId)) return true;
    const { db, settings, changed } = this.#deps;
    const claimed = await claimChannel(db, { channelId: id, modelId, probeSeconds: settings.probeSeconds });
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

  /**
   * Records the outcome of a call that began at `startedAt` (`performance.now()`). Never rejects, because the next call reports the
   * health of the channel again.
   */
  async note(channel: ChannelRow, modelId: string, attempt: Attempt<unknown>, startedAt: number): Promise<void> {
    await this.#record(channel, modelId, attempt, startedAt).catch((error: unknown) =>
      this.#deps.logger.warn({ err: error, channel: channel.name }, "a channel's health could not be recorded"),
    );
  }

  async #record(channel: ChannelRow, modelId: string, attempt: Attempt<unknown>, startedAt: number): Promise<void> {
    const { settings } = this.#deps;
    const note = healthNoteOf(attempt);
    switch (note.kind) {
      case 'success':
        return this.#succeed(channel, modelId, startedAt);
      case 'failure':
        return this.#fail(channel, modelId, note.reason, startedAt);
      case 'rate_limit': {
        await this.release(channel, modelId);
        const seconds = Math.min(
          note.askedSeconds ?? settings.rateLimitCoolDownSeconds,
          settings.rateLimitCoolDownMaxSeconds,
        );
        return this.#coolDown(channel, seconds, 'rate_limit');
      }
      case 'account':
        await this.release(channel, modelId);
        await this.#coolDown(channel, settings.accountCoolDownSeconds, 'account');
        return this.#alarm(channel, '*', 'account');
      case 'unknown_model':
        await this.release(channel, modelId);
        return this.#alarm(channel, modelId, 'unknown_model');
      case 'neutral':
        return this.release(channel, modelId);
    }
  }

  async #succeed(channel: ChannelRow, modelId: string, startedAt: number): Promise<void> {
    this.#isMostlyFailing(channel, modelId, false, startedAt);
    const troubled = channel.troubledModels.includes(modelId) || channel.troubledModels.includes('*');
    if (troubled && (await noteChannelSuccess(this.#deps.db, callOf(channel, modelId, startedAt))))
      this.#deps.changed();
  }

  async #fail(channel: ChannelRow, modelId: string, reason: ErrorClass, startedAt: number): Promise<void> {
    const { db, settings, logger, changed } = this.#deps;
    const trip = this.#isMostlyFailing(channel, modelId, true, startedAt);
    const tripped = await noteChannelFailure(
      db,
      { ...callOf(channel, modelId, startedAt), reason, trip },
      { ...settings, trippedMaxSeconds },
    );
    changed();
    if (!tripped) return;
    logger.warn(
      { channel_id: channel.id, channel: channel.name, model: modelId, reason },
      'the circuit breaker of a channel tripped',
    );
  }

  async #coolDown({ id }: ChannelRow, seconds: number, reason: ErrorClass): Promise<void> {
    await coolDownChannel(this.#deps.db, { channelId: id, modelId: '*', seconds, reason });
    this.#deps.changed();
  }

  async #alarm({ id, name, alarms }: ChannelRow, modelId: string, alarm: ErrorClass): Promise<void> {
    const { db, logger, metrics } = this.#deps;
    if (alarms[modelId] === alarm) return;
    if (!(await raiseChannelAlarm(db, { channelId: id, modelId, alarm }))) return;
    metrics.alarm(alarm);
    logger.error(
      { alarm: true, channel_id: id, channel: name, model: modelId, reason: alarm },
      'a channel needs an operator',
    );
  }

  #isMostlyFailing({ id }: ChannelRow, modelId: string, failed: boolean, startedAt: number): boolean {
    const window = this.#windows.get(`${id} ${modelId}`) ?? this.#beginWindow(id, modelId, startedAt);
    if (startedAt < window.since) return false;
    const tooMany = noteOutcome(window, failed, performance.now());
    if (tooMany) this.#beginWindow(id, modelId);
    return tooMany;
  }

  #beginWindow(channelId: string, modelId: string, since = performance.now()) {
    const window = { outcomes: [], since };
    this.#windows.set(`${channelId} ${modelId}`, window);
    return window;
  }
}

const callOf = ({ id }: ChannelRow, modelId: string, startedAt: number): ChannelCall => ({
  channelId: id,
  modelId,
  ageSeconds: (performance.now() - startedAt) / 1000,
});
