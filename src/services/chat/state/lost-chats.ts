import { LRUCache } from 'lru-cache';
import {
  findIdempotent,
  isLostChatRunning,
  keepUndelivered,
  leaveLostChat,
  takeLostChat,
  undeliveredRoute,
  type UnkeyedRequest,
} from '../../../db/idempotency.ts';
import type { Deps } from '../../../deps.ts';
import { GatewayError } from '../../../domain/errors.ts';
import type { AuthenticatedKey } from '../../../domain/projects/authenticated-key.ts';
import { pause } from '../../../platform/pause.ts';
import { openAnswer, type StoredAnswer } from '../idempotent-chat.ts';

/** A chat without an Idempotency-Key that lost its client, with its sealed answer once there is one. */
interface LostChat {
  unkeyed: UnkeyedRequest;
  requestId: string;
  answer: string | null;
}

/**
 * The chats without an Idempotency-Key that lost their client. Clients repeat a chat after their own timeout, and would pay for each answer that
 * they did not wait for.
 */
export interface LostChats {
  /** Notes a chat of a key. Never rejects. */
  note(keyId: string, chat: () => Promise<LostChat>): Promise<void>;
  /** Whether a chat of this key may be noted. Costs nothing. */
  mayHave(key: AuthenticatedKey): boolean;
  /** The answer of an equal chat, which goes to this request alone. While one still runs, its end is awaited. Null if there is none. */
  take(unkeyed: UnkeyedRequest, left: AbortSignal): Promise<(StoredAnswer & { requestId: string }) | null>;
  /** To be called when the answer that was taken has been sent, or has lost its client as well. Never rejects. */
  leave(unkeyed: UnkeyedRequest, taken: { requestId: string; isDelivered: boolean }): Promise<void>;
  /** From now on a chat without an answer is not noted: it ends with this process. */
  stop(): void;
}

const pollMs = 1_000;
/** Longer than the caches of keys take to learn of a note. */
const noticedMs = 5_000;
const keysMax = 10_000;

export function createLostChats({
  config,
  db,
  sealer,
  logger,
}: Pick<Deps, 'config' | 'db' | 'sealer' | 'logger'>): LostChats {
  /** The last note of each key that this process has written. */
  const notes = new LRUCache<string, Promise<void>>({ max: keysMax, ttl: noticedMs });
  let isStopping = false;
  const { deadlineSeconds, streamSeconds } = config.chat;
  const write = async ({ unkeyed, requestId, answer }: LostChat): Promise<void> => {
    if (answer === null && isStopping) return;
    const runsSecondsMax = answer === null ? deadlineSeconds + streamSeconds : 0;
    await keepUndelivered(db, unkeyed, { requestId, answer, runsSecondsMax });
  };
  const leave: LostChats['leave'] = async (unkeyed, taken) => {
    await leaveLostChat(db, unkeyed, taken).catch((error: unknown) =>
      logger.warn({ err: error, request_id: taken.requestId }, 'an answer that was taken over is not marked'),
    );
  };
  return {
    note(keyId, chat) {
      const noted = chat()
        .then(write)
        .catch((error: unknown) =>
          logger.warn({ err: error, key_id: keyId }, 'a chat that lost its client was not noted'),
        );
      notes.set(keyId, noted);
      return noted;
    },
    mayHave: ({ keyId, hasLostChats }) => hasLostChats || notes.has(keyId),
    async take(unkeyed, left) {
      await notes.get(unkeyed.keyId);
      for (;;) {
        // Asked first, so that one that ends meanwhile is taken.
        const isRunning = await isLostChatRunning(db, unkeyed);
        const taken = await takeLostChat(db, unkeyed);
        if (taken) return opened(unkeyed, taken);
        if (!isRunning) return null;
        await pause(pollMs, left);
        if (left.aborted) throw new GatewayError('upstream_timeout');
      }
    },
    leave,
    stop() {
      isStopping = true;
    },
  };

  async function opened(unkeyed: UnkeyedRequest, { requestId }: { requestId: string }) {
    const request = { projectId: unkeyed.projectId, route: undeliveredRoute(unkeyed.keyId), key: requestId };
    try {
      const lost = await findIdempotent(db, request);
      if (!lost?.body) return null;
      const { credits, attempts } = lost;
      return { ...openAnswer({ sealer }, requestId, lost.body), credits: credits ?? 0, attempts, requestId };
    } catch (error) {
      await leave(unkeyed, { requestId, isDelivered: false });
      throw error;
    }
  }
}
