/** The settings of the gateway in tests, which wait for sweeps and heartbeats and so need shorter intervals than production. */
export const quickSettings = {
  LOG_LEVEL: 'info',
  // Prices that stay as they are, at a credit of one cent. The shipped ones follow the providers' costs.
  CATALOG_FILE: 'test/support/catalog',
  CREDIT_VALUE_MICRO_USD: '10000',
  // Long enough for a busy machine. Tests of a database that does not answer set shorter timeouts.
  DATABASE_STATEMENT_TIMEOUT_MS: '15000',
  DATABASE_CONNECT_TIMEOUT_MS: '15000',
  // Lists that a test reads at the same time wait for each other, which takes longer where the machine is busy.
  LIST_TURN_MS: '60000',
  KEY_PEPPERS: `p1:${Buffer.alloc(32, 1).toString('base64')}`,
  MASTER_KEYS: `m1:${Buffer.alloc(32, 2).toString('base64')}`,
  INTERNAL_JOB_TOKENS: 'job-token-0123456789-0123456789-0123456789',
  // The sandbox is the only upstream, and it listens on loopback.
  EGRESS_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
  SWEEP_INTERVAL_SECONDS: '1',
  SWEEP_OPEN_SECONDS: '3',
  SWEEP_SILENT_SECONDS: '8',
  ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS: '6',
  SUBMIT_TIMEOUT_SECONDS: '20',
  POLL_INTERVAL_MIN_MS: '50',
  POLL_INTERVAL_MAX_MS: '500',
  STARTER_INTERVAL_MS: '500',
  // A test that needs a job starts it. A job that runs by its Schedule would change the counts of other tests. Schedules run at the
  // multiples of their interval since 1970, which of a day is each midnight. These have one in September 2020 and the next in May 2033.
  JOB_CALLBACKS_SECONDS: '400000000',
  JOB_STALE_TASKS_SECONDS: '400000000',
  JOB_CHANNELS_SECONDS: '400000000',
  JOB_MAINTENANCE_SECONDS: '400000000',
  JOB_LEASE_SECONDS: '3',
  TEMPORAL_ENSURE_SECONDS: '30',
  WORKER_SHUTDOWN_GRACE_SECONDS: '2',
  WORKER_SHUTDOWN_FORCE_SECONDS: '200',
};
