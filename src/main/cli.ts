import { Command, CommanderError } from 'commander';
import { version } from '../http/version.ts';
import { commandList } from '../admin/command-list.ts';
import { addEntry } from './cli/action-commands.ts';
import type { Invocation } from './cli/invocation.ts';

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
    const program = createProgram(invocation, json, args);
    await program.parseAsync(args, { from: 'user' });
    return invocation.exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const { explainError } = await import('./cli/explain-error.ts');
    const { message, exitCode, problems } = explainError(error);
    if (json) invocation.write(`${JSON.stringify({ error: { message, ...(problems && { problems }) } }, null, 2)}\n`);
    else process.stderr.write(`tollgate: ${message}\n`);
    return exitCode;
  }
}

/** The command line with the commands that these arguments can name, and without arguments with all of them. It loads no action. */
export function createProgram(invocation: Invocation, json: boolean, args?: readonly string[]): Command {
  const root = new Command('tollgate')
    .description('Operates Tollgate: projects, keys, credits, channels, the catalog, tasks and the ledger.')
    .addHelpText(
      'after',
      '\nWithout DATABASE_URL, commands use the installation that `npm start` runs on this machine.',
    )
    .version(version, '--version', 'show the version')
    // `--version` behind a command is an option of that command.
    .enablePositionalOptions()
    // Every subcommand inherits these settings: errors are thrown, and `cli` alone prints them.
    .exitOverride()
    .configureOutput({ outputError: () => undefined, ...(json && { writeErr: () => undefined }) });
  for (const [name, entry] of Object.entries(commandList)) {
    // A group that the arguments do not name has no commands, because all commands take as long as the start of Node.
    const isNamed = !('entries' in entry) || !args || args.includes(name);
    addEntry(root, [name], isNamed ? entry : { ...entry, entries: {} }, invocation);
  }
  return root;
}

/** Runs the command line of this process, and leaves its exit code. */
export async function runCli(): Promise<void> {
  // `| head` closes the pipe early. That is not a failure.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  process.exitCode = await cli(process.argv.slice(2), process.env);
}

if (import.meta.main) await runCli();
