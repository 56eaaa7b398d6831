import { isLost, isRolledBack, isUnavailable } from '../domain/sqlstate.ts';

/** Socket errors after which it is unknown whether the statement took effect. */
const lost = new Set(['ECONNRESET', 'EPIPE', 'ECONNREFUSED', 'ETIMEDOUT']);

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** Whether the connection was lost during a statement, so that it is unknown whether the statement took effect. */
export const isConnectionLost = (error: unknown): boolean =>
  lost.has(codeOf(error)) ||
  isLost(codeOf(error)) ||
  (error instanceof Error &&
    /Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error/.test(
      error.message,
    ));

/** Whether the database cannot serve the statement now. The statement may have taken effect. */
export const isDatabaseAway = (error: unknown): boolean => isConnectionLost(error) || isUnavailable(codeOf(error));

/** Runs `work`, and up to three times again after an error that rolled the whole transaction back. */
export async function retryTransient<T>(work: () => Promise<T>): Promise<T> {
  const triesMax = 4;
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries >= triesMax || !isRolledBack(codeOf(error))) throw error;
    }
  }
}
