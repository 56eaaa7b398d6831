import { isUnavailable, isUnwritable } from '../../domain/sqlstate.ts';

/**
 * Whether an error means that the database is temporarily unavailable, so that the same request may succeed soon. Looks through
 * `cause`s and aggregates, because drivers and MikroORM wrap each other's errors.
 */
export const isDatabaseTrouble = (error: unknown): boolean =>
  someError(
    error,
    (each, code) =>
      isUnavailable(code) || socketCodes.has(code) || troubleMessages.some((message) => each.message.includes(message)),
  );

/** Whether PostgreSQL answers but cannot write, because its disk is full or it is a standby. Only an operator can repair that. */
export const isDatabaseUnwritable = (error: unknown): boolean => someError(error, (_each, code) => isUnwritable(code));

/** Whether an error, or one that it wraps, matches. The code is empty if the error has none. */
function someError(error: unknown, isSuch: (error: Error, code: string) => boolean, depth = 0): boolean {
  if (depth > DEPTH_MAX || !(error instanceof Error)) return false;
  if (isSuch(error, 'code' in error && typeof error.code === 'string' ? error.code : '')) return true;
  const inner: unknown[] = error instanceof AggregateError ? error.errors.slice(0, DEPTH_MAX) : [];
  return [error.cause, ...inner].some((each) => someError(each, isSuch, depth + 1));
}

const DEPTH_MAX = 5;

/** Codes of errors of the socket, of which node-postgres passes on what Node.js throws. */
const socketCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** Messages of node-postgres errors that have no code. */
const troubleMessages = [
  'timeout exceeded when trying to connect',
  'Connection terminated',
  'Client has encountered a connection error',
  'Query read timeout',
];
