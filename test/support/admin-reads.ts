import { z } from 'zod';
import { snakeCase } from '../../src/domain/json.ts';
import { allActions } from '../../src/admin/table.ts';
import type { Action, ActionRoute } from '../../src/admin/define-action.ts';
import { operatorHistory as history } from './operator-history.ts';

/** One call of an action that reads. */
export interface AdminRead {
  /** The words of the command, and what it asks for. */
  name: string;
  action: Action;
  route: ActionRoute;
  /** By the names of the inputs. */
  values: Readonly<Record<string, string>>;
}

const daySeconds = 86_400;
const now = Math.floor(Date.now() / 1_000);

/** What is asked for by each input: common values first. Every further value of a text matches nothing. */
const valuesByInput: Readonly<Record<string, readonly string[]>> = {
  project: [history.project, history.smallProject],
  key: [history.key, history.smallKey],
  task: [history.task(7), history.chat(1)],
  model: [history.imageModel, history.chatModel],
  channel: [history.channel],
  actor: [history.actor],
  by: [history.actor],
  action: [history.action],
  subject: [history.key],
  month: [new Date(Date.now() - 20 * daySeconds * 1_000).toISOString().slice(0, 7)],
  from: [String(now - 90 * daySeconds), String(now - daySeconds)],
  to: [String(now - daySeconds)],
  createdAfter: [String(now - 20 * daySeconds)],
  createdBefore: [String(now - 20 * daySeconds)],
  groupBy: ['day', 'model', 'project', 'key', 'channel', 'type', 'day,project,channel'],
  top: ['7'],
  // A sort by a column reads every row that matches, as far as a bound of its own.
  sort: ['newest', 'oldest'],
  tz: ['Europe/Berlin', 'Asia/Kolkata'],
  hours: ['720'],
  name: [history.plan],
  plan: [history.plan],
  minMs: ['1000'],
  minCredits: ['1'],
  q: [history.task(7), history.chat(1), history.task(7).slice(0, 20), 'project', 'sk-h', 'job'],
};

/** The value of `id`, by the route. */
const ids = (sealedProject: string): Readonly<Record<string, string>> => ({
  '/tasks/:id': history.task(7),
  '/tasks/:id/content': history.task(7),
  '/chats/:id': history.chat(1),
  '/keys/:id': history.key,
  '/requests/:id': history.chat(1),
  '/projects/:id': history.project,
  '/projects/:id/secret': sealedProject,
});

/** Inputs that change how many rows are sent, not which. */
const paging = ['limit', 'after'];

/**
 * Every action that reads, from the table itself: with its required inputs alone, then with each other input alone, and with all of them. An input
 * with a list of values is asked for each of them, one that is a text for a common value, a rare one and one that matches nothing. Throws for
 * a required input that it knows no value of. `sealedProject` was created by the gateway, so that its secrets can be decrypted.
 */
export function adminReads(sealedProject: string): AdminRead[] {
  return allActions().flatMap(({ name, action }): AdminRead[] => {
    const { route } = action;
    if ('local' in route || route.method !== 'GET') return [];
    const inputs = Object.entries(action.input).filter(([input]) => !paging.includes(input));
    const required = inputs.filter(([input, schema]) => isRequired(schema) || route.path.includes(`:${input}`));
    const base = Object.fromEntries(
      required.map(([input]) => [input, requiredValue(name, route, input, sealedProject)]),
    );
    const others = inputs.filter(([input]) => !(input in base));
    const read = (words: string, values: Record<string, string>): AdminRead => ({
      name: words === '' ? name : `${name}, ${words}`,
      action,
      route,
      values: { ...base, ...values },
    });
    const single = others.flatMap(([input, schema]) =>
      valuesOf(input, schema).map((value) => read(`${snakeCase(input)}=${shown(value)}`, { [input]: value })),
    );
    // A small project behind a large one, of each action that needs one.
    const small = 'project' in base ? [read('small project', { project: history.smallProject })] : [];
    const all = Object.fromEntries(others.map(([input, schema]) => [input, valuesOf(input, schema)[0] ?? '']));
    return [read('', {}), ...small, ...single, ...(others.length > 1 ? [read('all filters', all)] : [])];
  });
}

const isRequired = (schema: z.ZodType): boolean => !z.object({ value: schema }).safeParse({}).success;

function requiredValue(name: string, { path }: ActionRoute, input: string, sealedProject: string): string {
  const value = input === 'id' ? ids(sealedProject)[path] : valuesByInput[input]?.[0];
  if (value === undefined) throw new Error(`adminReads knows no value for the input ${input} of ${name}`);
  return value;
}

const none = 'none_such';

function valuesOf(input: string, schema: z.ZodType): readonly string[] {
  const described = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const listed = enumOf(described);
  if (listed !== undefined) return listed;
  const values = valuesByInput[input];
  if (values === undefined) return [none];
  return z.safeParse(schema, none).success ? [...values, none] : values;
}

/** The values of an enumeration, or of a flag. */
function enumOf({ enum: listed, anyOf = [] }: z.core.JSONSchema.BaseSchema): string[] | undefined {
  if (listed) return listed.map(String);
  const inner = anyOf.flatMap((one) => (typeof one === 'object' && one.enum ? one.enum.map(String) : []));
  return inner.length > 0 ? inner.filter((value) => value !== 'false') : undefined;
}

const shown = (value: string): string =>
  /^\d{9,}$/.test(value) ? `${Math.round((now - Number(value)) / daySeconds)} days ago` : value;
