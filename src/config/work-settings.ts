import { z } from 'zod';
import { integer, seconds, secondsList, text } from './setting.ts';

/** How long, how often and how much: what the processes do with requests, tasks and callbacks. Grouped as `Config` is. */
export const workSettings = {
  catalog: z.object({
    file: text('CATALOG_FILE', 'catalog').describe('The file or folder that `npm start` applies as the catalog.'),
  }),
  chat: z.object({
    deadlineSeconds: seconds('CHAT_DEADLINE_SECONDS', 120).describe(
      'How long one chat may take with all its attempts.',
    ),
    attemptTimeoutSeconds: seconds('CHAT_ATTEMPT_TIMEOUT_SECONDS', 90).describe(
      'How long one attempt of a chat may take.',
    ),
    attemptLeftMinSeconds: seconds('CHAT_ATTEMPT_LEFT_MIN_SECONDS', 10).describe(
      'The time before the deadline that must be left for one more attempt.',
    ),
    holdExtraSeconds: seconds('CHAT_HOLD_EXTRA_SECONDS', 60).describe(
      'How long after its deadline the credits that a chat without an answer holds are refunded.',
    ),
    retriesPerMinuteMin: integer('RETRIES_PER_MINUTE_MIN', 20).describe(
      'Second and later attempts of chats that one API process may always make per minute, whatever their share of all attempts.',
    ),
  }),
  gemini: z.object({
    waitSeconds: seconds('GEMINI_WAIT_SECONDS', 120).describe('How long `generateContent` waits for an image.'),
    waitsMax: integer('GEMINI_WAITS_MAX', 100, { min: 1 }).describe(
      'Requests of one process that may wait for an image at the same time.',
    ),
    inlineMaxBytes: integer('GEMINI_INLINE_MAX_BYTES', 20_000_000).describe(
      'Bytes of images that one answer carries inline. Further images come as `fileData` with a URL.',
    ),
    inlineBufferedMaxBytes: integer('GEMINI_INLINE_BUFFERED_MAX_BYTES', 256_000_000).describe(
      'The same for all answers that one API process holds until its clients have read them. Each image counts 7/3 of its size.',
    ),
  }),
  idempotency: z.object({
    keptSeconds: seconds('IDEMPOTENCY_SECONDS', 48 * 3_600).describe('How long an Idempotency-Key is remembered.'),
    bodyMaxBytes: integer('IDEMPOTENT_BODY_MAX_BYTES', 1_000_000).describe(
      'A larger answer is not kept for a replay: the replay is 409 `idempotency_result_gone`.',
    ),
  }),
  tasks: z.object({
    imageDeadlineSeconds: seconds('IMAGE_DEADLINE_SECONDS', 600).describe(
      'An image task that has not ended after this time fails with `task_timeout` and is refunded.',
    ),
    videoDeadlineSeconds: seconds('VIDEO_DEADLINE_SECONDS', 3_600).describe('The same for a video task.'),
    createWaitMs: integer('CREATE_WAIT_MS', 400, { max: 1_500 }).describe(
      "How long a create request waits for the workflow's own decision before it asks the database. Milliseconds.",
    ),
    createBatchMax: integer('CREATE_BATCH_MAX', 64, { min: 1, max: 1_000 }).describe(
      'Reservations and settlements that are grouped into one commit.',
    ),
    cancelWaitSeconds: seconds('CANCEL_WAIT_SECONDS', 10).describe(
      'How long a cancel request waits for a submit in flight, and for the result of a stop that was not confirmed.',
    ),
  }),
  attempts: z.object({
    submitTimeoutSeconds: seconds('SUBMIT_TIMEOUT_SECONDS', 60).describe('How long one submit to a provider may take.'),
    synchronousTimeoutSeconds: seconds('SUBMIT_AT_ONCE_TIMEOUT_SECONDS', 180).describe(
      'The same where the provider answers the submit with the finished result.',
    ),
    pollIntervalMinMs: integer('POLL_INTERVAL_MIN_MS', 500, { min: 10 }).describe(
      'The first pause between two polls of a job. Milliseconds.',
    ),
    pollIntervalMaxMs: integer('POLL_INTERVAL_MAX_MS', 5_000, { min: 10 }).describe(
      'The longest pause while an activity polls, each 1.3 times the one before; also the shortest once a job is parked. Milliseconds.',
    ),
    pollInlineSeconds: seconds('POLL_INLINE_SECONDS', 10).describe(
      'A job that runs longer than this is parked: it takes no place of a worker, and it is polled after each tenth of its age, at most 60 seconds.',
    ),
    missingJobLostSeconds: seconds('POLL_MISSING_LOST_SECONDS', 300).describe(
      'A job that a provider answers with 404 for this long counts as lost.',
    ),
    heartbeatTimeoutSeconds: seconds('ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS', 30).describe(
      'How long after the last heartbeat of a dead worker another worker resumes its attempt.',
    ),
  }),
  breaker: z.object({
    failuresMax: integer('BREAKER_FAILURES_MAX', 5, { min: 1 }).describe(
      'Failures in a row that trip a channel for a model.',
    ),
    trippedSeconds: seconds('BREAKER_OPEN_SECONDS', 30).describe(
      'How long a channel stays tripped, times the trips since its last success, at most 300 seconds.',
    ),
    probeSeconds: seconds('BREAKER_PROBE_SECONDS', 10).describe(
      'How long one trial call keeps further trial calls away from a channel that was tripped.',
    ),
    rateLimitCoolDownSeconds: seconds('RATE_LIMIT_REST_SECONDS', 5).describe(
      'How long a channel cools down after a 429 without a Retry-After.',
    ),
    rateLimitCoolDownMaxSeconds: seconds('RATE_LIMIT_REST_MAX_SECONDS', 60).describe(
      'The longest Retry-After that is obeyed.',
    ),
    accountCoolDownSeconds: seconds('ACCOUNT_REST_SECONDS', 300).describe(
      'How long a channel cools down after 401, 402, a confirmed 403 or an exhausted account. An alarm is logged.',
    ),
  }),
  inputs: z.object({
    bufferedMaxBytes: integer('INPUTS_BUFFERED_MAX_BYTES', 128_000_000, { min: 1_000 }).describe(
      'Bytes of inputs that one worker sends at the same time; more wait. They take about four times as much memory, two thirds of it heap.',
    ),
  }),
  outputs: z.object({
    imageMaxBytes: integer('OUTPUT_IMAGE_MAX_BYTES', 50_000_000, { min: 1_000 }).describe(
      'The largest image that is taken from a provider.',
    ),
    videoMaxBytes: integer('OUTPUT_VIDEO_MAX_BYTES', 500_000_000, { min: 1_000 }).describe(
      'The largest video that is taken from a provider.',
    ),
  }),
  callbacks: z.object({
    retryScheduleSeconds: secondsList('CALLBACK_LADDER_SECONDS', '5,300,1800,7200,18000,36000,36000').describe(
      'The waits between the attempts to deliver a callback, separated by commas.',
    ),
    timeoutSeconds: seconds('CALLBACK_TIMEOUT_SECONDS', 15).describe('How long one delivery attempt may take.'),
    leaseSeconds: seconds('CALLBACK_LEASE_SECONDS', 60).describe(
      'How long one delivery attempt is reserved for the worker that makes it. Longer than `CALLBACK_TIMEOUT_SECONDS`.',
    ),
    wakeUpIntervalSeconds: seconds('CALLBACK_KICK_SECONDS', 300).describe(
      'How often the callbacks job may wake up the workflow of one late delivery.',
    ),
    lateSeconds: seconds('CALLBACK_LATE_SECONDS', 10).describe(
      'A delivery attempt that is overdue by this time counts as late.',
    ),
  }),
  starter: z.object({
    intervalMs: integer('STARTER_INTERVAL_MS', 200, { min: 10 }).describe(
      'How often a worker looks for tasks without a workflow. Milliseconds.',
    ),
  }),
  sweeps: z.object({
    intervalSeconds: seconds('SWEEP_INTERVAL_SECONDS', 20).describe(
      'How often a worker sweeps for undecided, silent and stale tasks.',
    ),
    undecidedSeconds: seconds('SWEEP_OPEN_SECONDS', 10).describe(
      'A task whose admission takes longer than this is swept.',
    ),
    silentSeconds: seconds('SWEEP_SILENT_SECONDS', 120).describe(
      'A running task without a change for this long is swept.',
    ),
  }),
  jobs: z.object({
    callbacksSeconds: integer('JOB_CALLBACKS_SECONDS', 60, { min: 1 }).describe(
      'How often the job `process-pending-callbacks` runs by its Schedule. After three times this long without a run the workers run it.',
    ),
    staleTasksSeconds: integer('JOB_STALE_TASKS_SECONDS', 60, { min: 1 }).describe(
      'The same for `check-stale-media-tasks`.',
    ),
    channelsSeconds: integer('JOB_CHANNELS_SECONDS', 60, { min: 1 }).describe('The same for `check-api-channels`.'),
    maintenanceSeconds: integer('JOB_MAINTENANCE_SECONDS', 86_400, { min: 1 }).describe(
      'The same for `scheduled-maintenance`.',
    ),
    leaseSeconds: integer('JOB_LEASE_SECONDS', 30, { min: 1 }).describe(
      'How long after the death of the process that runs it a job can be started again.',
    ),
  }),
  retention: z.object({
    contentSeconds: seconds('CONTENT_RETENTION_SECONDS', 7 * 86_400).describe('How long inputs and outputs are kept.'),
    uploadSeconds: seconds('UPLOAD_RETENTION_SECONDS', 86_400).describe('How long uploads are kept.'),
    detailDays: integer('API_DETAIL_RETENTION_DAYS', 30, { min: 1, max: 3_650 }).describe(
      'How long the rows of requests are kept. `migrate` stores it, and the database refuses to drop younger rows: run `migrate` after a change. Days.',
    ),
    taskDays: integer('TASK_RETENTION_DAYS', 400, { min: 1, max: 36_500 }).describe(
      'How long the rows of ended tasks are kept. Days.',
    ),
    batchMax: integer('MAINTENANCE_BATCH_MAX', 5_000, { min: 1, max: 100_000 }).describe(
      'Rows that retention deletes in one transaction.',
    ),
  }),
  accounting: z.object({
    creditValueMicroUsd: integer('CREDIT_VALUE_MICRO_USD', 10_000).describe(
      'What one credit is worth, for the margin in summaries. Millionths of a US dollar.',
    ),
    lagSeconds: seconds('BOOKS_LAG_SECONDS', 600).describe(
      'Summaries and checkpoints leave younger ledger entries for the next run. Longer than any transaction; `npm start` takes 5.',
    ),
  }),
};
