import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { z } from 'zod';
import type { Environment, Needs } from './operator-deps.ts';
import { UsageError } from './usage-error.ts';

/** One run of the command line. */
export interface Invocation {
  env: Environment;
  write: (text: string) => void;
  /** 1 when a command did its work and the answer is a refusal. */
  exitCode: number;
}

/** What a command has to say: the document for scripts, the text for people. */
export interface Report {
  document: object;
  text: string;
  /** The work was done and its result is bad news: exit code 1. */
  refused?: boolean;
}

export interface CommandDefinition<Input, Deps> {
  summary: string;
  /** Names flags and arguments for commander; what their values may be is said by `input`. */
  usage?: (command: Command) => void;
  /** Parses flags and arguments under their camelCase names. */
  input: z.ZodType<Input>;
  /** What is opened before, and closed after: no more than the command uses. */
  needs: Needs<Deps>;
  /** Throws `OperatorError` for a refusal. `actor` is who is written into the audit. */
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
  command.option('--json', 'write one JSON document and nothing else');
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
    // A container may run under a number that has no name.
    return `cli:uid-${process.getuid?.() ?? 'unknown'}`;
  }
}
