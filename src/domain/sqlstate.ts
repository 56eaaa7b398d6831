/**
 * What an SQLSTATE says about the statement that failed (PostgreSQL documentation, appendix A). Classes are matched by their first two
 * characters, because later releases of PostgreSQL and poolers such as PgBouncer add codes to them.
 */

/** Whether the server cannot serve the statement now, so that the same statement may succeed soon. */
export const isUnavailable = (sqlstate: string): boolean =>
  unavailableClasses.has(classOf(sqlstate)) || unavailableCodes.has(sqlstate) || isRolledBack(sqlstate);

/** Whether the whole transaction was rolled back, or never began, so that it may run again immediately. */
export const isRolledBack = (sqlstate: string): boolean => rolledBackCodes.has(sqlstate) || isStaleConnection(sqlstate);

/** Whether the connection and its prepared statements do not belong together any more, so that only another connection helps. */
export const isStaleConnection = (sqlstate: string): boolean => staleCodes.has(sqlstate);

/** Whether the connection was lost during the statement, so that it is unknown whether the statement took effect. */
export const isLost = (sqlstate: string): boolean => classOf(sqlstate) === '08' || lostCodes.has(sqlstate);

/** Whether PostgreSQL answers but cannot write, because its disk is full or it is a standby. Only an operator can repair that. */
export const isUnwritable = (sqlstate: string): boolean => unwritableCodes.has(sqlstate);

const classOf = (sqlstate: string): string => (sqlstate.length === 5 ? sqlstate.slice(0, 2) : '');

const unavailableClasses = new Set([
  '08', // connection exception
  '28', // invalid authorization: a password that was changed, or a role that may not connect any more
  '53', // insufficient resources: disk, memory, connections
  '57', // operator intervention: shutdown, canceled by the statement timeout
  '58', // system error: of the disk or of a file
  'F0', // configuration file error: of a server that starts
]);

const unwritableCodes = new Set([
  '25006', // read_only_sql_transaction
  '53100', // disk_full
]);

const unavailableCodes = new Set([
  ...unwritableCodes,
  '3D000', // invalid_catalog_name: a server or a pooler that does not have the database yet, as during a restore
  '25P03', // idle_in_transaction_session_timeout
  '25P04', // transaction_timeout
  '40003', // statement_completion_unknown
]);

const rolledBackCodes = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  '55P03', // lock_not_available
]);

const staleCodes = new Set([
  '26000', // invalid_sql_statement_name: the server does not know the statement that the client has prepared
  '42P05', // duplicate_prepared_statement: it knows one that the client has not prepared
  '0A000', // feature_not_supported: a migration changed the result of a statement that the connection has prepared
]);

const lostCodes = new Set([
  '40003', // statement_completion_unknown
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57P04', // database_dropped
  '57P05', // idle_session_timeout
]);
