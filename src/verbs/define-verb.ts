import { z } from 'zod';
import type { Role } from '../domain/role.ts';
import type { Report } from './report.ts';
import type { OpenDeps, VerbDeps } from './verb-deps.ts';

/** Something that an operator can do: a command of the command line and a route of the admin API. */
export interface Verb {
  summary: string;
  /**
   * Inputs by their camelCase names, each with `.describe` for the help. `option` and `flag` declare an option of the command line; any
   * other schema is a positional argument there. The admin API takes the same names in snake_case.
   */
  input: Readonly<Record<string, z.ZodType>>;
  route: VerbRoute | LocalVerb;
  /** Checks the input and returns what runs the verb with it. */
  prepare: (given: Readonly<Record<string, unknown>>) => Prepared;
}

/** The verb's route below the prefix of the admin API. */
export interface VerbRoute {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  /** A path-to-regexp template whose parameters are inputs. */
  path: `/${string}`;
  role: Role;
  /** Inputs that need the role `owner`, because they decide to whom a stored credential is sent. */
  ownerInput?: readonly string[];
}

/** A verb that only the command line has, and why. */
export interface LocalVerb {
  local: string;
}

export type Prepared = { ok: true; run: VerbRun } | { ok: false; issues: readonly z.core.$ZodIssue[] };

/** Throws `OperatorError` for a refusal. `actor` is the name in the audit log. */
export type VerbRun = (open: OpenDeps, actor: string) => Promise<Report>;

interface Definition<Shape extends Record<string, z.ZodType>, Need extends keyof VerbDeps> extends Omit<
  Verb,
  'input' | 'prepare'
> {
  input: Shape;
  needs: Need;
  run: (deps: VerbDeps[Need], input: z.output<z.ZodObject<Shape>>, actor: string) => Report | Promise<Report>;
}

export function verb<Shape extends Record<string, z.ZodType>, Need extends keyof VerbDeps>(
  definition: Definition<Shape, Need>,
): Verb {
  const { summary, input, route, needs, run } = definition;
  const schema = z.strictObject(input);
  return {
    summary,
    input,
    route,
    prepare(given) {
      const parsed = schema.safeParse(given);
      if (!parsed.success) return { ok: false, issues: parsed.error.issues };
      return { ok: true, run: async (open, actor) => run(await open(needs), parsed.data, actor) };
    },
  };
}

/** Verbs, or further groups, by their names in the order of the help. */
export interface VerbGroup {
  description: string;
  entries: () => Readonly<Record<string, Verb | VerbGroup>>;
}

export const group = (description: string, entries: VerbGroup['entries']): VerbGroup => ({ description, entries });

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

/** What the command line reads on its own machine, so that the verb gets the content: files of a catalog, or stdin for `-`. */
export type LocalSource = 'catalog' | 'stdin';
const sources = z.registry<{ source: LocalSource }>();

/** An input whose value the command line replaces by what it reads from `source`. The admin API takes the content itself. */
export function readFrom<Schema extends z.ZodType>(source: LocalSource, schema: Schema): Schema {
  sources.add(schema, { source });
  return schema;
}

export const sourceOf = (schema: z.ZodType): LocalSource | undefined => sources.get(schema)?.source;
