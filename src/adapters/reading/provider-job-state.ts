import { asText } from './fields.ts';

/** How a job stands. `lost`: the provider does not know it. */
export type ProviderJobState = 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled' | 'lost';

/** The state that an answer names. `absent`: it names none. `unknown`: a word that the table lacks. */
export interface NamedState {
  state: ProviderJobState | 'absent' | 'unknown';
  /** The word in lower case if it is a plain word, otherwise an empty text. */
  word: string;
}

/**
 * The words with which providers name the state of a job, from the documents of all families and from what other gateways in front of
 * them send. Any word of this table ends or continues a job of every family, in upper or lower case.
 */
const words: Readonly<Record<ProviderJobState, string>> = {
  queued:
    'queued in_queue pending waiting submitted created starting throttled scheduled accepted not_started not_start',
  running:
    'running processing in_progress inprogress generating started active suspended preparing rendering uploading',
  succeeded: 'succeeded success succeed successful completed complete done finished finish',
  failed: 'failed fail failure error errored expired timeout timed_out rejected incomplete budget_exceeded',
  canceled: 'canceled cancelled cancel aborted stopped terminated',
  lost: 'not_found',
};
const states = new Map<string, ProviderJobState>(
  Object.entries(words).flatMap(([state, list]) =>
    list.split(' ').map((word) => [word, state as ProviderJobState] as const),
  ),
);

/** Reads the word of a state. `familyWords` has those that mean something else in this family, in lower case. */
export function namedState(value: unknown, familyWords: Readonly<Record<string, ProviderJobState>> = {}): NamedState {
  const word = (asText(value) ?? '').toLowerCase().replaceAll(/[\s-]+/g, '_');
  if (word === '') return { state: 'absent', word };
  const ofFamily = Object.hasOwn(familyWords, word) ? familyWords[word] : undefined;
  // Only a plain word is logged and shown.
  return { state: ofFamily ?? states.get(word) ?? 'unknown', word: /^[\w.]{1,40}$/.test(word) ? word : '' };
}

/** Whether the job will certainly not change any more. A lost one is asked for again. */
export const isFinalState = (state: NamedState['state']): boolean =>
  state === 'succeeded' || state === 'failed' || state === 'canceled';
