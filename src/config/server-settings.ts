import { z } from 'zod';
import { crashPoints, readCrashSetting } from '../platform/crash-point.ts';
import { isCidr } from '../platform/egress/public-address.ts';
import {
  databaseUrl,
  fixedNumber,
  flagSetting,
  httpUrl,
  integer,
  isIssuer,
  isOrigin,
  isProgramOrigin,
  isPort,
  keyRing,
  wordList,
  optionalLimit,
  optionalPort,
  providerKey,
  readableFile,
  duration,
  secret,
  setting,
  splitWords,
  textSetting,
  urlOfScheme,
} from './setting.ts';

/** Null: the process crashes nowhere by itself. */
const crashSetting = z
  .string()
  .default('')
  .transform((value, context) => {
    if (value === '') return null;
    const point = readCrashSetting(value);
    if (point) return point;
    context.addIssue({ code: 'custom', message: `must be name or name:n, the name one of ${crashPoints.join(', ')}` });
    return z.NEVER;
  });

/** CIDRs, or with `true` every peer. */
const trustedProxies = z
  .string()
  .default('false')
  .transform((value, context): 'every_peer' | string[] => {
    if (value === 'true' || value === '1') return 'every_peer';
    const ranges = value === 'false' || value === '0' ? [] : splitWords(value);
    if (ranges.every(isCidr)) return ranges;
    context.addIssue({ code: 'custom', message: 'must be CIDRs separated by commas, true or false' });
    return z.NEVER;
  });

/** `name=value` pairs, percent-encoded as W3C Baggage is (OpenTelemetry, "OTLP Exporter Configuration"). */
const headerPairs = z
  .string()
  .default('')
  .transform((value, context): [name: string, value: string][] => {
    try {
      return splitWords(value).map(readPair);
    } catch {
      context.addIssue({ code: 'custom', message: 'must be name=value pairs separated by commas, percent-encoded' });
      return z.NEVER;
    }
  });

function readPair(pair: string): [name: string, value: string] {
  const [, name = '', value = ''] = /^([^=\s]+)\s*=(.*)$/.exec(pair) ?? [];
  if (name === '') throw new Error('no name');
  return [decodeURIComponent(name), decodeURIComponent(value.trim())];
}

/** Where the processes listen, which servers they use, and the secrets that they need. Grouped as `Config` is. */
export const serverSettings = {
  database: z.object({
    url: secret('DATABASE_URL', databaseUrl.min(1)).describe(
      'PostgreSQL 15 or newer, directly or through a pooler: any in session mode, or in transaction mode PgBouncer 1.21 or newer with `max_prepared_statements`. A pooler in statement mode, or in transaction mode without prepared statements, is refused at the start. Where a pooler does not pass `options` on, set `statement_timeout`, `lock_timeout`, `idle_in_transaction_session_timeout` and `jit = off` for the role. `sslmode` (`require`, `verify-ca`, `verify-full`), `sslrootcert`, `sslcert` and `sslkey` in the query mean what they mean to libpq.',
    ),
    migrateUrl: secret('MIGRATE_DATABASE_URL', databaseUrl.default('')).describe(
      'The same database as the role that owns the tables, for `migrate` only; empty: `DATABASE_URL`. `migrate` gives the role of `DATABASE_URL` what API servers, workers and the command line need, and nothing else.',
    ),
    listenUrl: secret('DATABASE_LISTEN_URL', databaseUrl.default('')).describe(
      'A direct connection for LISTEN where `DATABASE_URL` leads to a pooler; empty: `DATABASE_URL`. Without notifications caches are up to 5 seconds old, and every poll reads PostgreSQL.',
    ),
    readUrl: secret('DATABASE_READ_URL', databaseUrl.default('')).describe(
      'A streaming standby of the same database, on which API servers run what operators only read: lists, usage, summaries, CSV. Empty: `DATABASE_URL`. A read waits until the standby has replayed every earlier commit, for half a second at most; otherwise `DATABASE_URL` answers, and the log says so.',
    ),
    poolMax: integer('DATABASE_POOL_MAX', 10, { min: 1, max: 500 }).describe(
      'Connections of one process. Keep the sum of all processes below `max_connections` − 10.',
    ),
    statementTimeoutMs: integer('DATABASE_STATEMENT_TIMEOUT_MS', 3_000, { min: 100 }).describe(
      'The database cancels a longer statement. Milliseconds.',
    ),
    connectTimeoutMs: fixedNumber('DATABASE_CONNECT_TIMEOUT_MS', 3_000).describe(
      'How long a request waits for a connection. Milliseconds.',
    ),
  }),
  temporal: z.object({
    address: textSetting('TEMPORAL_ADDRESS', '127.0.0.1:7233').describe('Host and port of the Temporal server.'),
    namespace: textSetting('TEMPORAL_NAMESPACE', 'default').describe('The namespace in which all workflows run.'),
    apiKey: secret('TEMPORAL_API_KEY', z.string().default('')).describe('The API key of Temporal Cloud.'),
    caFile: readableFile('TEMPORAL_TLS_CA_FILE').describe(
      'The certificate authority of the Temporal server, a PEM file.',
    ),
    certFile: readableFile('TEMPORAL_TLS_CERT_FILE').describe('Our certificate for mutual TLS, a PEM file.'),
    keyFile: readableFile('TEMPORAL_TLS_KEY_FILE').describe('The private key of that certificate, a PEM file.'),
    ensureSeconds: fixedNumber('TEMPORAL_ENSURE_SECONDS', 60).describe(
      'How often a worker makes sure that the namespace, the search attributes and the Schedules exist.',
    ),
  }),
  http: z.object({
    host: textSetting('HOST', '127.0.0.1').describe('The address on which the API and the worker listen.'),
    port: integer('PORT', 8080, { max: 65_535 }).describe('The port of the API; 0 takes a free one.'),
    processes: integer('API_PROCESSES', 1, { min: 1, max: 64 }).describe(
      'API processes that share `PORT`, at most one for each core. Each has its own caches, limits and `DATABASE_POOL_MAX` connections.',
    ),
    adminPort: optionalPort('ADMIN_PORT').describe(
      'When set, the admin API, the console, the probes and `/metrics` are served on this port and are 404 on `PORT`. `/api/internal/*` is served on both.',
    ),
    scheduledJobsOnAdminPortOnly: flagSetting('JOBS_ON_ADMIN_PORT_ONLY').describe(
      'Whether `/api/internal/*` is 404 on `PORT` when there is an `ADMIN_PORT`.',
    ),
    adminHost: textSetting('ADMIN_HOST', '').describe('The address on which `ADMIN_PORT` listens; empty: `HOST`.'),
    adminOrigin: setting(
      'ADMIN_ORIGIN',
      z
        .string()
        .default('')
        .refine((value) => value === '' || isOrigin(value), 'must be an origin such as https://admin.example.com'),
    ).describe(
      'The origin at which browsers open the console, to which an identity provider returns them; empty: `http://` with the address and the port on which the admin API listens.',
    ),
    publicBaseUrl: httpUrl('PUBLIC_BASE_URL').describe(
      'The base of the file URLs that clients and providers fetch; empty: `http://HOST:PORT`.',
    ),
    corsOrigins: setting(
      'CORS_ORIGINS',
      wordList.refine(
        (origins) => origins.every((origin) => origin === '*' || isOrigin(origin) || isProgramOrigin(origin)),
        'must be origins such as https://app.example.com or app://obsidian.md, or *',
      ),
    ).describe(
      'Origins whose scripts may call the client routes from a browser, separated by commas, such as `https://app.example.com` or `app://obsidian.md`; `*`: any. A key in a page is a key that its visitors can read.',
    ),
    trustProxy: setting('TRUST_PROXY', trustedProxies).describe(
      'The proxies whose `X-Forwarded-For` counts, as CIDRs separated by commas: the client is the rightmost address outside them. `true`: every peer is a proxy, and the client is the last address.',
    ),
    bodiesBufferedMaxBytes: integer('BODIES_BUFFERED_MAX_BYTES', 256_000_000, { min: 1_000 }).describe(
      'Bytes of JSON bodies that one API process holds in memory. A request beyond it is 503 `overloaded`.',
    ),
    headersTimeoutSeconds: fixedNumber('HEADERS_TIMEOUT_SECONDS', 15).describe(
      'How long the headers of a request may take to arrive, else 408.',
    ),
    requestTimeoutSeconds: fixedNumber('REQUEST_TIMEOUT_SECONDS', 30).describe(
      'How long the JSON body of a request may take to arrive, else 408.',
    ),
    // As long as a request waits for a connection of the database. Where those before it wait for one too, more waiting does not help.
    listTurnMs: fixedNumber('LIST_TURN_MS', 3_000).describe(
      'How long a list of a client waits for its turn. Milliseconds.',
    ),
    inFlightMax: integer('HTTP_IN_FLIGHT_MAX', 500, { min: 1 }).describe(
      'Requests that one process handles at the same time; more are 503 `overloaded`.',
    ),
    shutdownReadyDelaySeconds: duration('SHUTDOWN_READY_DELAY_SECONDS', 0).describe(
      'How long a stopping API still takes connections, so that load balancers see `/readyz` fail first.',
    ),
    shutdownDrainSeconds: duration('SHUTDOWN_DRAIN_SECONDS', 130).describe(
      'How long a stopping API lets running requests finish. Answers that are streamed then are ended 5 seconds before, and charged as far as they were generated.',
    ),
    authFailuresPerMinuteMax: integer('AUTH_FAILURES_PER_MINUTE_MAX', 60, { min: 1 }).describe(
      'Failed authentications per address and minute. A valid key is never refused for its address.',
    ),
  }),
  secrets: z.object({
    keyPeppers: secret('KEY_PEPPERS', keyRing()).describe(
      '`id:base64` pairs separated by commas, 32 bytes or more each: API keys are stored as HMAC digests. The first one writes, all of them read.',
    ),
    masterKeys: secret('MASTER_KEYS', keyRing(32)).describe(
      '`id:base64` pairs separated by commas, 32 bytes each: they encrypt credentials and callback secrets, and sign file URLs. The first one writes, all of them read.',
    ),
    scheduledJobTokens: secret(
      'INTERNAL_JOB_TOKENS',
      wordList.refine(
        (tokens) => tokens.every((token) => token.length >= 32),
        'must be tokens of 32 characters or more, separated by commas',
      ),
    ).describe(
      'Tokens for `/api/internal/jobs/*`, 32 characters or more each, separated by commas. With none these routes answer 503.',
    ),
    metricsToken: secret('METRICS_TOKEN', z.string().default('')).describe(
      'When set, `/metrics` needs it as `Authorization: Bearer …`.',
    ),
  }),
  oidc: z.object({
    issuer: setting(
      'OIDC_ISSUER',
      z
        .string()
        .default('')
        .refine(isIssuer, 'must be a URL that begins with https://, or on loopback with http://, without a query'),
    ).describe(
      'The identity provider by which operators may sign in to the console, exactly as it calls itself in its ID tokens; empty: by admin tokens only.',
    ),
    clientId: textSetting('OIDC_CLIENT_ID', '').describe(
      'The id of the console at that identity provider. Required with `OIDC_ISSUER`.',
    ),
    clientSecret: secret('OIDC_CLIENT_SECRET', z.string().default('')).describe(
      'Its secret there; empty: it is a public client, which PKCE alone protects.',
    ),
  }),
  keys: z.object({
    rpmDefault: optionalLimit('KEY_RPM_DEFAULT').describe(
      'POST requests in any 60 seconds of a new key that names no limit of its own; empty: no limit.',
    ),
    inFlightMaxDefault: optionalLimit('KEY_IN_FLIGHT_DEFAULT').describe(
      'Tasks and chats of a new key that may run at the same time, if it names no limit of its own; empty: the limit of its project.',
    ),
  }),
  egress: z.object({
    allowCidrs: setting(
      'EGRESS_ALLOW_CIDRS',
      wordList.refine((cidrs) => cidrs.every(isCidr), 'must be CIDRs separated by commas'),
    ).describe(
      "Development only: address ranges, separated by commas, that clients' URLs may reach by literal address. Refused without `SANDBOX_URL`; with it, `npm start` refuses a `HOST` that is not loopback.",
    ),
    callbackPorts: setting(
      'CALLBACK_PORTS',
      wordList
        .refine((ports) => ports.every(isPort), 'must be port numbers separated by commas')
        .transform((ports) => ports.map(Number)),
    ).describe(
      'The only ports that a callback URL may use beside 443, separated by commas. Empty: every port from 1024.',
    ),
  }),
  files: z.object({
    driver: setting('FILES_DRIVER', z.enum(['local', 's3']).default('local')).describe('Where files are stored.'),
    localDir: textSetting('FILES_LOCAL_DIR', '.tollgate/files').describe(
      'The directory of stored files, shared by API and workers. With `s3` only files on their way into the bucket are here.',
    ),
    projectMaxBytes: integer('PROJECT_STORAGE_MAX_BYTES', 100_000_000_000).describe(
      'Bytes that the files of one project may take before its uploads and creates are refused; 0: no limit.',
    ),
    s3Bucket: textSetting('FILES_S3_BUCKET', '').describe('The bucket. Required with `s3`.'),
    s3Region: textSetting('FILES_S3_REGION', '').describe('The region of the bucket; empty: `auto`.'),
    s3Endpoint: textSetting('FILES_S3_ENDPOINT', '').describe('The URL of an S3-compatible service; empty: AWS.'),
    s3AccessKeyId: secret('FILES_S3_ACCESS_KEY_ID', z.string().default('')).describe(
      'Required with `s3`. The key must be able to get, put and delete objects, and to list the bucket.',
    ),
    s3SecretAccessKey: secret('FILES_S3_SECRET_ACCESS_KEY', z.string().default('')).describe(
      'The secret of that key. Required with `s3`.',
    ),
  }),
  logging: z.object({
    level: setting(
      'LOG_LEVEL',
      z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
    ).describe('The least severe lines that are logged.'),
  }),
  traces: z.object({
    endpoint: httpUrl('OTEL_EXPORTER_OTLP_ENDPOINT').describe(
      'The base URL of an OpenTelemetry collector that takes OTLP over HTTP, such as `http://localhost:4318`; empty: no traces. `/v1/traces` is added.',
    ),
    headers: secret('OTEL_EXPORTER_OTLP_HEADERS', headerPairs).describe(
      'Headers for the collector, such as a token: `name=value` pairs separated by commas, percent-encoded.',
    ),
    serviceName: textSetting('OTEL_SERVICE_NAME', '').describe(
      'The name of this service in traces; empty: `tollgate-api` and `tollgate-worker`.',
    ),
    sampler: setting(
      'OTEL_TRACES_SAMPLER',
      z
        .enum([
          'always_on',
          'always_off',
          'traceidratio',
          'parentbased_always_on',
          'parentbased_always_off',
          'parentbased_traceidratio',
        ])
        .default('parentbased_always_on'),
    ).describe('Which traces are recorded. `parentbased_…`: a client that sends `traceparent` decides by its flag.'),
    samplerArg: setting(
      'OTEL_TRACES_SAMPLER_ARG',
      z.coerce.number('must be a number').min(0).max(1).default(1),
    ).describe('The share of traces that are recorded, for the samplers with `traceidratio`.'),
  }),
  alarms: z.object({
    webhookUrl: secret('ALARM_WEBHOOK_URL', urlOfScheme('http', 'https').default('')).describe(
      'Where log lines with `"alarm": true` are also sent, as JSON with `text`, which chat services show.',
    ),
    smtpUrl: secret('ALARM_SMTP_URL', urlOfScheme('smtp', 'smtps').default('')).describe(
      'The mail server for alarms, as `smtps://user:password@host`.',
    ),
    emailTo: setting('ALARM_EMAIL_TO', wordList).describe(
      'Who gets alarms by mail, separated by commas. The sender is the user of `ALARM_SMTP_URL` if it is an address, else the first of these.',
    ),
    repeatSeconds: duration('ALARM_REPEAT_SECONDS', 3_600).describe(
      'An alarm is sent immediately, and then at most once in this time, with a count.',
    ),
  }),
  worker: z.object({
    healthPort: optionalPort('WORKER_HEALTH_PORT').describe(
      'When set, a worker answers `/livez`, `/readyz` and `/metrics` there.',
    ),
    quiet: flagSetting('TOLLGATE_QUIET').describe(
      'Whether a worker marks the database as restored from a backup when it first starts on it: it then submits, polls and calls back nothing until `tollgate restore release`.',
    ),
    shutdownGraceSeconds: duration('WORKER_SHUTDOWN_GRACE_SECONDS', 30).describe(
      'How long a stopping worker lets attempts finish before it asks them to leave their jobs to another worker. A submit is not asked.',
    ),
    shutdownForceSeconds: duration('WORKER_SHUTDOWN_FORCE_SECONDS', 240).describe(
      'After this time a stopping worker exits. Another worker resumes its attempts, but a submit that is in flight is lost: at least 15 seconds longer than `SUBMIT_TIMEOUT_SECONDS` and `SUBMIT_AT_ONCE_TIMEOUT_SECONDS`. It exits sooner when nothing runs any more.',
    ),
  }),
  development: z.object({
    sandboxUrl: httpUrl('SANDBOX_URL').describe('The sandbox provider. `npm start` sets it; production must not.'),
    temporalUiUrl: httpUrl('TEMPORAL_UI_URL').describe(
      'What the banner of `npm start` shows as the Temporal UI when `TEMPORAL_ADDRESS` names your own server.',
    ),
    openaiApiKey: providerKey('OPENAI_API_KEY').describe(
      "With it `npm start` adds a channel to OpenAI before the sandbox's, and disables that channel when the key is gone.",
    ),
    geminiApiKey: providerKey('GEMINI_API_KEY').describe('The same for Google Gemini.'),
    anthropicApiKey: providerKey('ANTHROPIC_API_KEY').describe('The same for Anthropic.'),
    falKey: providerKey('FAL_KEY').describe('The same for fal.'),
    replicateApiToken: providerKey('REPLICATE_API_TOKEN').describe('The same for Replicate.'),
    xaiApiKey: providerKey('XAI_API_KEY').describe('The same for xAI: its images and clips, and its chats.'),
    dashscopeApiKey: providerKey('DASHSCOPE_API_KEY').describe(
      'The same for Alibaba Model Studio in the international region: Wan, and the chats of Qwen.',
    ),
    minimaxApiKey: providerKey('MINIMAX_API_KEY').describe('The same for MiniMax: its clips, and its chats.'),
    runwayApiSecret: providerKey('RUNWAYML_API_SECRET').describe('The same for Runway.'),
    crashPoint: setting('CRASH_POINT', crashSetting).describe(
      'For tests: `name` or `name:n`, where the process kills itself (at the n-th passing). Refused without `SANDBOX_URL`.',
    ),
  }),
};
