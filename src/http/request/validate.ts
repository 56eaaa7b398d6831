import { z } from 'zod';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { snakeCase, type JsonValue } from '../../domain/json.ts';

/**
 * Returns the body as the schema's type. Throws the first error as a `GatewayError` whose `param` is the dotted path of the field:
 * `missing_parameter` if the field is absent, `unsupported_parameter` if the schema has no such field, else `invalid_value`.
 */
export function validate<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  if (!issue) throw new GatewayError('invalid_value');
  throw issueRefusal(deepest(issue), body);
}

/**
 * An array of `item`, checked up to the first item that is not accepted. `z.array` would list the errors of all items: 4 MB of
 * zeros would be two million errors, of which the client sees one.
 */
export function arrayOf<Item extends z.ZodType>(item: Item, { min = 0, max }: { min?: number; max: number }) {
  const list = z.array(z.unknown()).min(min).max(max);
  items.set(list, item);
  return list.transform((values, context): z.output<Item>[] => {
    const parsedItems: z.output<Item>[] = [];
    for (const [index, value] of values.entries()) {
      const parsed = item.safeParse(value);
      if (!parsed.success) {
        const [first] = parsed.error.issues;
        const issue = { ...first, input: value, path: [index, ...(first?.path ?? [])] };
        context.issues.push(issue as z.core.$ZodRawIssue);
        return z.NEVER;
      }
      parsedItems.push(parsed.data);
    }
    return parsedItems;
  });
}

const items = new WeakMap<z.core.$ZodType, z.ZodType>();

/** The schema of each item of a list that `listOf` made, for those who describe a body. zod itself knows only the list. */
export const itemOf = (list: z.core.$ZodType): z.ZodType | undefined => items.get(list);

/**
 * A value that one of several schemas describes, which `choose` finds by looking at the value. Only that schema is asked, so that the error names a
 * field of the kind of value that the client meant. `documented` are those that a description of the body lists.
 */
export function chosenBy<Chosen extends z.ZodType>(
  choose: (value: unknown) => Chosen,
  documented: readonly z.ZodType[] = [],
) {
  const any = z.unknown();
  choices.set(any, choose);
  documentedChoices.set(any, documented);
  return any.transform((value, context): z.output<Chosen> => {
    const parsed = choose(value).safeParse(value);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    context.issues.push({ ...issue, input: value } as z.core.$ZodRawIssue);
    return z.NEVER;
  });
}

const choices = new WeakMap<z.core.$ZodType, (value: unknown) => z.ZodType>();

const documentedChoices = new WeakMap<z.core.$ZodType, readonly z.ZodType[]>();

/** The schemas that a description of a `chosenBy` lists; none for any other schema. */
export const documentedOf = (schema: z.core.$ZodType): readonly z.ZodType[] => documentedChoices.get(schema) ?? [];

/** The schema that `chosenBy` would ask about this value; undefined for any other schema. */
export const variantOf = (schema: z.core.$ZodType, value: unknown): z.ZodType | undefined =>
  choices.get(schema)?.(value);

/** The `type` of an object, by which `chosenBy` can choose; undefined for any other value. */
export const typeIn = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined;

/** Any JSON. A body was parsed from JSON, so a second check of each of its values would only cost time. */
export const anyJson = z.custom<JsonValue>((value) => value !== undefined);

type Issue = z.core.$ZodIssue;

function issueRefusal(issue: Issue, body: unknown): GatewayError {
  if (issue.code === 'unrecognized_keys') {
    const param = dotted([...issue.path, issue.keys[0] ?? '']);
    return new GatewayError('unsupported_parameter', { param, message: `The field ${param} is not supported here.` });
  }
  const param = dotted(issue.path);
  if (param === undefined) return new GatewayError('invalid_value', { message: issue.message });
  if (issue.code !== 'custom' && at(body, issue.path) === undefined) {
    return new GatewayError('missing_parameter', { param, message: `The field ${param} is required.` });
  }
  return new GatewayError('invalid_value', {
    param,
    message: `${param}: ${issue.message}${notThis(at(body, issue.path))}`,
  });
}

/** Of a union's branches, the one that got furthest describes the error best. zod itself only says "invalid input". */
function deepest(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue;
  const inner = issue.errors.flatMap(([first]) => (first ? [first] : []));
  const [best] = inner.sort((left, right) => right.path.length - left.path.length);
  return best && best.path.length > 0 ? deepest({ ...best, path: [...issue.path, ...best.path] }) : issue;
}

const dotted = (path: readonly PropertyKey[]): string | undefined =>
  path.length === 0 ? undefined : quoted(path.map(String).join('.'));

/** The refused value, if it is short enough to say. */
const notThis = (value: unknown): string =>
  typeof value === 'object' || value === undefined ? '' : `, not ${quoted(JSON.stringify(value))}`;

/** The refused value. Google's clients may send a field under its snake_case name. */
const at = (body: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null
        ? (Reflect.get(value, key) ?? Reflect.get(value, snakeCase(String(key))))
        : undefined,
    body,
  );
