import { firstAttemptId } from '../../db/chat/chat-ledger.ts';
import type { ChannelRow } from '../../db/channels/channels.ts';
import { creditRefusal } from '../ledger/credit-refusal.ts';
import type { ChatDeps, ChatInput } from './chat-input.ts';
import { giveClaimBack, type Progress } from './route-chat.ts';

/** Holds the credits and begins the first attempt. If that fails or is refused, the claimed channel is released. */
export async function admitChat(deps: ChatDeps, input: ChatInput, first: ChannelRow): Promise<Progress | 'replay'> {
  const { config } = deps;
  const modelId = input.prepared.entry.model.id;
  const attemptId = firstAttemptId(input.requestId);
  const admitting = deps.chatLedger.admit({
    requestId: input.requestId,
    projectId: input.key.projectId,
    keyId: input.key.keyId,
    rpm: input.rateCounted ? null : input.key.rpm,
    modelId,
    credits: input.prepared.credits,
    holdSeconds: config.chat.deadlineSeconds + config.chat.holdExtraSeconds,
    channelId: first.id,
    channelName: first.name,
    idempotency: input.idempotency && { ...input.idempotency, keptSeconds: config.idempotency.keptSeconds },
  });
  const { verdict, rate, retryAfterSeconds } = await admitting.catch((error: unknown) => {
    // Not awaited, because a database that failed the admission would also delay the release.
    void giveClaimBack(deps, first, { modelId, attemptId });
    throw error;
  });
  if (rate) input.onRate(rate);
  if (verdict.kind === 'admitted') return { attemptId, channelId: first.id, attempt: null };
  await giveClaimBack(deps, first, { modelId, attemptId });
  if (verdict.kind === 'replay') return 'replay';
  throw await creditRefusal(deps, {
    code: verdict.code,
    key: input.key,
    credits: input.prepared.credits,
    retryAfterSeconds: retryAfterSeconds ?? retryAfterOf(verdict.code),
  });
}

/** Seconds to wait for the end of an earlier request: the one with the same idempotency key, or any of the same API key. */
const retryAfterOf = (code: string): number | undefined =>
  code === 'idempotency_in_progress' ? 1 : code === 'concurrency_limit_exceeded' ? 5 : undefined;
