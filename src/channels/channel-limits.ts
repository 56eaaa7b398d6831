import {
  claimChannelCall,
  endChannelCall,
  renewChannelCalls,
  tieChannelCall,
  type CountedCall,
} from '../db/channels/channel-calls.ts';
import type { ChannelRow } from '../db/channels/channels.ts';
import type { Database } from '../db/database.ts';
import type { Logger } from '../platform/observe/logger.ts';

/** How long a killed process keeps the slots of its calls. */
const leaseSeconds = 15;
const renewalsPerLease = 3;
/** No call runs for longer. One whose end was missed must not keep its slot until the process ends. */
const callMaxMs = 3_600_000;

/**
 * Counts the calls of channels with limits. The counts are in PostgreSQL, so that they are exact over all processes; a channel without
 * limits costs nothing. This process renews its running calls, so that those of a killed one end soon.
 */
export class ChannelLimits {
  readonly #db: Database;
  readonly #logger: Pick<Logger, 'warn'>;
  /** When each call began, by `performance.now()`. */
  readonly #live = new Map<string, number>();
  /** By channel: until when it was at its limit when a call was last refused, by `performance.now()`. */
  readonly #fullUntil = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Database, logger: Pick<Logger, 'warn'>) {
    this.#db = db;
    this.#logger = logger;
  }

  /**
   * Counts a call, and returns the credential that it sends: the first of these that is not at its limit. Null if the channel or all of
   * them are. Throws if the database is unavailable.
   */
  async claim(
    { id: channelId }: ChannelRow,
    credentialIds: readonly string[],
    call: CountedCall,
  ): Promise<string | null> {
    const claimed = await claimChannelCall(this.#db, call, { channelId, credentialIds }, leaseSeconds);
    if ('retryAfterSeconds' in claimed) {
      this.#fullUntil.set(channelId, performance.now() + claimed.retryAfterSeconds * 1_000);
      return null;
    }
    this.#live.set(call.callId, performance.now());
    this.#timer ??= setInterval(() => void this.#renew(), (leaseSeconds * 1_000) / renewalsPerLease).unref();
    return claimed.credentialId;
  }

  /** The milliseconds until a channel that refused a call may take one again; null if it did not refuse one lately. */
  fullForMs(channelId: string): number | null {
    const until = this.#fullUntil.get(channelId);
    const left = until === undefined ? 0 : until - performance.now();
    return left > 0 ? left : null;
  }

  /** Ends a call that was counted; without a count it does nothing. `tokens`: what it came to, if that is known. Never rejects. */
  async end(callId: string, tokens: number | null): Promise<void> {
    await this.#end(callId, { tokens, undo: false });
  }

  /** Takes the count of a call back that was not sent. Never rejects. */
  async undo(callId: string): Promise<void> {
    await this.#end(callId, { tokens: null, undo: true });
  }

  /** From now on the call runs until this attempt has an outcome. */
  async tie(callId: string, attemptId: string): Promise<void> {
    await tieChannelCall(this.#db, callId, attemptId);
    this.#live.delete(callId);
  }

  async #end(callId: string, how: { tokens: number | null; undo: boolean }): Promise<void> {
    if (!this.#live.delete(callId)) return;
    try {
      await endChannelCall(this.#db, callId, how);
    } catch (error) {
      // It expires soon.
      this.#logger.warn({ err: error }, 'the end of a call was not counted');
    }
  }

  async #renew(): Promise<void> {
    for (const [callId, since] of this.#live) if (performance.now() - since > callMaxMs) this.#live.delete(callId);
    if (this.#live.size === 0) return;
    try {
      await renewChannelCalls(this.#db, [...this.#live.keys()], leaseSeconds);
    } catch (error) {
      this.#logger.warn({ err: error, calls: this.#live.size }, 'the running calls of channels could not be renewed');
    }
  }
}
