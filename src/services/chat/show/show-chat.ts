import type { PublicEntry } from '../../../schemas/ledger-entry.ts';
import { listAttemptDetails, type AttemptDetail } from '../../../db/tasks/attempt-details.ts';
import { findChat, type ChatView } from '../../../db/chat/chats.ts';
import type { Deps } from '../../../deps.ts';
import type { AttemptOutcome } from '../../../domain/channels/upstream.ts';
import { UnknownToOperator } from '../../operator-error.ts';
import { listLedgerEntries } from '../../ledger/list-ledger-entries.ts';
import { requestIdOf } from '../../../domain/requests/answer-id.ts';
import { customerSentence } from '../../../domain/requests/customer-sentence.ts';
import { explainChat } from './explain-chat.ts';

/** One call of a chat to a channel. Times are unix seconds. */
export type ChatCall = Omit<AttemptDetail, OfTasks | 'outcome'> & { outcome: AttemptOutcome | null };
/** What only the calls of tasks have. */
type OfTasks = 'code' | 'operation' | 'submittedAt' | 'nextPollAt';

export interface ShownChat {
  chat: ChatView;
  explanation: string;
  forCustomer: string;
  calls: ChatCall[];
  ledger: PublicEntry[];
}

/** More than one chat has: each adjustment is an entry. */
const ENTRIES_MAX = 100;

/**
 * One chat with its calls and its ledger entries, by the id of its request or of its answer. Throws `UnknownToOperator` if no credits were ever
 * held for the request.
 */
export async function showChat(deps: Pick<Deps, 'db'>, id: string): Promise<ShownChat> {
  const requestId = requestIdOf(id);
  const chat = await findChat(deps.db, requestId);
  if (chat === null) throw new UnknownToOperator(unknownChat(id));
  const [attempts, ledger] = await Promise.all([
    listAttemptDetails(deps.db, requestId),
    listLedgerEntries(deps, { projectId: chat.projectId, requestId }, { limit: ENTRIES_MAX, after: null }),
  ]);
  const calls = attempts.length > 0 ? attempts.map(toCall) : onlyCall(chat);
  return { chat, explanation: explainChat(chat), forCustomer: customerText(chat), calls, ledger: ledger.items };
}

const customerText = ({ requestId, modelId, outcome, creditsCharged, creditsGivenBack, ...chat }: ChatView): string =>
  customerSentence({
    ...chat,
    id: requestId,
    noun: 'chat',
    model: modelId,
    isRunning: outcome === 'running',
    charged: creditsCharged - creditsGivenBack,
  });

const unknownChat = (id: string): string =>
  id.startsWith('task_')
    ? `${id} is a task. "tollgate tasks show" shows it.`
    : `There is no chat ${id}. "tollgate requests show" shows any request by its id, also one that was refused before its credits were held; for an older one, search the logs for its id.`;

function toCall({ n, channel, outcome, ...detail }: AttemptDetail): ChatCall {
  const { code: _code, operation: _providerRef, submittedAt: _submittedAt, nextPollAt: _nextPollAt, ...call } = detail;
  return { n, channel, outcome: outcome === 'canceled' ? 'unknown' : outcome, ...call };
}

/** A first call has a row of its own only once it has failed. */
function onlyCall({ outcome, channels, costMicroUsd, unknownCosts, startedAt, endedAt, tookMs }: ChatView): ChatCall[] {
  const [channel] = channels;
  if (channel === undefined || outcome === 'refunded') return [];
  const nothing = { errorClass: null, status: null, detail: null };
  return [
    {
      n: 1,
      channel,
      outcome: outcome === 'running' ? null : 'ok',
      ...nothing,
      costMicroUsd,
      costUnknown: unknownCosts > 0,
      startedAt,
      endedAt,
      tookMs,
    },
  ];
}
