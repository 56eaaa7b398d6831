import { pause } from '../platform/pause.ts';

export interface WritingPatience {
  /** How long the write is repeated. The last try may begin at the end of this time. */
  leftMs: () => number;
  /** Called once with the first error after which the write is repeated. */
  onTrouble?: (error: unknown) => void;
  /** Ends the repetition early, when another process does the same again. */
  signal?: AbortSignal;
}

const firstPauseMs = 100;
const pauseMaxMs = 2_000;

/**
 * Repeats a write that must not be lost: what a provider gave is paid for and may come only once. The write must be safe to repeat: a
 * fencing token or the id of the request protects it, because the answer to an earlier try may have been lost after its commit.
 * Rejects with the last error once `leftMs` is 0 or less, and immediately with an error that a repetition cannot mend.
 */
export async function keepWriting<T>(
  write: () => Promise<T>,
  { leftMs, onTrouble, signal }: WritingPatience,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await write();
    } catch (error) {
      const remainingMs = leftMs();
      if (remainingMs <= 0 || signal?.aborted || isStatementAtFault(error)) throw error;
      if (tries === 1) onTrouble?.(error);
      await pause(Math.min(firstPauseMs * 2 ** (tries - 1), pauseMaxMs, remainingMs), signal);
    }
  }
}

/**
 * Whether the statement itself is wrong, so that it fails whenever it runs (PostgreSQL documentation, appendix A): its values, a constraint,
 * its text or an exception of our own functions. Any other error may pass: a lost connection, a full disk, a restart, a changed password,
 * a missing privilege, a lock, and a prepared statement that the connection of a pooler does not know.
 */
export function isStatementAtFault(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) return true;
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  return !mayPass.has(code) && /^(?:0A|21|22|23|42|P0)[0-9A-Z]{3}$/.test(code);
}

const mayPass = new Set([
  '42501', // insufficient_privilege: an operator corrects it
  '42P05', // duplicate_prepared_statement, behind a pooler
  '0A000', // feature_not_supported: a migration changed the result of a prepared statement
]);
