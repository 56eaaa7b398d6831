import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { z } from 'zod';
import type { Environment, Needs } from './operator-deps.ts';
import { UsageError } from './usage-error.ts';

/** One run of the command line. */
export interface Invocation {
  env: Environment;
  write: (text: string) => void;
  /** Set to 1 by a command that ran and reports a refusal. */
  exitCode: number;
}

/** The output of a command: `document` for scripts, `text` for people. */
export interface Report {
  document: object;
  text: string;
  /** The command ran and its result is a refusal: exit code 1. */
  refused?: boolean;
}

export interface CommandDefinition<Input, Deps> {
  summary: string;
  /** Declares flags and arguments for commander. `input` checks their values. */
  usage?: (command: Command) => void;
  /** Parses flags and arguments under their camelCase names. */
  input: z.ZodType<Input>;
  /** What the command uses. It is opened before the run and closed after it. */
  needs: Needs<Deps>;
  /** Throws `OperatorError` for a refusal. `actor` is the name in the audit log. */
  run: (deps: Deps, input: Input, actor: string) => Promise<Report>;
}

/** Adds one command to its group, with `--json` and `--help`. */
export function defineCommand<Input, Deps>(
  group: Command,
  name: string,
  invocation: Invocation,
  { summary, usage, input, needs, run }: CommandDefinition<Input, Deps>,
): void {
  const command = group.command(name).description(summary);
  usage?.(command);
  command.option('--json', 'print one JSON document and nothing else');
  command.action(async () => {
    const flags: Record<string, unknown> = command.opts();
    const parsed = input.safeParse({ ...flags, ...argumentsOf(command) });
    if (!parsed.success) throw new UsageError(usageProblems(command, parsed.error.issues));
    const { deps, close } = await needs(invocation.env);
    try {
      const report = await run(deps, parsed.data, operator());
      const said = flags['json'] === true ? JSON.stringify(report.document, null, 2) : report.text;
      invocation.write(`${said}\n`);
      if (report.refused) invocation.exitCode = 1;
    } finally {
      await close();
    }
  });
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
