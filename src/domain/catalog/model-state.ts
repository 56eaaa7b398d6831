import type { ModelPrivate } from './catalog.ts';

/** The usual states. Another status of the catalog than `active` is a state of its own. */
export const modelStates = ['active', 'ending', 'hidden', 'retired', 'inactive'] as const;

/** Statuses of a catalog that announce the end of a model. */
const endingWords: ReadonlySet<string> = new Set(['deprecated', 'sunset', 'ending']);

type EndOfModel = Pick<ModelPrivate, 'public' | 'retired' | 'ends_on'>;

/**
 * The state of a model as every page, command and answer names it: `retired` once it is withdrawn or its last day has passed, else `hidden`, else
 * `ending` while its end is announced by a day or by its status, and else its status.
 */
export function modelState({ status }: { status: string }, about: EndOfModel, nowMs = Date.now()): string {
  if (about.retired !== undefined || hasEnded(about, nowMs)) return 'retired';
  if (!about.public) return 'hidden';
  const isAnnounced = status === 'active' ? about.ends_on !== undefined : endingWords.has(status);
  return isAnnounced ? 'ending' : status;
}

/** Whether the first day (UTC) on which the model is not sold any more has come. */
export const hasEnded = ({ ends_on: day }: Pick<ModelPrivate, 'ends_on'>, nowMs = Date.now()): boolean =>
  day !== undefined && Date.parse(day) <= nowMs;
