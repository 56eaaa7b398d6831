import { ConfigError, ignoredSettings, loadConfig, type Config } from '../config/load-config.ts';
import { plainMessage } from '../domain/plain-message.ts';
import type { Logger } from '../platform/observe/logger.ts';

/** Reads the configuration from the environment. If it is invalid, prints the errors and exits with 2. */
export function configOrExit(): Config {
  try {
    return loadConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}

/** Logs one warning if the environment has settings of an earlier release that are fixed numbers now. */
export function warnOfIgnoredSettings(logger: Logger): void {
  const ignored = ignoredSettings(process.env);
  if (ignored.length > 0) logger.warn({ ignored }, 'settings of an earlier release are ignored: remove them');
}

/** Runs a step of the start. If it fails, prints the reason in one sentence and exits with 1. */
export async function doneOrExit<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    process.stderr.write(`${plainMessage(error)}\n`);
    process.exit(1);
  }
}

/** Prints the line that tells a supervisor that this process is ready. */
export const announce = (listening: string | null): void => {
  process.stdout.write(`${JSON.stringify({ listening, ready: true })}\n`);
};

/**
 * Runs `stop` once on SIGTERM, SIGINT or the end of the supervisor's pipe, then exits. An uncaught error ends the process: the state
 * is in PostgreSQL, so a restart is safer than continuing. `logFatal` may take the time that the alarm needs to leave.
 */
export function stopOnSignals(stop: () => Promise<void>, logFatal: (error: unknown) => void | Promise<void>): void {
  let stopping = false;
  const fail = async (error: unknown): Promise<void> => {
    await logFatal(error);
    process.exit(1);
  };
  const onSignal = () => {
    if (stopping) return;
    stopping = true;
    stop().then(
      () => process.exit(0),
      (error: unknown) => void fail(error),
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  if (process.env['TOLLGATE_PARENT_PIPE'] === '1') {
    process.stdin.on('end', onSignal).on('error', onSignal).resume();
  }
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => void fail(error));
  }
}
