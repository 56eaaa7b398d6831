import { GatewayError, quoted } from '../errors.ts';
import type { JsonObject } from '../json.ts';

/** What a create request says about its task, not to the model, and the task shows. A further one needs no line outside of this file but its column and its schema. */
export interface TaskOptions {
  /** Null if the request has none. */
  metadata: Record<string, string> | null;
  /** After this time a task that has not ended fails. */
  deadlineSeconds: number;
  /** A dearer task is refused; null for any price. */
  maxCredits: number | null;
}

export interface CreateOptions extends TaskOptions {
  /** Only the price is asked for. */
  isDryRun: boolean;
}

/** What metadata may have at most. */
export const metadataLimits = { keysMax: 16, keyCharactersMax: 40, valueCharactersMax: 500 } as const;
const DEADLINE_SECONDS_MIN = 30;

/** The least seconds that a request may name for a type whose tasks have `max`. An operator may have set a limit below the usual least deadline. */
const deadlineMin = (max: number): number => Math.min(DEADLINE_SECONDS_MIN, max);

/** The JSON Schemas of the fields that `readTaskOptions` reads. */
export const taskOptionSchemas = (deadlineSecondsMax: number) =>
  ({
    metadata: {
      type: ['object', 'null'],
      additionalProperties: { type: 'string', maxLength: metadataLimits.valueCharactersMax },
      propertyNames: { minLength: 1, maxLength: metadataLimits.keyCharactersMax },
      maxProperties: metadataLimits.keysMax,
      description: 'Texts of your own by name. They are on the task and in its callback, and lists can filter by them.',
    },
    deadline_seconds: {
      type: ['integer', 'null'],
      minimum: deadlineMin(deadlineSecondsMax),
      maximum: deadlineSecondsMax,
      description: 'After this time a task that has not ended fails. If absent, the most.',
    },
    max_credits: {
      type: ['integer', 'null'],
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'The most that the task may cost. A dearer request is 402 `max_credits_exceeded`.',
    },
    dry_run: { type: ['boolean', 'null'], description: 'Only tell the price: nothing is created.' },
  }) satisfies JsonObject;

/** The fields of a create request that `readTaskOptions` reads. */
export const taskOptionKeys = Object.keys(taskOptionSchemas(Infinity));

/** Reads the options of a create request. Without a deadline of its own, the task has the type's limit. Throws `invalid_value`. */
export function readTaskOptions(body: Record<string, unknown>, deadlineSecondsMax: number): CreateOptions {
  return {
    metadata: readMetadata(body.metadata ?? null),
    deadlineSeconds: readDeadline(body.deadline_seconds ?? null, deadlineSecondsMax),
    maxCredits: readMaxCredits(body.max_credits ?? null),
    isDryRun: readDryRun(body.dry_run ?? false),
  };
}

/** The options alone of something that has them. */
export const optionsOf = ({ metadata, deadlineSeconds, maxCredits }: TaskOptions): TaskOptions => ({
  metadata,
  deadlineSeconds,
  maxCredits,
});

/** The options as a task shows them. */
export const presentOptions = ({ metadata, deadlineSeconds, maxCredits }: TaskOptions) => ({
  deadline_seconds: deadlineSeconds,
  max_credits: maxCredits,
  metadata: metadata ?? {},
});

function demandMember(name: string, value: unknown): asserts value is string {
  const param = `metadata.${quoted(name)}`;
  if (name === '' || charactersOf(name) > metadataLimits.keyCharactersMax) {
    throw invalid(param, `${param}: a key of metadata must have 1 to ${metadataLimits.keyCharactersMax} characters.`);
  }
  if (typeof value !== 'string') throw invalid(param, `${param} must be a string, not ${quoted(value)}.`);
  if (charactersOf(value) > metadataLimits.valueCharactersMax) {
    throw invalid(param, `${param} must have at most ${metadataLimits.valueCharactersMax} characters.`);
  }
}

/** Null for no metadata and for an empty object. Throws `invalid_value`. */
export function readMetadata(value: unknown): Record<string, string> | null {
  if (value === null) return null;
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalid('metadata', `metadata must be an object of strings, not ${quoted(value)}.`);
  }
  const entries = Object.entries(value);
  if (entries.length > metadataLimits.keysMax) {
    throw invalid('metadata', `metadata must have at most ${metadataLimits.keysMax} keys, not ${entries.length}.`);
  }
  const members = entries.map(([name, text]): [string, string] => {
    demandMember(name, text);
    return [name, text];
  });
  return members.length === 0 ? null : Object.fromEntries(members);
}

function readDeadline(value: unknown, max: number): number {
  if (value === null) return max;
  const min = deadlineMin(max);
  if (Number.isInteger(value) && Number(value) >= min && Number(value) <= max) return Number(value);
  const message = `deadline_seconds must be a whole number from ${min} to ${max}, not ${quoted(value)}.`;
  throw invalid('deadline_seconds', message);
}

function readMaxCredits(value: unknown): number | null {
  if (value === null) return null;
  if (Number.isSafeInteger(value) && Number(value) >= 1) return Number(value);
  const message = `max_credits must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}, not ${quoted(value)}.`;
  throw invalid('max_credits', message);
}

function readDryRun(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw invalid('dry_run', `dry_run must be true or false, not ${quoted(value)}.`);
}

const charactersOf = (text: string): number => [...text].length;

const invalid = (param: string, message: string): GatewayError => new GatewayError('invalid_value', { message, param });
