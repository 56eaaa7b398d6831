import { GatewayError, quoted } from './errors.ts';

/** What a create request says about its task, not to the model. */
export interface TaskOptions {
  /** Null if the request has none. */
  metadata: Record<string, string> | null;
  /** After this time a task that has not ended fails. */
  deadlineSeconds: number;
  /** A dearer task is refused; null for any price. */
  maxCredits: number | null;
  /** Only the price is asked for. */
  isDryRun: boolean;
}

/** The fields of a create request that `readTaskOptions` reads. */
export const taskOptionKeys = ['metadata', 'deadline_seconds', 'max_credits', 'dry_run'] as const;

const KEYS_MAX = 16;
const KEY_CHARACTERS_MAX = 40;
const VALUE_CHARACTERS_MAX = 500;
const DEADLINE_SECONDS_MIN = 30;

/** Reads the options of a create request. Without a deadline of its own, the task has the type's limit. Throws `invalid_value`. */
export function readTaskOptions(body: Record<string, unknown>, deadlineSecondsMax: number): TaskOptions {
  return {
    metadata: readMetadata(body.metadata ?? null),
    deadlineSeconds: readDeadline(body.deadline_seconds ?? null, deadlineSecondsMax),
    maxCredits: readMaxCredits(body.max_credits ?? null),
    isDryRun: readDryRun(body.dry_run ?? false),
  };
}

function demandMember(name: string, value: unknown): asserts value is string {
  const param = `metadata.${quoted(name)}`;
  if (name === '' || charactersOf(name) > KEY_CHARACTERS_MAX) {
    throw invalid(param, `${param}: a key of metadata must have 1 to ${KEY_CHARACTERS_MAX} characters.`);
  }
  if (typeof value !== 'string') throw invalid(param, `${param} must be a string, not ${quoted(value)}.`);
  if (charactersOf(value) > VALUE_CHARACTERS_MAX) {
    throw invalid(param, `${param} must have at most ${VALUE_CHARACTERS_MAX} characters.`);
  }
}

/** Null for no metadata and for an empty object. Throws `invalid_value`. */
export function readMetadata(value: unknown): Record<string, string> | null {
  if (value === null) return null;
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalid('metadata', `metadata must be an object of strings, not ${quoted(value)}.`);
  }
  const given = Object.entries(value);
  if (given.length > KEYS_MAX) {
    throw invalid('metadata', `metadata must have at most ${KEYS_MAX} keys, not ${given.length}.`);
  }
  const members = given.map(([name, text]): [string, string] => {
    demandMember(name, text);
    return [name, text];
  });
  return members.length === 0 ? null : Object.fromEntries(members);
}

function readDeadline(value: unknown, max: number): number {
  if (value === null) return max;
  // An operator may have set a limit below the usual least deadline.
  const min = Math.min(DEADLINE_SECONDS_MIN, max);
  if (Number.isInteger(value) && Number(value) >= min && Number(value) <= max) return Number(value);
  const message = `deadline_seconds must be a whole number from ${min} to ${max}, not ${quoted(value)}.`;
  throw invalid('deadline_seconds', message);
}

function readMaxCredits(value: unknown): number | null {
  if (value === null) return null;
  if (Number.isSafeInteger(value) && Number(value) >= 1) return Number(value);
  throw invalid('max_credits', `max_credits must be a whole number of 1 or more, not ${quoted(value)}.`);
}

function readDryRun(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw invalid('dry_run', `dry_run must be true or false, not ${quoted(value)}.`);
}

const charactersOf = (text: string): number => [...text].length;

const invalid = (param: string, message: string): GatewayError => new GatewayError('invalid_value', { message, param });
