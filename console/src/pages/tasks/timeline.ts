import type { AttemptDetail, Delivery, LedgerEntry, TaskTimeline } from '../../api/admin-types.ts';
import { credits, milliseconds, time, usd, words } from '../../ui/format.ts';
import type { Kind } from '../../ui/links.tsx';
import { deliveryColors, deliveryState, isFailedTry, tryText } from '../delivery-state.ts';

export interface Step {
  id: string;
  at: number;
  title: string;
  /** A thing that has a page, and the words of the title that name it. */
  resource?: { of: Kind; id: string; words: string };
  about: string;
  color: string;
  /** A callback that waits for its next try. */
  canSendNow?: boolean;
}

/** Everything that happened to a task, oldest first: its calls to providers, its ledger entries and its callbacks. */
export function timelineOf(task: TaskTimeline): Step[] {
  const created: Step = {
    id: 'created',
    at: task.created_at,
    title: 'Created',
    // Every hold ends with an entry.
    about:
      task.completed_at !== null && task.ledger.length === 0
        ? 'No credits were held'
        : `${credits(task.credits.quoted)} held`,
    color: 'gray',
  };
  const ended: Step[] =
    task.completed_at === null
      ? []
      : [
          {
            id: 'ended',
            at: task.completed_at,
            title: words(task.status),
            about: words(task.error_code ?? ''),
            color: task.status === 'succeeded' ? 'teal' : 'red',
          },
        ];
  const rest = [
    ...task.attempts_detail.map(attemptStep),
    ...task.ledger.map((entry) => ledgerStep(entry, task.credits)),
    ...ended,
    ...task.deliveries.flatMap((delivery) => deliverySteps(delivery, task.task_id)),
  ];
  return [created, ...rest.toSorted((a, b) => a.at - b.at)];
}

/** A call of a task or of a chat, of which only a task's may wait for its job. */
type Call = Pick<
  AttemptDetail,
  | 'n'
  | 'channel'
  | 'outcome'
  | 'took_ms'
  | 'cost_micro_usd'
  | 'cost_unknown'
  | 'status'
  | 'error_class'
  | 'detail'
  | 'started_at'
> &
  Partial<Pick<AttemptDetail, 'operation' | 'next_poll_at'>>;

export function attemptStep(attempt: Call): Step {
  const outcome = attempt.outcome ?? (attempt.next_poll_at ? 'waiting for the provider' : 'running');
  const facts = [
    attempt.took_ms === null ? null : milliseconds(attempt.took_ms),
    attempt.cost_unknown ? 'cost unknown' : attempt.cost_micro_usd > 0 ? `cost ${usd(attempt.cost_micro_usd)}` : null,
    attempt.status === null ? null : `status ${attempt.status}`,
    attempt.error_class === null ? null : words(attempt.error_class),
    attempt.detail,
    providerJobOf(attempt.operation),
  ];
  return {
    id: `attempt ${attempt.n}`,
    at: attempt.started_at,
    title: `Attempt ${attempt.n} at ${attempt.channel}: ${outcome === 'ok' ? 'succeeded' : outcome}`,
    resource: { of: 'channel', id: attempt.channel, words: attempt.channel },
    about: facts.filter(Boolean).join(' · '),
    color: outcome === 'ok' ? 'teal' : attempt.outcome === null ? 'blue' : 'orange',
  };
}

/** The id of the job at its provider. */
function providerJobOf(providerRef: AttemptDetail['operation'] | undefined): string | null {
  const id = Object.entries(providerRef ?? {}).find(([name]) => /(?:_id|^name)$/.test(name))?.[1];
  return typeof id === 'string' || typeof id === 'number' ? `job ${id}` : null;
}

const entryTitles: Record<LedgerEntry['kind'], string> = {
  settle: 'Charged',
  refund: 'Refunded',
  adjust: 'Adjusted by an operator',
  topup: 'Credits added',
  deduct: 'Credits deducted',
  expiry: 'Credits expired',
};

export const ledgerStep = (entry: LedgerEntry, { refunded }: Pick<TaskTimeline['credits'], 'refunded'>): Step => ({
  id: `entry ${entry.entry_id}`,
  at: entry.at,
  title: entryTitles[entry.kind],
  // The entry of a refund moves nothing: what was held had not left the account.
  about: [
    credits(entry.kind === 'refund' ? refunded : Math.abs(entry.credits)),
    entry.reason && words(entry.reason),
    entry.reference,
  ]
    .filter(Boolean)
    .join(' · '),
  color: 'gray',
});

function deliverySteps(delivery: Delivery, taskId: string): Step[] {
  const state = deliveryState(delivery);
  const tries = `${delivery.attempts} ${delivery.attempts === 1 ? 'try' : 'tries'}`;
  const next = delivery.next_attempt_at;
  return [
    {
      id: delivery.delivery_id,
      at: delivery.created_at,
      title: `Callback: ${words(state)}`,
      resource: { of: 'deliveries', id: taskId, words: 'Callback' },
      about: state === 'retrying' && next !== null ? `${tries}, the next one at ${time(next)}` : tries,
      color: deliveryColors[state],
      ...(state === 'retrying' && { canSendNow: true }),
    },
    ...delivery.tries.map((one) => ({
      id: `${delivery.delivery_id} ${one.n}`,
      at: one.started_at,
      title: `Callback, try ${one.n}${isFailedTry(one) ? ' failed' : ''}`,
      about: tryText(one),
      color: isFailedTry(one) ? 'red' : one.ended_at === null ? 'blue' : 'teal',
    })),
  ];
}
