import { Command, CommanderError } from 'commander';
import { explainError } from './cli/explain-error.ts';
import { audit } from './cli/groups/audit.ts';
import { catalog } from './cli/groups/catalog.ts';
import { channels } from './cli/groups/channels.ts';
import { credits } from './cli/groups/credits.ts';
import { jobs } from './cli/groups/jobs.ts';
import { keys } from './cli/groups/keys.ts';
import { ledger } from './cli/groups/ledger.ts';
import { projects } from './cli/groups/projects.ts';
import { secrets } from './cli/groups/secrets.ts';
import { summary } from './cli/groups/summary.ts';
import { tasks } from './cli/groups/tasks.ts';
import type { Invocation } from './cli/define-command.ts';

/**
 * The operators' command line. Returns the exit code: 0 done, 1 refused, 2 wrong usage. With `--json` it writes exactly one
 * document to stdout, also for an error.
 */
export async function cli(
  args: readonly string[],
  env: Invocation['env'],
  write: Invocation['write'] = (text) => void process.stdout.write(text),
): Promise<number> {
  const json = args.includes('--json');
  const invocation: Invocation = { env, write, exitCode: 0 };
  try {
    await createProgram(invocation, json).parseAsync(args, { from: 'user' });
    return invocation.exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const { message, exitCode, problems } = explainError(error);
    if (json) invocation.write(`${JSON.stringify({ error: { message, ...(problems && { problems }) } }, null, 2)}\n`);
    else process.stderr.write(`tollgate: ${message}\n`);
    return exitCode;
  }
}

/** Every group and command. Exported for the test that compares it with docs/CLI.md. */
export function createProgram(invocation: Invocation, json: boolean): Command {
  const root = new Command('tollgate')
    .description('Operates Tollgate: projects, keys, credits, channels, the catalog, tasks and the ledger.')
    .addHelpText(
      'after',
      '\nWithout DATABASE_URL, commands use the installation that `npm start` runs on this machine.',
    )
    // Every subcommand inherits these settings: errors are thrown, and `cli` alone prints them.
    .exitOverride()
    .configureOutput({ outputError: () => undefined, ...(json && { writeErr: () => undefined }) });
  for (const [name, add] of Object.entries(groups)) add(root, name, invocation);
  return root;
}

const groups = { projects, keys, credits, channels, catalog, tasks, jobs, ledger, secrets, summary, audit };

if (import.meta.main) {
  // `| head` closes the pipe early. That is not a failure.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  process.exitCode = await cli(process.argv.slice(2), process.env);
}
