import { Command, CommanderError } from 'commander';
import { explainError } from './cli/explain-error.ts';
import { registerAudit } from './cli/groups/audit.ts';
import { registerCatalog } from './cli/groups/catalog.ts';
import { registerChannels } from './cli/groups/channels.ts';
import { registerCredits } from './cli/groups/credits.ts';
import { registerJobs } from './cli/groups/jobs.ts';
import { registerKeys } from './cli/groups/keys.ts';
import { registerLedger } from './cli/groups/ledger.ts';
import { registerProjects } from './cli/groups/projects.ts';
import { registerSecrets } from './cli/groups/secrets.ts';
import { registerSummary } from './cli/groups/summary.ts';
import { registerTasks } from './cli/groups/tasks.ts';
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
  for (const register of groups) register(root, invocation);
  return root;
}

const groups = [
  registerProjects,
  registerKeys,
  registerCredits,
  registerChannels,
  registerCatalog,
  registerTasks,
  registerJobs,
  registerLedger,
  registerSecrets,
  registerSummary,
  registerAudit,
];

if (import.meta.main) {
  // `| head` closes the pipe early. That is not a failure.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  process.exitCode = await cli(process.argv.slice(2), process.env);
}
