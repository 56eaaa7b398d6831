import { z } from 'zod';
import { splitWords } from '../config/setting.ts';
import { plainMessage } from '../domain/plain-message.ts';
import { readMetadata } from '../domain/tasks/task-options.ts';
import { scopes } from '../domain/projects/scope.ts';
import { toCidr } from '../platform/egress/public-address.ts';

/** The message of an input's schema that has none of its own. A union has that of its last branch: those before it take words that mean none. */
export const inputMessage: z.core.$ZodErrorMap = (issue) => {
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
  if (issue.code === 'invalid_union') return issue.errors.at(-1)?.[0]?.message;
  if (issue.code !== 'invalid_type') return undefined;
  return issue.expected === 'string' ? 'must be a text' : `must be of type ${issue.expected}`;
};

/**
 * Values of inputs: as text, which the command line has, or as JSON of the admin API. Each message continues the sentence that begins
 * with the name of the input.
 */
export const text = () => z.string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a text') });

/** A text that is not empty, taken as it is, such as a path or a secret. A path may be longer than a name. */
export const rawText = text().min(1, 'must not be empty');

const NAME_MAX = 200;

/** A name or a reference. */
export const shortText = text()
  .trim()
  .min(1, 'must not be empty')
  .max(NAME_MAX, `must have at most ${NAME_MAX} characters`);

/** A whole number, as text in plain digits. */
export function intFrom(min = 1, max = Number.MAX_SAFE_INTEGER) {
  const rule = `must be a whole number from ${min} to ${max}`;
  return z
    .union([z.string(), z.number()], { error: ({ input }) => (input === undefined ? 'is required' : rule) })
    .transform((input) => (typeof input === 'number' || /^\d{1,16}$/.test(input) ? Number(input) : NaN))
    .refine((value) => Number.isSafeInteger(value) && value >= min && value <= max, { message: rule });
}

/** The range of a PostgreSQL `int` column. */
export const smallCount = intFrom(1, 2_147_483_647);

/** Absent; `none` or null, which removes a limit; or a value of `schema`. */
export const cleared = <T>(schema: z.ZodType<T>) =>
  z.union([z.literal(['none', null]).transform(() => null), schema]).exactOptional();

/** `a,b,c` or a list, without duplicates. */
export const nameList = z
  .union([z.string(), z.array(z.string())], 'must be names')
  .transform((input) => [...new Set(typeof input === 'string' ? splitWords(input) : input)])
  .refine((items) => items.length > 0, 'must name at least one')
  .refine((items) => items.every((item) => item.length <= NAME_MAX), `must be names of at most ${NAME_MAX} characters`);

const thresholdRule = 'must be credits from 1 on or percents from 1% to 100%, such as 20%,5000000, at most 10';

/** `20%,5000000`: credits, or percents of something. */
export const thresholds = z
  .union([z.string(), z.number(), z.array(z.union([z.string(), z.number()]))], thresholdRule)
  .transform((input) => [...new Set((Array.isArray(input) ? input : splitWords(String(input))).map(String))])
  .refine((items) => items.length > 0 && items.length <= 10 && items.every(isThreshold), thresholdRule);

function isThreshold(text: string): boolean {
  if (/^[1-9]\d?%$|^100%$/.test(text)) return true;
  return /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text));
}

/** `a@example.com,b@example.com` */
export const mailAddresses = nameList.pipe(
  z.array(z.email('must be mail addresses such as a@example.com')).max(10, 'must be at most 10 addresses'),
);

/** `chat,read` */
export const scopeNames = nameList.pipe(z.array(z.enum(scopes, `must be some of ${scopes.join(', ')}`)));

/** `203.0.113.0/24,2001:db8::1`: ranges or single addresses. */
export const ipRanges = nameList.pipe(
  z.array(
    z.string().transform((text, context) => {
      const range = toCidr(text);
      if (range !== null) return range;
      context.addIssue({ code: 'custom', message: 'must be addresses or ranges such as 203.0.113.0/24,2001:db8::1' });
      return z.NEVER;
    }),
  ),
);

/** `team=ads,env=test`, or an object of texts, with the limits of a task's metadata. */
export const metadataPairs = z
  .union([z.string(), z.record(z.string(), z.unknown())], 'must be pairs such as team=ads')
  .transform((input, context): Record<string, string> => {
    try {
      return readMetadata(typeof input === 'string' ? readPairs(input) : input) ?? {};
    } catch (error) {
      context.addIssue({ code: 'custom', message: `is refused: ${plainMessage(error).replace(/\.$/, '')}` });
      return z.NEVER;
    }
  });

const readPairs = (text: string): unknown =>
  text.startsWith('{') ? JSON.parse(text) : Object.fromEntries(splitWords(text).map(toPair));

/** Without an equals sign there is no value, which is refused. */
function toPair(text: string): [name: string, value: string | null] {
  const at = text.indexOf('=');
  return at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
}

const momentRule = 'must be a time such as 2030-01-31, 2030-01-31T12:00:00Z, 12h or 30d';

/** A time as text or unix seconds. A span is counted from now in this direction. */
const momentIn = (direction: 1 | -1) =>
  z.union([z.string(), z.int()], momentRule).transform((input, context) => {
    const at = readMoment(String(input).trim(), direction);
    // PostgreSQL and JavaScript accept later times, but no expiry needs them.
    if (at !== null && at >= 0 && at <= Date.UTC(9999, 0, 1)) return new Date(at);
    context.addIssue({ code: 'custom', message: momentRule });
    return z.NEVER;
  });

/** A time: ISO 8601 with its zone, a date (its first second, UTC), unix seconds, or a span from now such as `90s`, `15m`, `12h`, `30d`. */
export const moment = momentIn(1);

/** The same, but a span is how long ago the time was. */
export const pastMoment = momentIn(-1);

const spanRule = 'must be a span from 1m to 30d, such as 90m or 2h';

/** A span such as `15m`, `12h` or `30d`, in seconds. */
export const span = z
  .string({ error: ({ input }) => (input === undefined ? 'is required' : spanRule) })
  .transform((input) => (readSpan(input.trim()) ?? NaN) / 1_000)
  .refine((seconds) => seconds >= 60 && seconds <= 30 * 86_400, { message: spanRule });

/** Whole unix seconds, as SQL takes them. */
export const unixSecondsOf = (at: Date | undefined): number | undefined =>
  at === undefined ? undefined : Math.floor(at.getTime() / 1_000);

function readMoment(text: string, direction: 1 | -1): number | null {
  const span = readSpan(text);
  if (span !== null) return Date.now() + direction * span;
  if (/^\d{9,11}$/.test(text)) return Number(text) * 1000;
  const iso = z.union([z.iso.date(), z.iso.datetime({ offset: true })]).safeParse(text);
  return iso.success ? Date.parse(iso.data) : null;
}

function readSpan(text: string): number | null {
  const parts = /^(\d{1,6})([smhd])$/.exec(text);
  return parts && Number(parts[1]) * (unitMs[parts[2] ?? ''] ?? NaN);
}

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `on` or `off`, or a boolean. */
export const onOff = z
  .union([z.boolean(), z.enum(['on', 'off'])], 'must be on or off')
  .transform((value) => value === true || value === 'on');
