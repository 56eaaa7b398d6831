import {
  ChatLedger,
  firstAttemptId,
  type ChatAdmissionRequest,
  type ChatSettlement,
  type RefundFacts,
} from '../../src/db/chat/chat-ledger.ts';
import type { Database } from '../../src/db/database.ts';
import { newId, patienceMs, type Book } from './books.ts';

export const openChatLedger = (db: Database): ChatLedger => new ChatLedger(db, { membersMax: 128, patienceMs });

/** The argument of `admit` for a valid chat. */
export function anAdmission(book: Book, over: Partial<ChatAdmissionRequest> = {}): ChatAdmissionRequest {
  return {
    requestId: newId('req'),
    ...book,
    rpm: null,
    modelId: 'model-a',
    credits: 1,
    // Longer than a file takes on a slow machine: a hold that has expired breaks the books.
    holdSeconds: 3_600,
    channelId: 'chn_a',
    channelName: 'channel-a',
    idempotency: null,
    ...over,
  };
}

/** The argument of `end` for an admitted chat that is charged `credits`. */
export const settledEnd = (
  { requestId, channelId }: Pick<ChatAdmissionRequest, 'requestId' | 'channelId'>,
  credits: number,
): ChatSettlement => ({
  requestId,
  settle: credits,
  reason: null,
  channelId,
  inputTokens: 1,
  outputTokens: 1,
  usageEstimated: false,
  // An answer that cost nothing was empty.
  deliveredTokens: credits > 0 ? 1 : 0,
  costMicroUsd: 0,
  attempt: { attemptId: firstAttemptId(requestId), outcome: 'ok', errorClass: null, status: null, detail: null },
  answer: null,
});

/** What is known of an admitted chat that is refunded after its first call failed. */
export const refundFacts = ({
  requestId,
  channelId,
}: Pick<ChatAdmissionRequest, 'requestId' | 'channelId'>): RefundFacts => ({
  requestId,
  channelId,
  attempt: {
    attemptId: firstAttemptId(requestId),
    outcome: 'transient',
    errorClass: 'connect',
    status: null,
    detail: null,
  },
});
