import { z } from 'zod';
import type { ErrorCode } from '../domain/errors.ts';
import type { ResourceKind } from '../db/operators/resource-versions.ts';
import type { JsonObject } from '../domain/json.ts';
import type { Role } from '../domain/operators/role.ts';
import type { ListReport, Report } from './report.ts';
import type { OpenDeps, ActionDeps } from './action-deps.ts';
import { inputMessage } from './input.ts';

/** Something that an operator can do: a command of the command line and a route of the admin API. */
export interface Action {
  summary: string;
  /**
   * Inputs by their camelCase names, each with `.describe` for the help. `option` and `flag` declare an option of the command line; any
   * other schema is a positional argument there. The admin API takes the same names in snake_case.
   */
  input: Readonly<Record<string, z.ZodType>>;
  /** Inputs by their names in the admin API, for its document. Needed if an input is required. */
  example?: JsonObject;
  route: ActionRoute | LocalAction;
  /**
   * What the admin API answers, for its document and for the types of the console: the document that `--json` prints, or `listOf` a row.
   * `.meta({ id })` names a type. The compiler holds `run` to it, and the tests hold every answer to it.
   */
  answer: AnswerSchema;
  /** What the admin API answers with 202 while the action's work continues. */
  pendingAnswer?: AnswerSchema;
  /** What only the command line prints, for an input that the route cannot have. */
  localAnswer?: AnswerSchema;
  /** Why it may refuse, beside what all of its kind do: `not_found` for `UnknownToOperator`, `action_refused` for other `OperatorError`s. */
  refusals?: readonly ErrorCode[];
  /** Checks the input and returns what runs the action with it. */
  prepare: (input: Readonly<Record<string, unknown>>) => Prepared;
}

/** The action's route below the prefix of the admin API. */
export interface ActionRoute {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  /** A path-to-regexp template whose parameters are inputs. */
  path: `/${string}`;
  role: Role;
  /** Inputs that need the role `owner`, because they decide to whom a stored credential is sent. */
  ownerInput?: readonly string[];
  /** What the first parameter of the path names, if it has a version: its GET answers that as `ETag`, its changes take it as `If-Match`. */
  resource?: ResourceKind;
  /** It reads statistics that each PostgreSQL server keeps for itself, so no replica can answer it. */
  primaryOnly?: true;
}

/** Whether a GET answers a version as `ETag`, and a change takes one as `If-Match`. */
export const isVersioned = ({ input, answer }: Action, { method, resource }: ActionRoute): boolean =>
  resource !== undefined ||
  (method === 'GET' ? answer instanceof z.ZodObject && 'version' in answer.shape : 'version' in input);

/** A action that only the command line has, and why. */
export interface LocalAction {
  local: string;
}

export type Prepared = { ok: true; run: ActionRun } | { ok: false; issues: readonly z.core.$ZodIssue[] };

/** Throws `OperatorError` for a refusal. `actor` is the name in the audit log. */
export type ActionRun = (open: OpenDeps, actor: string) => Promise<Report>;

/** The schema of a JSON object. */
export type AnswerSchema = z.ZodType<object, object>;

/** A report whose document the schema describes. The schema of a list also describes what the admin API adds to the document. */
type ReportOf<Answer extends AnswerSchema> =
  z.input<Answer> extends { data: (infer Row)[]; next_cursor: string | null }
    ? ListReport<Row>
    : Report<z.input<Answer>>;

interface Definition<
  Shape extends Record<string, z.ZodType>,
  Need extends keyof ActionDeps,
  Answer extends AnswerSchema,
  Pending extends AnswerSchema,
  Local extends AnswerSchema,
> extends Omit<Action, 'prepare'> {
  input: Shape;
  answer: Answer;
  pendingAnswer?: Pending;
  localAnswer?: Local;
  needs: Need;
  run: (
    deps: ActionDeps[Need],
    input: z.output<z.ZodObject<Shape>>,
    actor: string,
  ) => Ran<Answer, Pending, Local> | Promise<Ran<Answer, Pending, Local>>;
}

type Ran<Answer extends AnswerSchema, Pending extends AnswerSchema, Local extends AnswerSchema> =
  ReportOf<Answer> | (Report<z.input<Pending>> & { pending: true }) | ReportOf<Local>;

export function action<
  Shape extends Record<string, z.ZodType>,
  Need extends keyof ActionDeps,
  Answer extends AnswerSchema,
  Pending extends AnswerSchema = z.ZodNever,
  Local extends AnswerSchema = z.ZodNever,
>({ needs, run, ...definition }: Definition<Shape, Need, Answer, Pending, Local>): Action {
  const schema = z.strictObject(definition.input);
  return {
    ...definition,
    prepare(input) {
      const parsed = schema.safeParse(input, { error: inputMessage });
      if (!parsed.success) return { ok: false, issues: parsed.error.issues };
      return { ok: true, run: async (open, actor) => run(await open(needs), parsed.data, actor) };
    },
  };
}

/** Actions, or further groups, by their names in the order of the help. */
export interface ActionGroup {
  description: string;
  entries: () => Readonly<Record<string, Action | ActionGroup>>;
}

export const group = (description: string, entries: ActionGroup['entries']): ActionGroup => ({ description, entries });

/** What the help shows for the value of an option: `<rows>` in `--limit <rows>`. */
const options = z.registry<{ placeholder: string }>();

/** An option, named like its field: `--in-flight <requests>`. It is required unless its schema is optional or has a default. */
export function option<Schema extends z.ZodType>(placeholder: string, schema: Schema): Schema {
  const own = schema.clone();
  options.add(own, { placeholder });
  return own;
}

/** An option without a value, such as `--force`. */
export const flag = () => option('', truth.default(false));

/** A query of the admin API has texts only. */
const truth = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')]);

/** The placeholder of an option; undefined for a positional argument. */
export const placeholderOf = (schema: z.ZodType): string | undefined => options.get(schema)?.placeholder;

/** What the command line reads on its own machine, so that the action gets the content: files of a catalog, a file of rules, or stdin for `-`. */
export type LocalSource = 'catalog' | 'rules' | 'stdin' | 'secret' | 'result';
const sources = z.registry<{ source: LocalSource }>();

/** An input whose value the command line replaces by what it reads from `source`. The admin API takes the content itself. */
export function readFrom<Schema extends z.ZodType>(source: LocalSource, schema: Schema): Schema {
  sources.add(schema, { source });
  return schema;
}

export const sourceOf = (schema: z.ZodType): LocalSource | undefined => sources.get(schema)?.source;
