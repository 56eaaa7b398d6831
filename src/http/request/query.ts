import { z } from 'zod';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { didYouMean } from '../../domain/nearest.ts';
import { isOfAzure } from './credentials.ts';

/** The query parameters of a route by name. An empty value means absent. A record takes one parameter for each member: `metadata[order]=7`. */
export type QueryShape = Readonly<Record<string, z.ZodType>>;
export type QueryOf<Shape extends QueryShape> = { [Name in keyof Shape]: z.output<Shape[Name]> };

/** What is read of a request. */
type Queried = Readonly<{ querystring: string; originalUrl: string }>;

/** What the refused value of a parameter "is not". */
const acceptedValues = new WeakMap<z.ZodType, string>();

/** An optional parameter. A refusal says that the value is not `accepted`, unless the schema itself has the words. */
export function queryParam<Schema extends z.ZodType>(description: string, schema: Schema, accepted = 'accepted here') {
  const described = schema.optional().describe(description);
  acceptedValues.set(described, accepted);
  return described;
}

export const queryNumber = (description: string, { min = 1, max }: { min?: number; max: number }) =>
  queryParam(description, z.int().min(min).max(max), `a whole number from ${min} to ${max}`);

export const queryChoice = <const Value extends string>(description: string, values: readonly [Value, ...Value[]]) =>
  queryParam(description, values.length === 1 ? z.literal(values[0]) : z.enum(values), `one of ${values.join(', ')}`);

/** A time in whole unix seconds. Ten digits reach the year 2286. */
export const queryTime = (description: string) =>
  queryParam(description, z.int().min(0).max(9_999_999_999), 'a time in whole unix seconds');

/** Longer than the name of any model. */
const TEXT_MAX = 200;

/** A text that PostgreSQL can compare, which stores no NUL. */
export const queryText = (description: string) =>
  queryParam(
    description,
    z
      .string()
      .max(TEXT_MAX)
      .regex(/^[^\0]*$/),
    `a text of at most ${TEXT_MAX} characters without NUL`,
  );

export const queryAnyText = (description: string) => queryParam(description, z.string());

const innerSchema = (schema: z.ZodType): z.ZodType =>
  schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema;

/** Whether the parameter has members in brackets. */
export const isDeepObject = (schema: z.ZodType): boolean => innerSchema(schema) instanceof z.ZodRecord;

export const isRequired = (schema: z.ZodType): boolean => !z.object({ value: schema }).safeParse({}).success;

/**
 * Refuses a query parameter that the route does not read, and one that is sent twice. A client that relies on a parameter must learn
 * that it has no effect. With `skipsUnknown` only parameters of the route are checked. Runs after authentication, so that a request without a
 * valid key gets only its 401.
 */
export function demandSupportedQuery(
  ctx: Queried,
  supported: readonly string[],
  { skipsUnknown = false }: { skipsUnknown?: boolean } = {},
): void {
  if (ctx.querystring === '') return;
  const seen = new Set<string>();
  for (const name of new URLSearchParams(ctx.querystring).keys()) {
    const param = quoted(name);
    if (!supported.includes(name.replace(/\[.*\]$/s, '[]'))) {
      if (skipsUnknown || (name === 'api-version' && isOfAzure(ctx))) continue;
      const message = `The query parameter ${param} is not supported here.${didYouMean(name, supported)}`;
      throw new GatewayError('unsupported_parameter', { param, message });
    }
    if (seen.has(name)) {
      throw new GatewayError('invalid_value', { message: `The query parameter ${param} was sent twice.`, param });
    }
    seen.add(name);
  }
}

/** The names as `demandSupportedQuery` takes them: `metadata[]` stands for one parameter of each name in the brackets. */
export const parameterNamesIn = (shape: QueryShape): string[] =>
  Object.entries(shape).map(([name, schema]) => (isDeepObject(schema) ? `${name}[]` : name));

/** Reads the parameters of a shape. Throws `missing_parameter` or `invalid_value` for the first that is not accepted. */
export function queryReader<Shape extends QueryShape>(shape?: Shape): (ctx: Queried) => QueryOf<Shape> {
  const parameters = Object.entries(shape ?? {}).map(([name, schema]) => ({
    name,
    schema,
    isNumber: innerSchema(schema) instanceof z.ZodNumber,
    isDeep: isDeepObject(schema),
  }));
  return (ctx) => {
    const query = new URLSearchParams(ctx.querystring);
    const values = parameters.map(({ name, schema, isNumber, isDeep }) => {
      if (isDeep) return [name, membersOf(query, name)];
      return [name, valueOf(name, schema, query.get(name) || undefined, isNumber)];
    });
    return Object.fromEntries(values) as QueryOf<Shape>;
  };
}

function valueOf(name: string, schema: z.ZodType, text: string | undefined, isNumber: boolean): unknown {
  const parsed = schema.safeParse(isNumber && text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : text);
  if (parsed.success) return parsed.data;
  if (text === undefined) {
    const message = `The query parameter ${name} is required.`;
    throw new GatewayError('missing_parameter', { message, param: name });
  }
  const [issue] = parsed.error.issues;
  if (issue?.code !== 'custom') throw refusedValue(name, text, acceptedValues.get(schema) ?? 'accepted here');
  throw new GatewayError('invalid_value', { message: `${name}: ${issue.message}.`, param: name });
}

/** The values of the parameters `param[name]` by their names. Throws `invalid_value` for a name or value that PostgreSQL cannot compare. */
function membersOf(query: URLSearchParams, param: string): Record<string, string> {
  const members = [...query].filter(([name]) => name.startsWith(`${param}[`));
  for (const [name, value] of members)
    if ((name + value).includes('\0')) throw refusedValue(quoted(name), value, 'a text without NUL');
  return Object.fromEntries(members.map(([name, value]) => [name.slice(param.length + 1, -1), value]));
}

const refusedValue = (param: string, text: string, accepted: string): GatewayError =>
  new GatewayError('invalid_value', { message: `${param}: ${quoted(text)} is not ${accepted}.`, param });

/** A header of one of these forms; undefined if it is absent or empty. Throws `invalid_value` for any other value. */
export function headerText(
  ctx: { get(name: string): string },
  name: string,
  form: RegExp,
  accepted: string,
): string | undefined {
  const text = ctx.get(name);
  if (text === '' || form.test(text)) return text || undefined;
  throw refusedValue(name, text, accepted);
}
