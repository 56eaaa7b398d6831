import { ConfigError, loadConfig, type Config } from '../config/load-config.ts';
import { plainMessage } from './plain-message.ts';

/** Reads the environment, or says in plain words what is wrong with it and exits with 2. */
export function configOrExit(): Config {
  try {
    return loadConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}

/** Does what a start needs, or says in one sentence why it cannot be done and exits with 1. */
export async function doneOrExit<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    process.stderr.write(`${plainMessage(error)}\n`);
    process.exit(1);
  }
}

/** One line on stdout that tells a supervisor that this process serves. */
export const announce = (listening: string | null): void => {
  process.stdout.write(`${JSON.stringify({ listening, ready: true })}\n`);
};

/**
 * Runs `stop` once on SIGTERM, SIGINT or the end of the supervisor's pipe, then exits. What nobody caught ends the process:
 * state lives in PostgreSQL, so a fresh start is safe and a limping process is not.
 */
export function stopOnSignals(stop: () => Promise<void>, logFatal: (error: unknown) => void): void {
  let stopping = false;
  const onSignal = () => {
    if (stopping) return;
    stopping = true;
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        logFatal(error);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  if (process.env['TOLLGATE_PARENT_PIPE'] === '1') {
    process.stdin.on('end', onSignal).on('error', onSignal).resume();
  }
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      logFatal(error);
      process.exit(1);
    });
  }
}
