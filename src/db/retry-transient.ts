/** Deadlock, serialization failure and lock timeout: the whole transaction was rolled back, so it may run again. */
const rolledBack = new Set(['40P01', '40001', '55P03']);

/** SQLSTATEs and socket errors after which it is unknown whether the statement took effect. */
const lost = new Set([
  '57P01', '57P02', '57P03', '08000', '08003', '08006', 'ECONNRESET', 'EPIPE', 'ECONNREFUSED', 'ETIMEDOUT',
]); // prettier-ignore

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** Whether the connection was lost during a statement, so that it is unknown whether the statement took effect. */
export const isConnectionLost = (error: unknown): boolean =>
  lost.has(codeOf(error)) ||
  (error instanceof Error &&
    /Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error/.test(
      error.message,
    ));

/** Runs `work`, and up to three times again after an error that rolled the whole transaction back. */
export async function retryTransient<T>(work: () => Promise<T>): Promise<T> {
  const triesMax = 4;
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries >= triesMax || !rolledBack.has(codeOf(error))) throw error;
    }
  }
}
