import type { ChatSettlement } from '../../../db/chat/chat-ledger.ts';
import type { Deps } from '../../../deps.ts';
import { pause } from '../../../platform/pause.ts';
import { alarmOf } from '../../../domain/operators/alarm.ts';

/** The chats of this process whose settlement was never acknowledged, so that their clients received 503 instead of an answer. */
export interface UndeliveredChats {
  /** Gives the charge back as soon as the database says whether the settlement was committed. Returns immediately. */
  giveBack(end: ChatSettlement): void;
  /** Tries once more and stops. */
  close(): Promise<void>;
}

/** Chats are not admitted without the database, so more than the chats that were running at its loss cannot come together. */
const rememberedMax = 10_000;
const retryMs = 1_000;
const concurrencyMax = 100;

/** A charge is given back once, even if several turns try it, because the adjustment is idempotent per request. */
export function createUndeliveredChats({
  chatLedger,
  logger,
  metrics,
}: Pick<Deps, 'chatLedger' | 'logger' | 'metrics'>): UndeliveredChats {
  const remembered = new Map<string, ChatSettlement>();
  const closing = new AbortController();
  let working: Promise<void> | null = null;

  const resolve = async (end: ChatSettlement): Promise<void> => {
    const credits = await chatLedger.giveBack(end);
    remembered.delete(end.requestId);
    logger.info(
      { request_id: end.requestId, credits_given_back: credits },
      'the end of a chat whose answer was not delivered is known',
    );
  };
  const turn = async (): Promise<void> => {
    const ends = [...remembered.values()];
    for (let at = 0; at < ends.length; at += concurrencyMax) {
      const results = await Promise.allSettled(ends.slice(at, at + concurrencyMax).map(resolve));
      // The database is still unavailable.
      if (results.every(({ status }) => status === 'rejected')) return;
    }
  };
  const work = async (): Promise<void> => {
    while (remembered.size > 0 && !closing.signal.aborted) {
      await pause(retryMs, closing.signal);
      await turn();
    }
    working = null;
  };

  return {
    giveBack(end) {
      metrics.chatUndelivered();
      const about = { request_id: end.requestId, credits: end.settle };
      if (remembered.size >= rememberedMax) {
        logger.error(
          { ...about, ...alarmOf('settlement_lost') },
          'the settlement of a chat was not acknowledged and is not followed up',
        );
        return;
      }
      // If this process ends first, an operator finds the request here and can give its charge back.
      logger.warn(
        { ...about, ...alarmOf('chats_undelivered') },
        'the settlement of a chat was not acknowledged: it is given back if it was committed',
      );
      remembered.set(end.requestId, { ...end, answer: null });
      working ??= work();
    },
    async close() {
      closing.abort();
      await working;
    },
  };
}
