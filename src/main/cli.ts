import { Command, CommanderError } from 'commander';
import { version } from '../http/version.ts';
import type { Invocation } from './cli/action-commands.ts';
import { actionGroups } from '../admin/action-groups.ts';

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
    const program = await createProgram(invocation, json, args);
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

/**
 * The command line for these arguments: it loads only the group or command that they name. Without one it has the names of all, for the help. Every
 * one is loaded without arguments, for the tests that compare them with the documents.
 */
export async function createProgram(invocation: Invocation, json: boolean, args?: readonly string[]): Promise<Command> {
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
  const named = args?.[0] === 'help' ? args[1] : args?.[0];
  if (args === undefined) await addGroups(root, Object.keys(actionGroups), invocation);
  else if (named !== undefined && Object.hasOwn(actionGroups, named)) await addGroups(root, [named], invocation);
  else listGroups(root);
  return root;
}

async function addGroups(root: Command, names: readonly string[], invocation: Invocation): Promise<void> {
  const { addEntry } = await import('./cli/action-commands.ts');
  const loaded = await Promise.all(names.map(async (name) => ({ name, entry: await actionGroups[name]?.load() })));
  for (const { name, entry } of loaded) if (entry) addEntry(root, name, entry, invocation);
}

/** The names of all groups with their summaries, as the help has them once they are loaded. */
function listGroups(root: Command): void {
  const help = root.createHelp();
  root.configureHelp({
    subcommandTerm: (command) =>
      [help.subcommandTerm(command), actionGroups[command.name()]?.takes ?? []].flat().join(' '),
  });
  for (const [name, { summary }] of Object.entries(actionGroups)) root.command(name).description(summary);
}

/** Runs the command line of this process, and leaves its exit code. */
export async function runCli(): Promise<void> {
  // `| head` closes the pipe early. That is not a failure.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  process.exitCode = await cli(process.argv.slice(2), process.env);
}

if (import.meta.main) await runCli();
