import type { Delivery } from '../api/admin-types.ts';

type Try = Delivery['tries'][number];

/** The state of a callback in the words of the console: one that waits has been tried before or not. */
export type DeliveryWord = Exclude<Delivery['state'], 'pending'> | 'waiting' | 'retrying';

export function deliveryState({ state, attempts }: Pick<Delivery, 'state' | 'attempts'>): DeliveryWord {
  if (state !== 'pending') return state;
  return attempts > 0 ? 'retrying' : 'waiting';
}

export const deliveryColors: Record<DeliveryWord, string> = {
  waiting: 'blue',
  retrying: 'yellow',
  delivered: 'teal',
  exhausted: 'red',
  gone: 'orange',
  blocked: 'orange',
  replaced: 'gray',
};

/** Whether a try has ended without an answer of the class 2xx. */
export const isFailedTry = ({ ended_at: end, status }: Pick<Try, 'ended_at' | 'status'>): boolean =>
  end !== null && (status === null || status < 200 || status > 299);

/** What became of a try, and why. */
export function tryText({ ended_at: end, status, error }: Pick<Try, 'ended_at' | 'status' | 'error'>): string {
  if (end === null) return 'Under way';
  if (status !== null) return `The receiver answered ${status}`;
  return `The receiver did not answer${error === null ? '' : `: ${error.replace(/^\w+:/, '').replaceAll('_', ' ')}`}`;
}
