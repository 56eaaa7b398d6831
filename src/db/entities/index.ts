import { defineEntity, p } from '@mikro-orm/core';

/**
 * The tables as MikroORM sees them: for operators' commands and set-up. The hot path speaks to the same tables through
 * prepared statements; `test/db/schema.test.ts` proves that these agree with the migrated schema.
 */
export const Project = defineEntity({
  name: 'Project',
  tableName: 'project',
  properties: {
    id: p.string().primary(),
    name: p.string(),
    status: p.string().$type<'active' | 'disabled'>().default('active'),
    callbackSecret: p.string().fieldName('callback_secret'),
    callbackSecretPrevious: p.string().fieldName('callback_secret_previous').nullable(),
    callbackSecretPreviousUntil: p.datetime().fieldName('callback_secret_previous_until').nullable(),
    createdAt: p.datetime().fieldName('created_at').defaultRaw('clock_timestamp()'),
  },
});

export const ApiKey = defineEntity({
  name: 'ApiKey',
  tableName: 'api_key',
  properties: {
    id: p.string().primary(),
    projectId: p.string().fieldName('project_id'),
    name: p.string().default(''),
    models: p.array().nullable(),
    rpm: p.integer().nullable(),
    inFlightMax: p.integer().fieldName('in_flight_max').nullable(),
    budget: p.bigint('number').nullable(),
    spent: p.bigint('number').default(0),
    reserved: p.bigint('number').default(0),
    inFlight: p.integer().fieldName('in_flight').default(0),
    expiresAt: p.datetime().fieldName('expires_at').nullable(),
    revokedAt: p.datetime().fieldName('revoked_at').nullable(),
    lastUsedAt: p.datetime().fieldName('last_used_at').nullable(),
    createdAt: p.datetime().fieldName('created_at').defaultRaw('clock_timestamp()'),
  },
});

export const ApiKeySecret = defineEntity({
  name: 'ApiKeySecret',
  tableName: 'api_key_secret',
  properties: {
    id: p.string().primary(),
    keyId: p.string().fieldName('key_id'),
    digest: p.blob(),
    pepperId: p.string().fieldName('pepper_id'),
    prefix: p.string(),
    last4: p.string(),
    checksummed: p.boolean().default(true),
    createdAt: p.datetime().fieldName('created_at').defaultRaw('clock_timestamp()'),
    expiresAt: p.datetime().fieldName('expires_at').nullable(),
  },
});

export const CreditAccount = defineEntity({
  name: 'CreditAccount',
  tableName: 'credit_account',
  properties: {
    projectId: p.string().fieldName('project_id').primary(),
    balance: p.bigint('number').default(0),
    reserved: p.bigint('number').default(0),
    inFlight: p.integer().fieldName('in_flight').default(0),
  },
});

export const Reservation = defineEntity({
  name: 'Reservation',
  tableName: 'reservation',
  properties: {
    id: p.string().primary(),
    projectId: p.string().fieldName('project_id'),
    keyId: p.string().fieldName('key_id'),
    kind: p.string().$type<'media' | 'chat'>(),
    modelId: p.string().fieldName('model_id'),
    channelId: p.string().fieldName('channel_id').nullable(),
    amount: p.bigint('number'),
    state: p.string().$type<'held' | 'settled' | 'refunded'>().default('held'),
    settledAmount: p.bigint('number').fieldName('settled_amount').nullable(),
    inputTokens: p.bigint('number').fieldName('input_tokens').nullable(),
    outputTokens: p.bigint('number').fieldName('output_tokens').nullable(),
    usageEstimated: p.boolean().fieldName('usage_estimated').default(false),
    expiresAt: p.datetime().fieldName('expires_at'),
    createdAt: p.datetime().fieldName('created_at').defaultRaw('clock_timestamp()'),
    endedAt: p.datetime().fieldName('ended_at').nullable(),
  },
});

export const LedgerEntry = defineEntity({
  name: 'LedgerEntry',
  tableName: 'ledger_entry',
  properties: {
    id: p.bigint('number').primary(),
    projectId: p.string().fieldName('project_id'),
    keyId: p.string().fieldName('key_id').nullable(),
    reservationId: p.string().fieldName('reservation_id').nullable(),
    kind: p.string().$type<'topup' | 'hold' | 'settle' | 'refund' | 'adjust'>(),
    dBalance: p.bigint('number').fieldName('d_balance'),
    dReserved: p.bigint('number').fieldName('d_reserved'),
    reference: p.string().nullable(),
    reason: p.string().nullable(),
    createdAt: p.datetime().fieldName('created_at').defaultRaw('clock_timestamp()'),
  },
});

export const CatalogModel = defineEntity({
  name: 'CatalogModel',
  tableName: 'model',
  properties: {
    id: p.string().primary(),
    position: p.integer(),
    entry: p.json(),
    private: p.json(),
    updatedAt: p.datetime().fieldName('updated_at').defaultRaw('clock_timestamp()'),
  },
});

export const Channel = defineEntity({
  name: 'Channel',
  tableName: 'channel',
  properties: {
    id: p.string().primary(),
    name: p.string().unique(),
    adapter: p.string(),
    baseUrl: p.string().fieldName('base_url'),
    credential: p.string(),
    groups: p.array(),
    priority: p.integer().default(1),
    weight: p.integer().default(1),
    enabled: p.boolean().default(true),
    createdAt: p.datetime().fieldName('created_at').defaultRaw('clock_timestamp()'),
    updatedAt: p.datetime().fieldName('updated_at').defaultRaw('clock_timestamp()'),
  },
});

export const ChannelHealth = defineEntity({
  name: 'ChannelHealth',
  tableName: 'channel_health',
  properties: {
    channelId: p.string().fieldName('channel_id').primary(),
    modelId: p.string().fieldName('model_id').primary(),
    closedUntil: p.datetime().fieldName('closed_until').nullable(),
    reason: p.string().nullable(),
    failures: p.integer().default(0),
    opens: p.integer().default(0),
    openedAt: p.datetime().fieldName('opened_at').nullable(),
    probeUntil: p.datetime().fieldName('probe_until').nullable(),
    alarm: p.string().nullable(),
    alarmAt: p.datetime().fieldName('alarm_at').nullable(),
    updatedAt: p.datetime().fieldName('updated_at').defaultRaw('clock_timestamp()'),
  },
});

export const Task = defineEntity({
  name: 'Task',
  tableName: 'task',
  properties: {
    id: p.string().primary(),
    projectId: p.string().fieldName('project_id'),
    keyId: p.string().fieldName('key_id'),
    requestId: p.string().fieldName('request_id'),
    dialect: p.string().default('openai'),
    type: p.string().$type<'image' | 'video'>(),
    modelId: p.string().fieldName('model_id'),
    status: p.string().$type<'queued' | 'processing' | 'succeeded' | 'failed' | 'canceled'>().default('queued'),
    admission: p.string().$type<'open' | 'reserved' | 'rejected'>().default('open'),
    refusalCode: p.string().fieldName('refusal_code').nullable(),
    input: p.json().nullable(),
    snapshot: p.json(),
    creditsQuoted: p.bigint('number').fieldName('credits_quoted'),
    creditsReserved: p.bigint('number').fieldName('credits_reserved').default(0),
    creditsCharged: p.bigint('number').fieldName('credits_charged').default(0),
    creditsRefunded: p.bigint('number').fieldName('credits_refunded').default(0),
    progress: p.integer().nullable(),
    attempts: p.integer().default(0),
    channelId: p.string().fieldName('channel_id').nullable(),
    output: p.json().nullable(),
    errorCode: p.string().fieldName('error_code').nullable(),
    outcomeUnknown: p.boolean().fieldName('outcome_unknown').default(false),
    callbackUrl: p.string().fieldName('callback_url').nullable(),
    createdAt: p.datetime().fieldName('created_at').defaultRaw('clock_timestamp()'),
    startedAt: p.datetime().fieldName('started_at').nullable(),
    completedAt: p.datetime().fieldName('completed_at').nullable(),
    deadlineAt: p.datetime().fieldName('deadline_at'),
    expiresAt: p.datetime().fieldName('expires_at').nullable(),
    workflowStartedAt: p.datetime().fieldName('workflow_started_at').nullable(),
    startClaimedUntil: p.datetime().fieldName('start_claimed_until').nullable(),
    lastSeenAt: p.datetime().fieldName('last_seen_at').defaultRaw('clock_timestamp()'),
    cancelRequestedAt: p.datetime().fieldName('cancel_requested_at').nullable(),
    cancelRefusedAt: p.datetime().fieldName('cancel_refused_at').nullable(),
  },
});

export const AttemptRow = defineEntity({
  name: 'AttemptRow',
  tableName: 'attempt',
  properties: {
    id: p.string().primary(),
    requestId: p.string().fieldName('request_id'),
    n: p.integer(),
    channelId: p.string().fieldName('channel_id'),
    channelName: p.string().fieldName('channel_name'),
    fence: p.string(),
    submitDeadline: p.datetime().fieldName('submit_deadline'),
    startedAt: p.datetime().fieldName('started_at').defaultRaw('clock_timestamp()'),
    submittedAt: p.datetime().fieldName('submitted_at').nullable(),
    operation: p.json().nullable(),
    result: p.json().nullable(),
    outputs: p.json().nullable(),
    outcome: p.string().nullable(),
    code: p.string().nullable(),
    errorClass: p.string().fieldName('error_class').nullable(),
    status: p.integer().nullable(),
    detail: p.string().nullable(),
    costMicroUsd: p.bigint('number').fieldName('cost_micro_usd').default(0),
    modelId: p.string().fieldName('model_id').nullable(),
    stopSentAt: p.datetime().fieldName('stop_sent_at').nullable(),
    endedAt: p.datetime().fieldName('ended_at').nullable(),
  },
});

export const TaskResolution = defineEntity({
  name: 'TaskResolution',
  tableName: 'task_resolution',
  properties: {
    taskId: p.string().fieldName('task_id').primary(),
    outcome: p.string(),
    reference: p.string(),
    at: p.datetime().defaultRaw('clock_timestamp()'),
  },
});

export const Idempotency = defineEntity({
  name: 'Idempotency',
  tableName: 'idempotency',
  properties: {
    projectId: p.string().fieldName('project_id').primary(),
    route: p.string().primary(),
    key: p.string().primary(),
    fingerprint: p.string(),
    requestId: p.string().fieldName('request_id'),
    taskId: p.string().fieldName('task_id').nullable(),
    status: p.integer().nullable(),
    body: p.string().nullable(),
    boundAt: p.datetime().fieldName('bound_at').nullable(),
    createdAt: p.datetime().fieldName('created_at').defaultRaw('clock_timestamp()'),
    expiresAt: p.datetime().fieldName('expires_at'),
  },
});

export const StoredFile = defineEntity({
  name: 'StoredFile',
  tableName: 'file',
  properties: {
    id: p.string().primary(),
    projectId: p.string().fieldName('project_id'),
    taskId: p.string().fieldName('task_id').nullable(),
    purpose: p.string().$type<'output' | 'input' | 'upload'>(),
    storageKey: p.string().fieldName('storage_key').unique(),
    mimeType: p.string().fieldName('mime_type'),
    bytes: p.bigint('number'),
    sha256: p.string(),
    width: p.integer().nullable(),
    height: p.integer().nullable(),
    duration: p.double().nullable(),
    createdAt: p.datetime().fieldName('created_at').defaultRaw('clock_timestamp()'),
    expiresAt: p.datetime().fieldName('expires_at'),
    deletedAt: p.datetime().fieldName('deleted_at').nullable(),
    source: p.string().nullable(),
  },
});

export const Delivery = defineEntity({
  name: 'Delivery',
  tableName: 'delivery',
  properties: {
    id: p.string().primary(),
    taskId: p.string().fieldName('task_id'),
    projectId: p.string().fieldName('project_id'),
    eventId: p.string().fieldName('event_id').unique(),
    url: p.string(),
    state: p.string().$type<'pending' | 'delivered' | 'exhausted' | 'gone' | 'blocked'>().default('pending'),
    attempts: p.integer().default(0),
    lastStatus: p.integer().fieldName('last_status').nullable(),
    nextAttemptAt: p.datetime().fieldName('next_attempt_at').nullable(),
    leaseUntil: p.datetime().fieldName('lease_until').nullable(),
    leaseToken: p.string().fieldName('lease_token').nullable(),
    kickedAt: p.datetime().fieldName('kicked_at').nullable(),
    body: p.string().nullable(),
    workflowId: p.string().fieldName('workflow_id').nullable(),
    adoptedAt: p.datetime().fieldName('adopted_at').nullable(),
    createdAt: p.datetime().fieldName('created_at').defaultRaw('clock_timestamp()'),
    endedAt: p.datetime().fieldName('ended_at').nullable(),
  },
});

export const DeliveryAttempt = defineEntity({
  name: 'DeliveryAttempt',
  tableName: 'delivery_attempt',
  properties: {
    deliveryId: p.string().fieldName('delivery_id').primary(),
    n: p.integer().primary(),
    startedAt: p.datetime().fieldName('started_at').defaultRaw('clock_timestamp()'),
    endedAt: p.datetime().fieldName('ended_at').nullable(),
    status: p.integer().nullable(),
    errorClass: p.string().fieldName('error_class').nullable(),
  },
});

export const AuditEntry = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entry',
  properties: {
    id: p.bigint('number').primary(),
    at: p.datetime().defaultRaw('clock_timestamp()'),
    actor: p.string(),
    action: p.string(),
    subject: p.string(),
    detail: p.json(),
  },
});

export const RateSlot = defineEntity({
  name: 'RateSlot',
  tableName: 'rate_slot',
  properties: {
    keyId: p.string().fieldName('key_id').primary(),
    slot: p.bigint('number').primary(),
    n: p.integer(),
  },
});

export const JobRun = defineEntity({
  name: 'JobRun',
  tableName: 'job_run',
  properties: {
    id: p.string().primary(),
    name: p.string(),
    trigger: p.string().$type<'schedule' | 'endpoint' | 'loop' | 'operator'>(),
    state: p.string().$type<'requested' | 'running' | 'succeeded' | 'failed' | 'lost'>(),
    requestedAt: p.datetime().fieldName('requested_at').defaultRaw('clock_timestamp()'),
    startedAt: p.datetime().fieldName('started_at').nullable(),
    leaseUntil: p.datetime().fieldName('lease_until'),
    endedAt: p.datetime().fieldName('ended_at').nullable(),
    summary: p.json().nullable(),
  },
});

export const ApiDetail = defineEntity({
  name: 'ApiDetail',
  tableName: 'api_detail',
  properties: {
    requestId: p.string().fieldName('request_id').primary(),
    at: p.datetime().primary(),
    method: p.string(),
    route: p.string(),
    keyId: p.string().fieldName('key_id').nullable(),
    projectId: p.string().fieldName('project_id').nullable(),
    modelId: p.string().fieldName('model_id').nullable(),
    status: p.integer(),
    ms: p.integer(),
    credits: p.bigint('number').nullable(),
    attempts: p.integer().nullable(),
  },
});

export const SummaryMonth = defineEntity({
  name: 'SummaryMonth',
  tableName: 'summary_month',
  properties: {
    month: p.string().primary(),
    throughEntryId: p.bigint('number').fieldName('through_entry_id'),
    creditValueMicroUsd: p.bigint('number').fieldName('credit_value_micro_usd'),
    builtAt: p.datetime().fieldName('built_at'),
    frozenAt: p.datetime().fieldName('frozen_at').nullable(),
  },
});

export const MonthlySummary = defineEntity({
  name: 'MonthlySummary',
  tableName: 'monthly_summary',
  properties: {
    month: p.string().primary(),
    projectId: p.string().fieldName('project_id').primary(),
    modelId: p.string().fieldName('model_id').primary(),
    channelId: p.string().fieldName('channel_id').primary(),
    requests: p.bigint('number'),
    successes: p.bigint('number'),
    failures: p.bigint('number'),
    creditsCharged: p.bigint('number').fieldName('credits_charged'),
    costMicroUsd: p.bigint('number').fieldName('cost_micro_usd'),
    marginMicroUsd: p.bigint('number').fieldName('margin_micro_usd'),
    inputTokens: p.bigint('number').fieldName('input_tokens'),
    outputTokens: p.bigint('number').fieldName('output_tokens'),
  },
});

export const LedgerCheckpoint = defineEntity({
  name: 'LedgerCheckpoint',
  tableName: 'ledger_checkpoint',
  properties: {
    id: p.bigint('number').primary(),
    throughEntryId: p.bigint('number').fieldName('through_entry_id'),
    coversUntil: p.datetime().fieldName('covers_until'),
    createdAt: p.datetime().fieldName('created_at').defaultRaw('clock_timestamp()'),
  },
});

export const LedgerCheckpointAccount = defineEntity({
  name: 'LedgerCheckpointAccount',
  tableName: 'ledger_checkpoint_account',
  properties: {
    checkpointId: p.bigint('number').fieldName('checkpoint_id').primary(),
    projectId: p.string().fieldName('project_id').primary(),
    dBalance: p.bigint('number').fieldName('d_balance'),
    dReserved: p.bigint('number').fieldName('d_reserved'),
  },
});

export const LedgerCheckpointKey = defineEntity({
  name: 'LedgerCheckpointKey',
  tableName: 'ledger_checkpoint_key',
  properties: {
    checkpointId: p.bigint('number').fieldName('checkpoint_id').primary(),
    keyId: p.string().fieldName('key_id').primary(),
    spent: p.bigint('number'),
  },
});

export const entities = [
  Project,
  ApiKey,
  ApiKeySecret,
  CreditAccount,
  Reservation,
  LedgerEntry,
  CatalogModel,
  Channel,
  ChannelHealth,
  Task,
  AttemptRow,
  TaskResolution,
  Idempotency,
  StoredFile,
  Delivery,
  DeliveryAttempt,
  AuditEntry,
  RateSlot,
  JobRun,
  ApiDetail,
  SummaryMonth,
  MonthlySummary,
  LedgerCheckpoint,
  LedgerCheckpointAccount,
  LedgerCheckpointKey,
];
