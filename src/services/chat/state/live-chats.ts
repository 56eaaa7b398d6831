import { renewHolds } from '../../../db/chat/renew-holds.ts';
import type { Deps } from '../../../deps.ts';

/** The chats of this process whose answer may take minutes. */
export interface LiveChats {
  /**
   * Keeps the hold of a chat from expiring until `remove` is called. `interrupt` is called once if the process stops before the answer
   * has ended.
   */
  add(requestId: string, interrupt: () => void): { remove(): void };
  /** Interrupts every chat. */
  interrupt(): void;
  close(): void;
}

/** Several times within the life of a hold, so that one failed renewal loses none. */
const RENEWALS_PER_HOLD = 4;

/** Renews the holds of all its chats in one statement, so that a refund by expiry means that the process is gone. */
export function createLiveChats({ db, config, logger }: Pick<Deps, 'db' | 'config' | 'logger'>): LiveChats {
  const { deadlineSeconds, holdExtraSeconds } = config.chat;
  const holdSeconds = deadlineSeconds + holdExtraSeconds;
  const live = new Map<string, () => void>();
  const timer = setInterval(
    () => {
      if (live.size === 0) return;
      renewHolds(db, [...live.keys()], holdSeconds).catch((error: unknown) =>
        logger.warn({ err: error, chats: live.size }, 'the holds of running chats could not be renewed'),
      );
    },
    (holdSeconds * 1_000) / RENEWALS_PER_HOLD,
  ).unref();
  return {
    add(requestId, interrupt) {
      live.set(requestId, interrupt);
      return { remove: () => void live.delete(requestId) };
    },
    interrupt() {
      for (const interrupt of live.values()) interrupt();
    },
    close: () => clearInterval(timer),
  };
}
