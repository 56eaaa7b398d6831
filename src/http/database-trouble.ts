/**
 * Whether an error means that the database is temporarily unavailable, so that the same request may succeed soon. Looks through
 * `cause`s and aggregates, because drivers and MikroORM wrap each other's errors.
 */
export const isDatabaseTrouble = (error: unknown): boolean =>
  someError(
    error,
    (each, code) =>
      troubleCodes.has(code) ||
      /^08[0-9A-Z]{3}$/.test(code) ||
      troubleMessages.some((message) => each.message.includes(message)),
  );

/** Whether PostgreSQL answers but cannot write, because its disk is full or it is a standby. Only an operator can repair that. */
export const isDatabaseUnwritable = (error: unknown): boolean =>
  someError(error, (_each, code) => unwritableCodes.has(code));

/** Whether an error, or one that it wraps, matches. The code is empty if the error has none. */
function someError(error: unknown, isSuch: (error: Error, code: string) => boolean, depth = 0): boolean {
  if (depth > DEPTH_MAX || !(error instanceof Error)) return false;
  if (isSuch(error, 'code' in error && typeof error.code === 'string' ? error.code : '')) return true;
  const inner: unknown[] = error instanceof AggregateError ? error.errors.slice(0, DEPTH_MAX) : [];
  return [error.cause, ...inner].some((each) => someError(each, isSuch, depth + 1));
}

const DEPTH_MAX = 5;

const unwritableCodes = new Set([
  '25006', // read_only_sql_transaction
  '53100', // disk_full
]);

/** Class 08 is matched by its prefix (PostgreSQL documentation, appendix A). */
const troubleCodes = new Set([
  ...unwritableCodes,
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '53200', // out_of_memory
  '53300', // too_many_connections
  '57014', // query_canceled: the statement timeout
  '55P03', // lock_not_available
  '40001', // serialization_failure, after our own retries
  '40P01', // deadlock_detected, after our own retries
  '25P04', // transaction_timeout
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
