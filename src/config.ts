import { accessSync, constants } from 'node:fs';
import { z } from 'zod';
import { crashPoints, readCrashSetting } from './platform/crash-point.ts';
import { isCidr } from './platform/egress/public-address.ts';

/**
 * The one place that reads the environment. Every variable with its default; grouped as the code uses it. Production starts
 * from this alone, and what is missing or malformed is refused by name.
 */
const integer = (fallback: number, min = 0, max = Number.MAX_SAFE_INTEGER) =>
  z.coerce.number(notNumber).int().min(min).max(max).default(fallback);
const seconds = (fallback: number) => z.coerce.number(notNumber).min(0).default(fallback);
const notNumber = 'must be a number';
const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean),
  );
const numbers = (fallback: string) =>
  z
    .string()
    .default(fallback)
    .transform((text) => text.split(',').map(Number))
    .refine(
      (items) => items.every((item) => Number.isFinite(item) && item >= 0),
      'must be numbers separated by commas',
    );
/** Empty, or a URL with one of the schemes. */
const url = (...schemes: string[]) =>
  z
    .string()
    .refine(
      (text) => text === '' || schemes.includes(URL.parse(text)?.protocol.slice(0, -1) ?? ''),
      `must be a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
    );
const httpUrl = url('http', 'https').default('');
const databaseUrl = url('postgresql', 'postgres');
const readableFile = z
  .string()
  .default('')
  .refine((path) => path === '' || isReadable(path), 'must name a file that this process may read');

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;

/** Null: there is no such listener. */
const optionalPort = z.coerce.number(notNumber).int().min(0).max(65_535).nullable().default(null);
const flag = z
  .enum(['true', 'false', '1', '0', ''])
  .default('false')
  .transform((text) => text === 'true' || text === '1');

/** Goes into a header as it is. */
const providerKey = z
  .string()
  .trim()
  .regex(/^[\x21-\x7e]{0,1000}$/, 'must be a key: one word of plain ASCII characters')
  .default('');

/** Null: the process dies nowhere by itself. */
const crashSetting = z
  .string()
  .default('')
  .transform((text, context) => {
    if (text === '') return null;
    const setting = readCrashSetting(text);
    if (setting) return setting;
    context.addIssue({ code: 'custom', message: `must be name or name:n, the name one of ${crashPoints.join(', ')}` });
    return z.NEVER;
  });

/** `id:base64` pairs, first one writes, all read. Each secret at least 32 bytes. */
const keyRing = (exactBytes?: number) =>
  z.string().transform((text, context) => {
    const ring = text
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean)
      .map((item) => {
        const at = item.indexOf(':');
        return { id: item.slice(0, Math.max(at, 0)), secret: Buffer.from(item.slice(at + 1), 'base64') };
      });
    const good = ring.every(
      ({ id, secret }) =>
        /^[a-z0-9]{1,16}$/i.test(id) && (exactBytes ? secret.length === exactBytes : secret.length >= 32),
    );
    if (ring.length === 0 || !good || new Set(ring.map(({ id }) => id)).size !== ring.length) {
      context.addIssue({
        code: 'custom',
        message: `must be id:base64 pairs separated by commas, each secret ${exactBytes ? '' : 'at least '}32 bytes`,
      });
      return z.NEVER;
    }
    return ring;
  });

const Variables = z.object({
  DATABASE_URL: databaseUrl.min(1),
  DATABASE_LISTEN_URL: databaseUrl.default(''),
  DATABASE_POOL_MAX: integer(10, 1, 500),
  DATABASE_STATEMENT_TIMEOUT_MS: integer(3_000, 100),
  DATABASE_CONNECT_TIMEOUT_MS: integer(3_000, 100),

  TEMPORAL_ADDRESS: z.string().default('127.0.0.1:7233'),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_API_KEY: z.string().default(''),
  TEMPORAL_TLS_CA_FILE: readableFile,
  TEMPORAL_TLS_CERT_FILE: readableFile,
  TEMPORAL_TLS_KEY_FILE: readableFile,
  TEMPORAL_UI_URL: httpUrl,
  TEMPORAL_ENSURE_SECONDS: integer(60, 1),

  HOST: z.string().default('127.0.0.1'),
  PORT: integer(8080, 0, 65_535),
  ADMIN_PORT: optionalPort,
  WORKER_HEALTH_PORT: optionalPort,
  PUBLIC_BASE_URL: httpUrl,
  TRUST_PROXY: flag,

  KEY_PEPPERS: keyRing(),
  MASTER_KEYS: keyRing(32),
  INTERNAL_JOB_TOKENS: list.refine(
    (tokens) => tokens.every((token) => token.length >= 32),
    'must be tokens of 32 characters or more, separated by commas',
  ),

  EGRESS_ALLOW_CIDRS: list.refine((cidrs) => cidrs.every(isCidr), 'must be CIDRs separated by commas'),
  CALLBACK_PORTS: list
    .refine((ports) => ports.every(isPort), 'must be port numbers separated by commas')
    .transform((ports) => ports.map(Number)),
  CATALOG_FILE: z.string().default('catalog/catalog.yaml'),
  CREDIT_VALUE_MICRO_USD: integer(10_000, 0),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),

  FILES_DRIVER: z.enum(['local', 's3']).default('local'),
  FILES_LOCAL_DIR: z.string().default('.tollgate/files'),
  FILES_S3_BUCKET: z.string().default(''),
  FILES_S3_REGION: z.string().default(''),
  FILES_S3_ENDPOINT: z.string().default(''),
  FILES_S3_ACCESS_KEY_ID: z.string().default(''),
  FILES_S3_SECRET_ACCESS_KEY: z.string().default(''),

  BODY_MAX_BYTES: integer(4_000_000, 1_000),
  BODIES_BUFFERED_MAX_BYTES: integer(256_000_000, 1_000),
  HEADERS_TIMEOUT_SECONDS: seconds(15),
  REQUEST_TIMEOUT_SECONDS: seconds(30),
  HTTP_IN_FLIGHT_MAX: integer(500, 1),
  SHUTDOWN_READY_DELAY_SECONDS: seconds(0),
  KEY_CACHE_SECONDS: seconds(2),
  AUTH_FAILURES_PER_MINUTE_MAX: integer(60, 1),
  KEY_ROTATION_OVERLAP_SECONDS: seconds(86_400),

  IMAGE_DEADLINE_SECONDS: seconds(600),
  VIDEO_DEADLINE_SECONDS: seconds(3_600),
  IN_FLIGHT_PER_PROJECT_MAX: integer(2_000, 1),
  IDEMPOTENCY_SECONDS: seconds(48 * 3_600),
  CREATE_WAIT_MS: integer(400, 0, 1_500),
  CREATE_WAITERS_MAX: integer(16, 0, 1_000),
  CREATE_BACKLOG_SECONDS_MAX: seconds(60),
  CREATE_BATCH_MAX: integer(64, 1, 1_000),

  CHAT_DEADLINE_SECONDS: seconds(120),
  CHAT_ATTEMPT_TIMEOUT_SECONDS: seconds(90),
  CHAT_HEADERS_TIMEOUT_SECONDS: seconds(60),
  CHAT_ATTEMPT_LEFT_MIN_SECONDS: seconds(10),
  CHAT_HOLD_EXTRA_SECONDS: seconds(60),
  CHAT_SETTLE_RETRY_SECONDS: seconds(5),
  CHAT_BATCH_MAX: integer(128, 1, 1_000),
  GEMINI_WAIT_SECONDS: seconds(120),
  GEMINI_WAITS_MAX: integer(100, 1),
  GEMINI_INLINE_MAX_BYTES: integer(20_000_000, 0),
  GEMINI_INLINE_BUFFERED_MAX_BYTES: integer(256_000_000, 0),
  IDEMPOTENT_BODY_MAX_BYTES: integer(1_000_000, 0),
  RETRIES_PER_MINUTE_MIN: integer(20, 0),
  RETRY_SHARE: z.coerce.number(notNumber).min(0).max(1).default(0.2),

  ATTEMPTS_MAX: integer(3, 1, 10),
  SUBMIT_TIMEOUT_SECONDS: seconds(60),
  SUBMIT_AT_ONCE_TIMEOUT_SECONDS: seconds(180),
  UPSTREAM_CONNECT_TIMEOUT_SECONDS: seconds(5),
  UPSTREAM_HEADERS_TIMEOUT_SECONDS: seconds(30),
  UPSTREAM_IDLE_TIMEOUT_SECONDS: seconds(15),
  POLL_TIMEOUT_SECONDS: seconds(15),
  POLL_INTERVAL_MIN_MS: integer(500, 10),
  POLL_INTERVAL_MAX_MS: integer(5_000, 10),
  POLL_MISSING_LOST_SECONDS: seconds(300),
  ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS: seconds(30),
  ATTEMPTS_IN_FLIGHT_MAX: integer(2_000, 1),
  CHANNEL_WAITS_MAX: integer(5, 0),
  RATE_LIMIT_REST_SECONDS: seconds(5),
  RATE_LIMIT_REST_MAX_SECONDS: seconds(60),
  ACCOUNT_REST_SECONDS: seconds(300),
  BREAKER_FAILURES_MAX: integer(5, 1),
  BREAKER_OPEN_SECONDS: seconds(30),
  BREAKER_OPEN_MAX_SECONDS: seconds(300),
  BREAKER_PROBE_SECONDS: seconds(10),

  OUTPUT_FETCH_TIMEOUT_SECONDS: seconds(120),
  OUTPUT_IMAGE_MAX_BYTES: integer(50_000_000, 1_000),
  OUTPUT_VIDEO_MAX_BYTES: integer(500_000_000, 1_000),
  OUTPUTS_MAX: integer(16, 1),
  CONTENT_RETENTION_SECONDS: seconds(7 * 86_400),
  UPLOAD_RETENTION_SECONDS: seconds(86_400),
  API_DETAIL_RETENTION_DAYS: integer(30, 1, 3_650),
  TASK_RETENTION_DAYS: integer(400, 1, 36_500),
  REJECTED_TASK_RETENTION_SECONDS: seconds(86_400),
  DELIVERY_ATTEMPT_RETENTION_DAYS: integer(30, 1, 36_500),
  CHAT_ATTEMPT_RETENTION_DAYS: integer(30, 1, 36_500),
  MAINTENANCE_BATCH_MAX: integer(5_000, 1, 100_000),
  BOOKS_LAG_SECONDS: seconds(600),
  UPLOAD_MAX_BYTES: integer(10_000_000, 1_000),
  UPLOAD_PIXELS_MAX: integer(40_000_000, 1),
  UPLOAD_STORED_MAX_BYTES: integer(25_000_000, 1_000),
  UPLOAD_DECODE_MEMORY_BYTES: integer(110_000_000, 1_000_000),
  UPLOAD_TIMEOUT_SECONDS: seconds(120),
  UPLOAD_DECODE_SECONDS: seconds(10),
  UPLOAD_DECODES_MAX: integer(2, 1, 64),
  UPLOAD_WAITING_MAX: integer(32, 0, 1_000),
  UPLOADS_BUFFERED_MAX_BYTES: integer(128_000_000, 1_000),
  INPUT_IMAGE_MAX_BYTES: integer(10_000_000, 1_000),
  INPUT_OTHER_MAX_BYTES: integer(50_000_000, 1_000),
  INPUTS_BUFFERED_MAX_BYTES: integer(128_000_000, 1_000),

  CALLBACK_LADDER_SECONDS: numbers('5,300,1800,7200,18000,36000,36000'),
  CALLBACK_TIMEOUT_SECONDS: seconds(15),
  CALLBACK_LEASE_SECONDS: seconds(60),
  CALLBACK_ANSWER_MAX_BYTES: integer(16_000, 1),
  CALLBACK_KICK_SECONDS: seconds(300),
  CALLBACK_LATE_SECONDS: seconds(10),
  CALLBACK_SECRET_OVERLAP_SECONDS: seconds(86_400),
  CANCEL_WAIT_SECONDS: seconds(10),

  STARTER_INTERVAL_MS: integer(200, 10),
  STARTER_BATCH_MAX: integer(64, 1),
  STARTER_CONCURRENCY: integer(8, 1),
  SWEEP_INTERVAL_SECONDS: seconds(20),
  SWEEP_OPEN_SECONDS: seconds(10),
  SWEEP_SILENT_SECONDS: seconds(120),
  JOB_CALLBACKS_SECONDS: integer(60, 1),
  JOB_STALE_TASKS_SECONDS: integer(60, 1),
  JOB_CHANNELS_SECONDS: integer(60, 1),
  JOB_MAINTENANCE_SECONDS: integer(86_400, 1),
  JOB_LEASE_SECONDS: integer(30, 1),
  WORKER_SHUTDOWN_GRACE_SECONDS: seconds(30),
  WORKER_SHUTDOWN_FORCE_SECONDS: seconds(60),

  /** Development only: lets `npm start` begin with a demo project, its sandbox channels and loopback egress. */
  SANDBOX_URL: httpUrl,
  /** Development only: with a provider's key `npm start` adds that provider's channel before the sandbox's. */
  OPENAI_API_KEY: providerKey,
  GEMINI_API_KEY: providerKey,
  ANTHROPIC_API_KEY: providerKey,
  FAL_KEY: providerKey,
  REPLICATE_API_TOKEN: providerKey,
  /** Development only: this process kills itself there, as `kill -9` would, for tests of what a crash leaves behind. */
  CRASH_POINT: crashSetting,
});

/** What the store in a bucket cannot do without; region and endpoint have defaults. */
const s3Variables = ['FILES_S3_BUCKET', 'FILES_S3_ACCESS_KEY_ID', 'FILES_S3_SECRET_ACCESS_KEY'] as const;

const Environment = Variables.superRefine((config, context) => {
  const refuse = (name: keyof typeof config, message: string) =>
    context.addIssue({ code: 'custom', path: [name], message });
  // What production never has is asked for, so that one that was left over cannot kill anything there.
  if (config.CRASH_POINT !== null && config.SANDBOX_URL === '') {
    refuse('CRASH_POINT', 'is for development only, where there is a SANDBOX_URL');
  }
  if (config.FILES_DRIVER === 's3') {
    for (const name of s3Variables) if (config[name] === '') refuse(name, 'is required with FILES_DRIVER=s3');
  }
  if (config.CALLBACK_LEASE_SECONDS <= config.CALLBACK_TIMEOUT_SECONDS) {
    refuse('CALLBACK_LEASE_SECONDS', 'must be longer than CALLBACK_TIMEOUT_SECONDS, or two would send one try');
  }
  if ((config.TEMPORAL_TLS_CERT_FILE === '') !== (config.TEMPORAL_TLS_KEY_FILE === '')) {
    refuse('TEMPORAL_TLS_CERT_FILE', 'and TEMPORAL_TLS_KEY_FILE go together');
  }
});

export type Config = Readonly<z.infer<typeof Environment>>;

/** A start-up refusal that names each variable at fault and never its value. */
export class ConfigError extends Error {}

/** Reads and checks the whole environment. Throws `ConfigError` with one line per variable at fault. */
export function loadConfig(env: Record<string, string | undefined>): Config {
  // Compose files and shells set variables to nothing; nothing means the default.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = Environment.safeParse(given);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => {
    const name = String(issue.path[0]);
    const isMissing = issue.code !== 'custom' && given[name] === undefined;
    return isMissing ? `${name} is required` : `${name} ${issue.message}`;
  });
  throw new ConfigError(`The configuration is not usable:\n${[...new Set(lines)].join('\n')}`);
}
