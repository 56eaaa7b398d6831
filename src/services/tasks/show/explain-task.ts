import type { AttemptDetail } from '../../../db/tasks/attempt-details.ts';
import type { TaskView } from '../../../db/tasks/tasks.ts';
import type { DeliveryState } from '../../../domain/callbacks/delivery-state.ts';
import { taskErrorTable } from '../../../domain/tasks/task.ts';

type Task = Pick<
  TaskView,
  'status' | 'admission' | 'completedAt' | 'errorCode' | 'outcomeUnknown' | 'credits' | 'callback'
>;
type Call = Pick<AttemptDetail, 'channel' | 'outcome' | 'errorClass' | 'status' | 'detail'>;

/** Why a task ended as it did, what it was charged and what became of its callback, in sentences for people. */
export function explainTask(task: Task, calls: readonly Call[]): string {
  const { quoted, charged, refunded } = task.credits;
  if (task.admission === 'rejected') return 'The task was refused before any credits were held. Nothing was charged.';
  if (task.completedAt === null) return `The task is ${task.status}. Credits held for it: ${quoted}.`;
  const sentences = [
    task.errorCode === null ? 'The task succeeded.' : taskErrorTable[task.errorCode].message,
    task.errorCode === null ? null : lastCall(calls.at(-1)),
    task.outcomeUnknown ? 'The provider may have billed it.' : null,
    charged === 0
      ? `The hold of ${quoted} credits was given back, and nothing was charged.`
      : `Credits charged: ${charged} of ${quoted} held.`,
    charged > 0 && refunded > 0 ? `Credits given back later: ${refunded}.` : null,
    callbackSentence(task.callback),
  ];
  return sentences.filter((sentence) => sentence !== null).join(' ');
}

function lastCall(call: Call | undefined): string {
  if (call === undefined) return 'No provider was called.';
  const facts = [call.errorClass, call.status, call.detail].filter((fact) => fact !== null);
  return `The last call, to ${call.channel}, ended as ${call.outcome ?? 'canceled'}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}.`;
}

const callbackStates: Record<DeliveryState, string> = {
  pending: 'is not delivered yet',
  delivered: 'was delivered',
  exhausted: 'was given up',
  gone: 'was given up because its receiver answered 410',
  blocked: 'was not sent because its address is not allowed',
  replaced: 'was sent again under a new id',
};

function callbackSentence(callback: Task['callback']): string | null {
  if (callback === null) return null;
  const { state, attempts, lastStatus } = callback;
  const answer = lastStatus === null ? '' : `, the last answered with status ${lastStatus}`;
  return `The callback ${callbackStates[state]} (${attempts} ${attempts === 1 ? 'try' : 'tries'}${answer}).`;
}
