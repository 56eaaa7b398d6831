import type { AttemptDetail } from '../../../db/tasks/attempt-details.ts';
import type { DeliveryState } from '../../../domain/callbacks/delivery-state.ts';
import { errorTable, type ErrorCode } from '../../../domain/errors.ts';
import { taskErrorTable } from '../../../domain/tasks/task.ts';
import type { TaskView } from '../../../domain/tasks/task-view.ts';
import type { PublicDelivery } from '../../../schemas/delivery.ts';
import type { PublicEntry } from '../../../schemas/ledger-entry.ts';

type ExplainedTask = Pick<
  TaskView,
  | 'status'
  | 'admission'
  | 'refusalCode'
  | 'completedAt'
  | 'errorCode'
  | 'outcomeUnknown'
  | 'attempts'
  | 'credits'
  | 'callback'
>;
type Call = Pick<AttemptDetail, 'channel' | 'outcome' | 'errorClass' | 'status' | 'detail'>;
type DeliveryTries = Pick<PublicDelivery, 'tries'>;

interface Recorded {
  calls: readonly Call[];
  lastDelivery: DeliveryTries | undefined;
  ledger: readonly Pick<PublicEntry, 'kind' | 'credits'>[];
}

/** Why a task ended as it did, what it was charged and what became of its last callback, in sentences for people. */
export function explainTask(task: ExplainedTask, { calls, lastDelivery, ledger }: Recorded): string {
  const { quoted, charged } = task.credits;
  if (task.admission === 'rejected') return explainRefusal(task.refusalCode);
  if (task.completedAt === null) return `The task is ${task.status}. Credits held for it: ${task.credits.reserved}.`;
  // The row of a task knows of its end only.
  const adjusted = ledger.filter(({ kind }) => kind === 'adjust').map(({ credits }) => credits);
  const sumOf = (amounts: readonly number[]): number => amounts.reduce((sum, credits) => sum + credits, 0);
  const taken = sumOf(adjusted.map((credits) => Math.max(0, -credits)));
  const returned = sumOf(adjusted) + taken;
  const sentences = [
    task.errorCode === null ? 'The task succeeded.' : taskErrorTable[task.errorCode].message,
    task.errorCode === null ? null : lastCall(task, calls.at(-1)),
    task.outcomeUnknown ? 'The provider may have billed it.' : null,
    charged === 0
      ? `The hold of ${quoted} credits was given back, and nothing was charged.`
      : `Credits charged: ${charged} of ${quoted} held.`,
    taken > 0 ? `Credits charged later, for an adopted result: ${taken}.` : null,
    returned > 0 ? `Credits given back later: ${returned}.` : null,
    callbackSentence(task.callback, lastDelivery),
  ];
  return sentences.filter((sentence) => sentence !== null).join(' ');
}

/** Why a request was refused before any credits were held. */
export const explainRefusal = (code: ErrorCode | null, end = 'refused'): string =>
  [`The request was ${end} before any credits were held: no provider was called, and nothing was charged.`]
    .concat(code === null ? [] : errorTable[code].message)
    .join(' ');

function lastCall({ attempts, outcomeUnknown }: ExplainedTask, call: Call | undefined): string {
  // Their rows are deleted after some time, and a failover may lose them.
  if (call === undefined && (attempts > 0 || outcomeUnknown)) return 'The database does not have its calls any more.';
  if (call === undefined) return 'No provider was called.';
  const facts = [call.errorClass, call.status, call.detail].filter((fact) => fact !== null);
  return `The last call, to ${call.channel}, ended as ${call.outcome ?? 'canceled'}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}.`;
}

const callbackStates: Record<DeliveryState, string> = {
  pending: 'is not delivered yet',
  delivered: 'was delivered',
  exhausted: 'was given up because all its tries failed',
  gone: 'was given up because its receiver answered 410',
  blocked: 'was not sent because its address is not allowed',
  replaced: 'was sent again under a new id',
};

function callbackSentence(callback: ExplainedTask['callback'], delivery: DeliveryTries | undefined): string | null {
  if (callback === null) return null;
  const { state, attempts, lastStatus } = callback;
  // `failed:timeout`, of a try without an answer.
  const [, failure] = delivery?.tries.at(-1)?.error?.split(':') ?? [];
  const noAnswer = failure === undefined ? '' : `, the last without an answer: ${failure.replaceAll('_', ' ')}`;
  const answer = lastStatus === null ? noAnswer : `, the last answered with status ${lastStatus}`;
  return `The callback ${callbackStates[state]} (${attempts} ${attempts === 1 ? 'try' : 'tries'}${answer}).`;
}
