import { LRUCache } from 'lru-cache';
import {
  claimLostChat,
  findIdempotent,
  keepUndelivered,
  UNDELIVERED_KEPT_SECONDS,
  undeliveredRoute,
  type UnkeyedRequest,
} from '../../../db/idempotency.ts';
import type { Deps } from '../../../deps.ts';
import { GatewayError } from '../../../domain/errors.ts';
import type { AuthenticatedKey } from '../../../domain/projects/authenticated-key.ts';
import { pause } from '../../../platform/pause.ts';
import { openAnswer, type StoredAnswer } from '../idempotent-chat.ts';

/**
 * The chats without an Idempotency-Key that lost their client. Clients repeat a chat after their own timeout, and would pay for each answer that
 * they did not wait for.
 */
export interface LostChats {
  /** Notes a chat, with its sealed answer once there is one. Never rejects. */
  note(unkeyed: UnkeyedRequest, chat: { requestId: string; answer: string | null }): Promise<void>;
  /** Whether a chat of this key may be noted. Costs nothing. */
  mayHave(key: AuthenticatedKey): boolean;
  /**
   * The answer of an equal chat, which goes to this request alone. If that chat still runs, its end is awaited, unless `claims`, which is called with
   * its id, returns a signal that fires. Null if there is none, or if it fails.
   */
  take(unkeyed: UnkeyedRequest, claims: (requestId: string) => AbortSignal): Promise<StoredAnswer | null>;
}

const pollMs = 500;
/** Longer than the caches of keys take to learn of a note. */
const noticedMs = 5_000;
const keysMax = 10_000;

export function createLostChats({ db, sealer, logger }: Pick<Deps, 'db' | 'sealer' | 'logger'>): LostChats {
  /** The last note of each key that this process has written. */
  const notes = new LRUCache<string, Promise<void>>({ max: keysMax, ttl: noticedMs });
  return {
    note(unkeyed, { requestId, answer }) {
      const kept = { requestId, answer, keptSeconds: UNDELIVERED_KEPT_SECONDS };
      const noted = keepUndelivered(db, unkeyed, kept).catch((error: unknown) =>
        logger.warn({ err: error, request_id: requestId }, 'a chat that lost its client could not be noted'),
      );
      notes.set(unkeyed.keyId, noted);
      return noted;
    },
    mayHave: ({ keyId, hasLostChats }) => hasLostChats || notes.has(keyId),
    async take(unkeyed, claims) {
      await notes.get(unkeyed.keyId);
      const claimed = await claimLostChat(db, unkeyed);
      if (!claimed) return null;
      const { requestId } = claimed;
      const left = claims(requestId);
      const request = { projectId: unkeyed.projectId, route: undeliveredRoute(unkeyed.keyId), key: requestId };
      for (;;) {
        const lost = await findIdempotent(db, request);
        const { body = null, credits = null, attempts = 1 } = lost ?? {};
        if (body !== null && credits !== null) {
          return { ...openAnswer({ sealer }, requestId, body), credits, attempts };
        }
        if (!lost?.running) return null;
        await pause(pollMs, left);
        if (left.aborted) throw new GatewayError('upstream_timeout');
      }
    },
  };
}
