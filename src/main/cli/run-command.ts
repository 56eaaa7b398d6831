import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { z } from 'zod';
import { actionGroups } from '../../admin/action-groups.ts';
import {
  sourceOf,
  type Action,
  type ActionRoute,
  type ActionRun,
  type LocalSource,
} from '../../admin/define-action.ts';
import type { Report } from '../../admin/report.ts';
import type { Invocation } from './invocation.ts';
import type { Environment } from './operator-environment.ts';
import { readSecret } from './read-secret.ts';
import type { RemoteServer } from './run-remotely.ts';
import { UsageError } from './usage-error.ts';

/** Runs the action that `words` name with the options and arguments of its command, and prints its report. Throws `UsageError` for wrong ones. */
export async function runCommand(command: Command, words: readonly string[], invocation: Invocation): Promise<void> {
  const action = await loadAction(words);
  const flags: Record<string, unknown> = command.opts();
  const common = Common.safeParse(flags);
  const input = await readInput(command, action);
  const prepared = action.prepare(input);
  if (!prepared.ok) throw new UsageError(usageProblems(command, prepared.issues));
  if (!common.success) throw new UsageError(usageProblems(command, common.error.issues));
  const { actor, server } = common.data;
  const report =
    server === undefined
      ? await runLocally(prepared.run, invocation.env, actor ?? operator())
      : await (
          await import('./run-remotely.ts')
        ).runRemotely(remoteServer(server, actor, invocation.env), remoteRoute(action), input);
  const output = flags['json'] === true ? JSON.stringify(report.document, null, 2) : report.text;
  invocation.write(`${output}\n`);
  if (report.refused) invocation.exitCode = 1;
}

async function loadAction([group = '', ...words]: readonly string[]): Promise<Action> {
  let entry = await actionGroups[group]?.();
  for (const word of words) entry = entry && 'entries' in entry ? entry.entries()[word] : undefined;
  if (!entry || 'entries' in entry)
    throw new Error('The list of commands names no action; `npm run docs:api` writes it.');
  return entry;
}

async function runLocally(run: ActionRun, env: Environment, actor: string): Promise<Report> {
  const { openLocally } = await import('./open-deps.ts');
  const { open, close } = openLocally(env);
  try {
    return await run(open, actor);
  } finally {
    await close();
  }
}

function remoteServer(url: string, actor: string | undefined, env: Environment): RemoteServer {
  if (actor !== undefined) throw new UsageError('--actor is not for --server: the audit log has the name of the token');
  const token = env['TOLLGATE_ADMIN_TOKEN'];
  if (!token) throw new UsageError('--server needs a token of `tollgate admin-tokens create` in TOLLGATE_ADMIN_TOKEN');
  return { url, token };
}

function remoteRoute({ route }: Action): ActionRoute {
  if ('local' in route) throw new UsageError(`--server is not for this command, which ${route.local}`);
  return route;
}

/** The given inputs. What an action takes from this machine is read here. */
async function readInput(command: Command, { input }: Action): Promise<Record<string, unknown>> {
  const flags: Record<string, unknown> = command.opts();
  const all = { ...flags, ...argumentsOf(command) };
  const values: Record<string, unknown> = {};
  for (const [field, schema] of Object.entries(input)) {
    const value = all[field];
    if (value === undefined) continue;
    const source = sourceOf(schema);
    values[field] = source && typeof value === 'string' ? await readers[source](value) : value;
  }
  return values;
}

/** Each loads what it needs when it is needed: a command starts in a fraction of the time. */
const readers: Record<LocalSource, (value: string) => Promise<unknown>> = {
  catalog: async (value) => (await import('../../services/catalog/load-catalog.ts')).readCatalogFiles(value),
  result: async (value) => (await import('./read-result.ts')).readResult(value),
  rules: async (value) => (await import('./read-rules.ts')).readRules(value),
  stdin: (value) => (value === '-' ? readSecret('credential') : Promise.resolve(value)),
  secret: (value) => (value === '-' ? readSecret('secret') : Promise.resolve(value)),
};

/** The options of every command. The actor is readable in one line of the audit log. */
const Common = z.object({
  actor: z
    .string()
    .regex(/^[\p{L}\p{N}\p{P}\p{S} ]{1,100}$/u, 'must be 1 to 100 printable characters')
    .optional(),
  server: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
});

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
