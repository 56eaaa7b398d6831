import type { ErrorClass } from '../../domain/channels/upstream.ts';
import type { CallOutcome } from '../upstream/call-upstream.ts';
import {
  statusRows,
  reportedTrouble,
  unanswered,
  unreadable,
  type ErrorRow,
  type ReadError,
  type OutcomeVerdict,
} from '../upstream/classify-outcome.ts';
import { means, type Meaning } from '../reading/error-words.ts';
import { shapeOf } from '../reading/shape.ts';

/**
 * Reads the outcome of a call about media by the table of rules "Routing". `read` returns null for a 2xx without anything that
 * decides. Then the body is read as an error, like that of any other status, because some providers and gateways send their errors
 * with 200. Unreadable is only what is neither.
 */
export function readMediaOutcome<T>(
  outcome: CallOutcome,
  read: (json: unknown) => T | null,
  readError: ReadError,
  now: () => number = Date.now,
): OutcomeVerdict<T> {
  if (outcome.kind !== 'answered') return unanswered(outcome);
  const { status, body } = outcome;
  const isGood = status >= 200 && status < 300;
  const value = isGood && 'json' in body ? read(body.json) : null;
  if (value !== null) return { kind: 'ok', value, status };
  const own = 'json' in body ? readError(body.json, status) : null;
  if (isGood && own === null) return unreadable(outcome, 'json' in body ? shapeOf(body.json) : '');
  const errorClass = classOf(isGood ? statusByWords(own ?? []) : status, own);
  const trouble = reportedTrouble(outcome, own, errorClass, now);
  return trouble.kind === 'trouble' && means(own ?? [], 'overloaded') ? { ...trouble, lacksCapacity: true } : trouble;
}

const classOf = (status: number, own: string[] | null): ErrorClass =>
  rows.find(({ when }) => when(status, own))?.is ?? 'unreadable';

/** The status that an error in a 2xx should have had: the number in its words, or that of its meaning. */
function statusByWords(own: readonly string[]): number {
  if (means(own, 'invalid')) return 400;
  const [, number] = own.map((word) => /^(?:http_)?([45]\d\d)$/i.exec(word)).find((match) => match !== null) ?? [];
  // The provider has answered, so nothing of its answer was lost on the way.
  return number === undefined || /^(?:408|409|425)$/.test(number) ? 500 : Number(number);
}

const wordRow = (meaning: Meaning, is: ErrorClass, statusMax = 600): ErrorRow => ({
  when: (status, own) => status < statusMax && means(own, meaning),
  is,
});

/** As for chats, but a word decides only if the family's table lists it. */
const rows: readonly ErrorRow[] = [
  { when: (status) => status < 400, is: 'redirect' },
  wordRow('content_policy', 'content_policy'),
  wordRow('in_flight', 'rate_limit'),
  wordRow('account', 'account'),
  wordRow('unknown_model', 'unknown_model', 500),
  wordRow('unknown_job', 'unknown_model'),
  wordRow('overloaded', 'provider_error'),
  wordRow('rate_limit', 'rate_limit'),
  wordRow('failure', 'job_failed'),
  wordRow('no_output', 'job_failed'),
  ...statusRows(),
];
