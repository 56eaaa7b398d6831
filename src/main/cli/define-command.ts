import { userInfo } from 'node:os';
import { Option, type Command } from 'commander';
import { z } from 'zod';
import type { Environment, Needs } from './operator-deps.ts';
import type { Report } from './report.ts';

/** One run of the command line. */
export interface Invocation {
  env: Environment;
  write: (text: string) => void;
  /** Set to 1 by a command that ran and reports a refusal. */
  exitCode: number;
}

/** The command was called wrongly: exit code 2. */
export class UsageError extends Error {}

/** Adds a command, or a group of commands, to its parent under a name. */
export type Entry = (parent: Command, name: string, invocation: Invocation) => void;

/** A group of commands by their names, in the order of the help. */
export const group =
  (description: string, entries: () => Readonly<Record<string, Entry>>): Entry =>
  (parent, name, invocation) => {
    const added = parent.command(name).description(description);
    for (const [each, add] of Object.entries(entries())) add(added, each, invocation);
  };

export interface CommandDefinition<Shape extends Record<string, z.ZodType>, Deps> {
  summary: string;
  /**
   * Flags and arguments by their camelCase names, each with `.describe` for the help. `option` and `flag` declare a flag; any other
   * schema is a positional argument.
   */
  input?: Shape;
  /** What the command uses. It is opened before the run and closed after it. */
  needs: Needs<Deps>;
  /** Throws `OperatorError` for a refusal. `actor` is the name in the audit log. */
  run: (deps: Deps, input: z.output<z.ZodObject<Shape>>, actor: string) => Promise<Report>;
}

/** One command, with `--json` and `--help`. */
export const command =
  <Shape extends Record<string, z.ZodType>, Deps>(definition: CommandDefinition<Shape, Deps>): Entry =>
  (parent, name, invocation) => {
    const { summary, input, needs, run } = definition;
    const added = parent.command(name).description(summary);
    for (const [field, schema] of Object.entries(input ?? {})) declare(added, field, schema);
    added.option('--json', 'print one JSON document and nothing else');
    added.option('--actor <name>', 'name in the audit log (default: the name of the user)');
    added.action(async () => {
      const flags: Record<string, unknown> = added.opts();
      const parsed = z.object(input).safeParse({ ...flags, ...argumentsOf(added) });
      const named = z.object({ actor: Actor.default(operator) }).safeParse(flags);
      if (!parsed.success) throw new UsageError(usageProblems(added, parsed.error.issues));
      if (!named.success) throw new UsageError(usageProblems(added, named.error.issues));
      const { deps, close } = await needs(invocation.env);
      try {
        const report = await run(deps, parsed.data, named.data.actor);
        const said = flags['json'] === true ? JSON.stringify(report.document, null, 2) : report.text;
        invocation.write(`${said}\n`);
        if (report.refused) invocation.exitCode = 1;
      } finally {
        await close();
      }
    });
  };

/** Readable in one line of the audit log. */
const Actor = z.string().regex(/^[\p{L}\p{N}\p{P}\p{S} ]{1,100}$/u, 'must be 1 to 100 printable characters');

/** What the help shows for the value of an option: `<rows>` in `--limit <rows>`. */
const placeholders = z.registry<{ placeholder: string }>();

/** An option, named like its field: `--in-flight <requests>`. It is required unless its schema is optional or has a default. */
export function option<Schema extends z.ZodType>(placeholder: string, schema: Schema): Schema {
  const own = schema.clone();
  placeholders.add(own, { placeholder });
  return own;
}

/** An option without a value, such as `--force`. */
export const flag = () => option('', z.boolean().default(false));

function declare(command: Command, name: string, schema: z.ZodType): void {
  const description = schema.description ?? '';
  const mayBeAbsent = z.object({ [name]: schema }).safeParse({}).success;
  const usage = placeholders.get(schema);
  if (!usage) {
    command.argument(mayBeAbsent ? `[${name}]` : `<${name}>`, description);
    return;
  }
  const long = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const added = new Option(`${long} ${usage.placeholder}`.trim(), description).makeOptionMandatory(!mayBeAbsent);
  const value = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  if (value instanceof z.ZodEnum) added.choices(value.options.map(String));
  command.addOption(added);
}

const argumentsOf = (command: Command): Record<string, unknown> =>
  Object.fromEntries(command.registeredArguments.map((argument, index) => [argument.name(), command.args[index]]));

function usageProblems(command: Command, issues: readonly z.core.$ZodIssue[]): string {
  const nameOf = (path: PropertyKey | undefined) =>
    command.options.find((option) => option.attributeName() === path)?.long ?? `<${String(path)}>`;
  return issues.map(({ path, message }) => `${nameOf(path[0])} ${message}`).join('\n');
}

function operator(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    // A container may run under a user id without a name.
    return `cli:uid-${process.getuid?.() ?? 'unknown'}`;
  }
}
