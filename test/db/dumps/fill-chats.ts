import { sealAnswer } from '../../../src/services/chat/idempotent-chat.ts';
import type { Deps } from '../../../src/deps.ts';
import { canonicalJson } from '../../../src/domain/canonical-json.ts';
import { sha256Hex } from '../../../src/platform/crypto/hash.ts';
import { newId } from '../../../src/platform/crypto/ids.ts';
import { run, type Book } from '../books.ts';
import { anAdmission, refundFacts, settledEnd } from '../chat-books.ts';
import type { DumpedReplay, DumpedSecrets } from './dumped-secrets.ts';

/** Holds that the upgrade finds: one that has expired, and one that has not. */
const holds = { expired: 0, running: 50 * 365 * 86_400 };

/** Writes chats in each state: held, settled with a stored answer, refunded, and given back because nobody got the answer. */
export async function fillChats(
  { config, db, chatLedger, sealer }: Deps,
  book: Book,
  channel: { channelId: string; channelName: string },
): Promise<DumpedSecrets['replays']['chat']> {
  const about = { modelId: 'dump-chat-1', ...channel };
  const request: DumpedReplay = {
    path: '/api/v1/chat/completions',
    idempotencyKey: 'key-2',
    body: { model: 'dump-chat-1', messages: [{ role: 'user', content: 'hello' }] },
  };
  const idempotency = boundTo(request);
  const message = { role: 'assistant', content: 'hello', refusal: null };
  const answer = {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: 'dump-chat-1',
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: 1,
      completion_tokens: 1,
      total_tokens: 2,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  };
  const settled = anAdmission(book, { requestId: newId('req'), ...about, credits: 7, rpm: 600, idempotency });
  await chatLedger.admit(settled);
  const body = sealAnswer({ config, sealer }, settled.requestId, {
    body: JSON.stringify(answer),
    clamped: null,
    ignored: null,
  });
  await chatLedger.end({ ...settledEnd(settled, 3), costMicroUsd: 20, answer: { status: 200, body } });

  const refunded = anAdmission(book, { requestId: newId('req'), ...about, credits: 8 });
  await chatLedger.admit(refunded);
  await chatLedger.refund('upstream_failed', refundFacts(refunded));
  const estimated = anAdmission(book, { requestId: newId('req'), ...about, credits: 6 });
  await chatLedger.admit(estimated);
  await chatLedger.end({ ...settledEnd(estimated, 6), usageEstimated: true });
  const returned = anAdmission(book, {
    requestId: newId('req'),
    ...about,
    credits: 5,
    idempotency: { ...idempotency, key: 'key-4' },
  });
  await chatLedger.admit(returned);
  await chatLedger.end(settledEnd(returned, 5));
  await run(db, 'select return_chat($1)', [returned.requestId]);
  await run(db, 'select write_ledger_checkpoint(0, 5)');

  await chatLedger.admit(
    anAdmission(book, { requestId: newId('req'), ...about, credits: 9, holdSeconds: holds.expired }),
  );
  const running = { credits: 2, holdSeconds: holds.running, idempotency: { ...idempotency, key: 'key-5' } };
  await chatLedger.admit(anAdmission(book, { requestId: newId('req'), ...about, ...running }));
  return { ...request, answer };
}

/** What an Idempotency-Key is bound to, as the routes bind it, for longer than any database is upgraded. */
export const boundTo = ({ path, idempotencyKey, body }: DumpedReplay) => ({
  route: path,
  key: idempotencyKey,
  fingerprint: sha256Hex(canonicalJson({ method: 'POST', path, body })),
  keptSeconds: holds.running,
});
