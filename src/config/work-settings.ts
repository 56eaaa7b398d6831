import { z } from 'zod';
import { integer, seconds, secondsList, text } from './setting.ts';

/** How long, how often and how much: what the processes do with requests, tasks and callbacks. Grouped as `Config` is. */
export const workSettings = {
  catalog: z.object({
    file: text('CATALOG_FILE', 'catalog/catalog.yaml', 'The file or folder that `npm start` applies as the catalog.'),
  }),
  chat: z.object({
    deadlineSeconds: seconds('CHAT_DEADLINE_SECONDS', 120, 'How long one chat may take with all its attempts.'),
    attemptTimeoutSeconds: seconds('CHAT_ATTEMPT_TIMEOUT_SECONDS', 90, 'How long one attempt of a chat may take.'),
    attemptLeftMinSeconds: seconds(
      'CHAT_ATTEMPT_LEFT_MIN_SECONDS',
      10,
      'The time before the deadline that must be left for one more attempt.',
    ),
    holdExtraSeconds: seconds(
      'CHAT_HOLD_EXTRA_SECONDS',
      60,
      'How long after its deadline the credits that a chat without an answer holds are refunded.',
    ),
    retriesPerMinuteMin: integer(
      'RETRIES_PER_MINUTE_MIN',
      20,
      'Second and later attempts of chats that one API process may always make per minute, whatever their share of all attempts.',
    ),
  }),
  gemini: z.object({
    waitSeconds: seconds('GEMINI_WAIT_SECONDS', 120, 'How long `generateContent` waits for an image.'),
    waitsMax: integer('GEMINI_WAITS_MAX', 100, 'Requests of one process that may wait for an image at once.', {
      min: 1,
    }),
    inlineMaxBytes: integer(
      'GEMINI_INLINE_MAX_BYTES',
      20_000_000,
      'Bytes of images that one answer carries inline. Further images come as `fileData` with a URL.',
    ),
    inlineBufferedMaxBytes: integer(
      'GEMINI_INLINE_BUFFERED_MAX_BYTES',
      256_000_000,
      'The same for all answers that one API process holds until its clients have read them. Each image counts 7/3 of its size.',
    ),
  }),
  idempotency: z.object({
    keptSeconds: seconds('IDEMPOTENCY_SECONDS', 48 * 3_600, 'How long an Idempotency-Key is remembered.'),
    bodyMaxBytes: integer(
      'IDEMPOTENT_BODY_MAX_BYTES',
      1_000_000,
      'A larger answer is not kept for a replay: the replay is 409 `idempotency_result_gone`.',
    ),
  }),
  tasks: z.object({
    imageDeadlineSeconds: seconds(
      'IMAGE_DEADLINE_SECONDS',
      600,
      'An image task that has not ended after this time fails with `task_timeout` and is refunded.',
    ),
    videoDeadlineSeconds: seconds('VIDEO_DEADLINE_SECONDS', 3_600, 'The same for a video task.'),
    createWaitMs: integer(
      'CREATE_WAIT_MS',
      400,
      "How long a create request waits for the workflow's own decision before it asks the database. Milliseconds.",
      { max: 1_500 },
    ),
    createBatchMax: integer('CREATE_BATCH_MAX', 64, 'Reservations and settlements that are grouped into one commit.', {
      min: 1,
      max: 1_000,
    }),
    cancelWaitSeconds: seconds(
      'CANCEL_WAIT_SECONDS',
      10,
      'How long a cancel request waits for a submit in flight, and for the result of a stop that was not confirmed.',
    ),
  }),
  attempts: z.object({
    submitTimeoutSeconds: seconds('SUBMIT_TIMEOUT_SECONDS', 60, 'How long one submit to a provider may take.'),
    synchronousTimeoutSeconds: seconds(
      'SUBMIT_AT_ONCE_TIMEOUT_SECONDS',
      180,
      'The same where the provider answers the submit with the finished result.',
    ),
    pollIntervalMinMs: integer(
      'POLL_INTERVAL_MIN_MS',
      500,
      'The first pause between two polls of a job. Milliseconds.',
      {
        min: 10,
      },
    ),
    pollIntervalMaxMs: integer(
      'POLL_INTERVAL_MAX_MS',
      5_000,
      'The longest pause; each is 1.3 times the one before. Milliseconds.',
      { min: 10 },
    ),
    missingJobLostSeconds: seconds(
      'POLL_MISSING_LOST_SECONDS',
      300,
      'A job that a provider answers with 404 for this long counts as lost.',
    ),
    heartbeatTimeoutSeconds: seconds(
      'ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS',
      30,
      'How long after the last heartbeat of a dead worker another worker resumes its attempt.',
    ),
  }),
  breaker: z.object({
    failuresMax: integer('BREAKER_FAILURES_MAX', 5, 'Failures in a row that trip a channel for a model.', { min: 1 }),
    trippedSeconds: seconds(
      'BREAKER_OPEN_SECONDS',
      30,
      'How long a channel stays tripped, times the trips since its last success, at most 300 seconds.',
    ),
    probeSeconds: seconds(
      'BREAKER_PROBE_SECONDS',
      10,
      'How long one trial call keeps further trial calls away from a channel that was tripped.',
    ),
    rateLimitCoolDownSeconds: seconds(
      'RATE_LIMIT_REST_SECONDS',
      5,
      'How long a channel cools down after a 429 without a Retry-After.',
    ),
    rateLimitCoolDownMaxSeconds: seconds('RATE_LIMIT_REST_MAX_SECONDS', 60, 'The longest Retry-After that is obeyed.'),
    accountCoolDownSeconds: seconds(
      'ACCOUNT_REST_SECONDS',
      300,
      'How long a channel cools down after 401, 402, 403 or an exhausted account. An alarm is logged.',
    ),
  }),
  inputs: z.object({
    bufferedMaxBytes: integer(
      'INPUTS_BUFFERED_MAX_BYTES',
      128_000_000,
      'Bytes of inputs that one worker sends at once; more wait. They take about four times as much memory, two thirds of it heap.',
      { min: 1_000 },
    ),
  }),
  outputs: z.object({
    imageMaxBytes: integer('OUTPUT_IMAGE_MAX_BYTES', 50_000_000, 'The largest image that is taken from a provider.', {
      min: 1_000,
    }),
    videoMaxBytes: integer('OUTPUT_VIDEO_MAX_BYTES', 500_000_000, 'The largest video that is taken from a provider.', {
      min: 1_000,
    }),
  }),
  callbacks: z.object({
    retryScheduleSeconds: secondsList(
      'CALLBACK_LADDER_SECONDS',
      '5,300,1800,7200,18000,36000,36000',
      'The waits between the attempts to deliver a callback, separated by commas.',
    ),
    timeoutSeconds: seconds('CALLBACK_TIMEOUT_SECONDS', 15, 'How long one delivery attempt may take.'),
    leaseSeconds: seconds(
      'CALLBACK_LEASE_SECONDS',
      60,
      'How long one delivery attempt is reserved for the worker that makes it. Longer than `CALLBACK_TIMEOUT_SECONDS`.',
    ),
    wakeUpIntervalSeconds: seconds(
      'CALLBACK_KICK_SECONDS',
      300,
      'How often the callbacks job may wake up the workflow of one late delivery.',
    ),
    lateSeconds: seconds(
      'CALLBACK_LATE_SECONDS',
      10,
      'A delivery attempt that is overdue by this time counts as late.',
    ),
  }),
  starter: z.object({
    intervalMs: integer(
      'STARTER_INTERVAL_MS',
      200,
      'How often a worker looks for tasks without a workflow. Milliseconds.',
      {
        min: 10,
      },
    ),
  }),
  sweeps: z.object({
    intervalSeconds: seconds(
      'SWEEP_INTERVAL_SECONDS',
      20,
      'How often a worker sweeps for undecided, silent and stale tasks.',
    ),
    undecidedSeconds: seconds('SWEEP_OPEN_SECONDS', 10, 'A task whose admission takes longer than this is swept.'),
    silentSeconds: seconds('SWEEP_SILENT_SECONDS', 120, 'A running task without a change for this long is swept.'),
  }),
  jobs: z.object({
    callbacksSeconds: integer(
      'JOB_CALLBACKS_SECONDS',
      60,
      'How often the job `process-pending-callbacks` runs by its Schedule. After three times this long without a run the workers run it.',
      { min: 1 },
    ),
    staleTasksSeconds: integer('JOB_STALE_TASKS_SECONDS', 60, 'The same for `check-stale-media-tasks`.', { min: 1 }),
    channelsSeconds: integer('JOB_CHANNELS_SECONDS', 60, 'The same for `check-api-channels`.', { min: 1 }),
    maintenanceSeconds: integer('JOB_MAINTENANCE_SECONDS', 86_400, 'The same for `scheduled-maintenance`.', { min: 1 }),
    leaseSeconds: integer(
      'JOB_LEASE_SECONDS',
      30,
      'How long after the death of the process that runs it a job can be started again.',
      { min: 1 },
    ),
  }),
  retention: z.object({
    contentSeconds: seconds('CONTENT_RETENTION_SECONDS', 7 * 86_400, 'How long inputs and outputs are kept.'),
    uploadSeconds: seconds('UPLOAD_RETENTION_SECONDS', 86_400, 'How long uploads are kept.'),
    detailDays: integer('API_DETAIL_RETENTION_DAYS', 30, 'How long the rows of requests are kept. Days.', {
      min: 1,
      max: 3_650,
    }),
    taskDays: integer('TASK_RETENTION_DAYS', 400, 'How long the rows of ended tasks are kept. Days.', {
      min: 1,
      max: 36_500,
    }),
    batchMax: integer('MAINTENANCE_BATCH_MAX', 5_000, 'Rows that retention deletes in one transaction.', {
      min: 1,
      max: 100_000,
    }),
  }),
  accounting: z.object({
    creditValueMicroUsd: integer(
      'CREDIT_VALUE_MICRO_USD',
      10_000,
      'What one credit is worth, for the margin in summaries. Millionths of a US dollar.',
    ),
    lagSeconds: seconds(
      'BOOKS_LAG_SECONDS',
      600,
      'Summaries and checkpoints leave younger ledger entries for the next run. Longer than any transaction; `npm start` takes 5.',
    ),
  }),
};
