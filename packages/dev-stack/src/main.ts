import { ConfigError } from '../../../src/config/config-error.ts';
import { withSecretFiles } from '../../../src/config/secret-files.ts';
import { DevStack, type DevPrograms } from './dev-stack.ts';
import { watchParent } from './parent-watch.ts';
import { StartRefused } from './start-refused.ts';
import { fileURLToPath } from 'node:url';

/**
 * `npm start`: everything on one machine, until Ctrl-C, SIGTERM, SIGHUP or the end of npm. Exit code 0 after a graceful stop, 1 if it
 * could not start, 2 for an unknown argument or a file of a secret that cannot be read.
 */
export async function dev({ args, env: inputEnv, programs }: DevOptions): Promise<void> {
  const unknown = args.find((arg) => arg !== '--fresh');
  if (unknown !== undefined) {
    process.stdout.write(usage);
    process.exit(unknown === '--help' || unknown === '-h' ? 0 : 2);
  }
  // A closed terminal or `| head` must not end this process before its children.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const env = secretsOrExit(inputEnv);
  const say = (text: string) => void process.stdout.write(`tollgate: ${text}\n`);

  const stack = new DevStack({ env, projectFolder, programs, fresh: args.includes('--fresh'), say });
  let stoppingSince: number | null = null;
  const stop = () => {
    // npm and the terminal both forward one Ctrl-C. Only a later signal is a second Ctrl-C.
    if (stoppingSince !== null) return Date.now() - stoppingSince > secondSignalMs ? stack.hurry() : undefined;
    stoppingSince = Date.now();
    say('stopping … (a second Ctrl-C ends the chats and submits that are still waited for)');
    void stack.stop().then(() => {
      say('stopped');
      process.exit(0);
    });
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  if (env.npm_lifecycle_event !== undefined) watchParent(stop);

  try {
    process.stdout.write(await stack.start());
  } catch (error) {
    if (stoppingSince !== null) return;
    stoppingSince = Date.now();
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`tollgate: ${error instanceof StartRefused ? message : `could not start: ${message}`}\n`);
    await stack.stop();
    process.exit(1);
  }
}

/** The children get the secrets themselves, because this command adds its own to those that are missing. */
function secretsOrExit(env: DevOptions['env']): DevOptions['env'] {
  try {
    return withSecretFiles(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`tollgate: ${error.message}\n`);
    process.exit(2);
  }
}

export interface DevOptions {
  args: readonly string[];
  env: Record<string, string | undefined>;
  programs: DevPrograms;
}

const secondSignalMs = 1_500;
const projectFolder = fileURLToPath(new URL('../../../', import.meta.url));
const usage = `npm start [-- --fresh]

  Runs the gateway, a worker, PostgreSQL, Temporal and a sandbox provider on this machine.
  State is kept in .tollgate, or in TOLLGATE_HOME. --fresh starts from an empty state.
`;
const programOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

if (import.meta.main) {
  await dev({
    args: process.argv.slice(2),
    env: process.env,
    programs: {
      api: programOf('../../../src/main/api.ts'),
      worker: programOf('../../../src/main/worker.ts'),
      migrate: programOf('../../../src/main/migrate.ts'),
      seed: programOf('./seed-dev.ts'),
      sandbox: programOf('../../sandbox/src/main.ts'),
    },
  });
}
