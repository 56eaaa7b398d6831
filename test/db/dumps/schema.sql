create sequence applied_migration_id_seq as integer;

create sequence schema_migration_id_seq as integer;

create table admin_operator (
  created_at timestamp with time zone not null default clock_timestamp(),
  created_by text not null,
  id text not null,
  issuer text not null,
  last_used_at timestamp with time zone,
  name text not null,
  role text not null,
  subject text not null
);

create table admin_request (
  answer text,
  begun_at timestamp with time zone not null default clock_timestamp(),
  expires_at timestamp with time zone not null,
  fingerprint text not null,
  key text not null,
  principal_id text not null
);

create table admin_session (
  created_at timestamp with time zone not null default clock_timestamp(),
  digest bytea not null,
  expires_at timestamp with time zone not null,
  operator_id text,
  token_id text
);

create table admin_token (
  created_at timestamp with time zone not null default clock_timestamp(),
  created_by text not null,
  digest bytea not null,
  expires_at timestamp with time zone,
  id text not null,
  last4 text not null,
  last_used_at timestamp with time zone,
  name text not null,
  pepper_id text not null,
  prefix text not null,
  revoked_at timestamp with time zone,
  role text not null
);

create table alarm (
  count bigint not null,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  level text not null,
  message text not null,
  name text not null,
  subject text not null
);

create table alarm_silence (
  created_at timestamp with time zone not null default clock_timestamp(),
  created_by text not null,
  id text not null,
  name text not null,
  reason text not null,
  subject text not null,
  until timestamp with time zone not null
);

create table api_detail (
  at timestamp with time zone not null,
  attempts integer,
  credits bigint,
  error_code text,
  key_id text,
  method text not null,
  model_id text,
  ms integer not null,
  request_id text not null,
  route text not null,
  status integer not null
) partition by RANGE (at);

create table api_key (
  budget bigint,
  budget_daily bigint,
  budget_monthly bigint,
  created_at timestamp with time zone not null default clock_timestamp(),
  day_reserved bigint not null default 0,
  day_spent bigint not null default 0,
  expires_at timestamp with time zone,
  id text not null,
  in_flight integer not null default 0,
  in_flight_max integer,
  ip_ranges text[],
  last_used_at timestamp with time zone,
  metadata jsonb not null default '{}'::jsonb,
  models text[],
  month_reserved bigint not null default 0,
  month_spent bigint not null default 0,
  name text not null default ''::text,
  project_id text not null,
  reserved bigint not null default 0,
  revoked_at timestamp with time zone,
  rpm integer,
  scopes text[] not null default '{chat,media,read}'::text[],
  spent bigint not null default 0,
  used_on date
) with (fillfactor=50);

create table api_key_secret (
  checksummed boolean not null default true,
  created_at timestamp with time zone not null default clock_timestamp(),
  digest bytea not null,
  expires_at timestamp with time zone,
  id text not null,
  key_id text not null,
  last4 text not null,
  pepper_id text not null,
  prefix text not null
);

create table applied_function (
  applied_at timestamp with time zone not null default clock_timestamp(),
  checksum text not null,
  name text not null
);

create table applied_migration (
  executed_at timestamp(6) with time zone not null default CURRENT_TIMESTAMP(6),
  id integer not null default nextval('applied_migration_id_seq'::regclass),
  name character varying(255) not null
);

create table attempt (
  channel_id text not null,
  channel_name text not null,
  code text,
  cost_micro_usd bigint not null default 0,
  credential_id text,
  detail text,
  ended_at timestamp with time zone,
  error_class text,
  fence text not null,
  id text not null,
  missing_since timestamp with time zone,
  model_id text,
  n integer not null,
  next_poll_at timestamp with time zone,
  operation jsonb,
  outcome text,
  outputs jsonb,
  project_id text,
  request_id text not null,
  result jsonb,
  retry_at timestamp with time zone,
  retry_promised boolean,
  started_at timestamp with time zone not null default clock_timestamp(),
  status integer,
  stop_sent_at timestamp with time zone,
  submit_deadline timestamp with time zone not null,
  submitted_at timestamp with time zone
) with (fillfactor=60, autovacuum_vacuum_scale_factor=0.01, autovacuum_analyze_scale_factor=0.01);

create table audit_entry (
  action text not null,
  actor text not null,
  after jsonb,
  at timestamp with time zone not null default clock_timestamp(),
  before jsonb,
  detail jsonb not null default '{}'::jsonb,
  id bigint not null generated always as identity,
  subject text not null
);

create table balance_alert (
  crossings integer not null default 0,
  is_below boolean not null,
  project_id text not null,
  threshold text not null
);

create table balance_event (
  balance bigint not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  hook_state text,
  hook_status integer,
  hook_tries integer not null default 0,
  id text not null,
  mail_state text,
  mail_to text[],
  mail_tries integer not null default 0,
  next_try_at timestamp with time zone,
  project_id text not null,
  reserved bigint not null,
  threshold text not null,
  threshold_credits bigint not null,
  url text
);

create table channel (
  adapter text not null,
  base_url text not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  credential text not null,
  credential_id text not null default ('crd_0'::text || substr(replace((gen_random_uuid())::text, '-'::text, ''::text), 1, 25)),
  enabled boolean not null default true,
  groups text[] not null,
  id text not null,
  list_check boolean not null default true,
  name text not null,
  parallel integer,
  pooled_at timestamp with time zone,
  priority integer not null default 1,
  rpm integer,
  tpm integer,
  updated_at timestamp with time zone not null default clock_timestamp(),
  weight integer not null default 1
);

create table channel_call (
  channel_id text not null,
  credential_id text not null,
  expires_at timestamp with time zone,
  id text not null,
  second bigint not null,
  tokens bigint not null
);

create table channel_credential (
  alarm text,
  alarm_at timestamp with time zone,
  channel_id text not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  credential text,
  id text not null,
  last4 text,
  parallel integer,
  reason text,
  rpm integer,
  since timestamp with time zone,
  tpm integer,
  unavailable_until timestamp with time zone,
  updated_at timestamp with time zone not null default clock_timestamp()
);

create table channel_health (
  alarm text,
  alarm_at timestamp with time zone,
  channel_id text not null,
  failures integer not null default 0,
  model_id text not null,
  probe_project_id text,
  probe_until timestamp with time zone,
  reason text,
  tripped_at timestamp with time zone,
  trips integer not null default 0,
  unavailable_until timestamp with time zone,
  updated_at timestamp with time zone not null default clock_timestamp()
);

create table channel_history (
  at timestamp with time zone not null,
  channel_id text not null,
  durations integer[] not null,
  ok bigint not null,
  refused bigint not null,
  span text not null,
  transient bigint not null,
  unknown bigint not null
) with (fillfactor=70);

create table channel_mapping_state (
  channel_id text not null,
  model_id text not null,
  reason text,
  since timestamp with time zone,
  state text,
  succeeded_at timestamp with time zone
);

create unlogged table channel_use (
  requests integer not null,
  second bigint not null,
  subject_id text not null,
  tokens bigint not null
) with (fillfactor=50);

create table channel_witness (
  channel_id text not null,
  failed_at timestamp with time zone,
  model_id text not null,
  project_id text not null,
  used_at timestamp with time zone not null default clock_timestamp()
) with (fillfactor=70);

create table credit_account (
  balance bigint not null default 0,
  deducted bigint not null default 0,
  grant_due_at timestamp with time zone,
  grant_interval integer,
  grant_mark bigint,
  in_flight integer not null default 0,
  overdraft bigint not null default 0,
  overdraft_max bigint not null default 0,
  project_id text not null,
  reserved bigint not null default 0
) with (fillfactor=50);

create table credit_grant (
  absorbed bigint not null default 0,
  amount bigint not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  ends_at timestamp with time zone not null,
  expired bigint not null default 0,
  first_interval integer not null,
  id bigint not null generated always as identity,
  is_closed boolean not null default false,
  last_interval integer,
  project_id text not null,
  reference text not null,
  spent bigint not null default 0
);

create table daily_summary (
  cache_write_1h_tokens bigint not null default 0,
  cache_write_tokens bigint not null default 0,
  cached_input_tokens bigint not null default 0,
  channel_id text not null,
  cost_micro_usd bigint not null,
  credits_charged bigint not null,
  day date not null,
  failures bigint not null,
  input_tokens bigint not null,
  key_id text not null,
  left_charged bigint not null default 0,
  left_refunded bigint not null default 0,
  model_id text not null,
  output_tokens bigint not null,
  project_id text not null,
  reasoning_tokens bigint not null default 0,
  refusals bigint not null default 0,
  successes bigint not null,
  unknown_costs bigint not null default 0
);

create table deduction (
  amount bigint not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  project_id text not null,
  reference text not null
);

create table delivery (
  adopted_at timestamp with time zone,
  attempts integer not null default 0,
  body text,
  created_at timestamp with time zone not null default clock_timestamp(),
  ended_at timestamp with time zone,
  event_id text not null,
  id text not null,
  last_status integer,
  lease_token text,
  lease_until timestamp with time zone,
  next_attempt_at timestamp with time zone,
  project_id text not null,
  state text not null default 'pending'::text,
  task_id text not null,
  url text,
  woken_at timestamp with time zone,
  workflow_id text
) with (fillfactor=60);

create table delivery_attempt (
  delivery_id text not null,
  ended_at timestamp with time zone,
  error_class text,
  n integer not null,
  started_at timestamp with time zone not null default clock_timestamp(),
  status integer
);

create table file (
  bytes bigint not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  deleted_at timestamp with time zone,
  duration double precision,
  expires_at timestamp with time zone not null,
  height integer,
  id text not null,
  mime_type text not null,
  project_id text not null,
  purpose text not null,
  sha256 text not null,
  source text,
  storage_key text not null,
  task_id text,
  width integer
);

create table grant_interval (
  n integer not null,
  project_id text not null,
  used bigint not null
);

create table held_grant (
  code_digest bytea not null,
  credits bigint not null,
  ends_at timestamp with time zone,
  external_id text not null,
  given_at timestamp with time zone,
  name text not null,
  project_id text,
  source text not null
);

create table hold (
  amount bigint not null,
  channel_id text,
  channel_name text,
  created_at timestamp with time zone not null default clock_timestamp(),
  expires_at timestamp with time zone not null,
  grant_interval integer,
  id text not null,
  is_idempotent boolean not null default false,
  key_id text not null,
  kind text not null,
  model_id text not null,
  project_id text not null
) with (fillfactor=70, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000, autovacuum_vacuum_cost_delay=0);

create table idempotency (
  body text,
  bound_at timestamp with time zone,
  created_at timestamp with time zone not null default clock_timestamp(),
  expires_at timestamp with time zone not null,
  fingerprint text not null,
  key text not null,
  project_id text not null,
  replayed_at timestamp with time zone,
  request_id text not null,
  route text not null,
  status integer,
  task_id text
);

create table import_item (
  credits bigint,
  external_id text not null,
  imported_at timestamp with time zone not null default clock_timestamp(),
  internal_id text not null,
  kind text not null,
  revision integer not null default 1,
  settings jsonb not null,
  source text not null
);

create table installation (
  credit_value_micro_usd bigint not null,
  is_only boolean not null default true,
  last_backup_at timestamp with time zone,
  unknown_costs_from timestamp with time zone
);

create table job_run (
  ended_at timestamp with time zone,
  id text not null,
  lease_until timestamp with time zone not null,
  name text not null,
  requested_at timestamp with time zone not null default clock_timestamp(),
  started_at timestamp with time zone,
  state text not null,
  summary jsonb,
  trigger text not null
);

create table ledger_checkpoint (
  covers_until timestamp with time zone not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  id bigint not null generated always as identity,
  through_entry_id bigint not null
);

create table ledger_checkpoint_account (
  checkpoint_id bigint not null,
  credits bigint not null,
  deducted bigint not null default 0,
  project_id text not null
);

create table ledger_checkpoint_key (
  checkpoint_id bigint not null,
  day_spent bigint not null,
  key_id text not null,
  month_spent bigint not null,
  spent bigint not null
);

create table ledger_entry (
  balance_after bigint not null,
  began_at timestamp with time zone,
  cache_write_1h_tokens bigint,
  cache_write_tokens bigint,
  cached_input_tokens bigint,
  channel_id text,
  cost_micro_usd bigint,
  created_at timestamp with time zone not null default clock_timestamp(),
  credits bigint not null,
  delivered_tokens integer,
  held bigint,
  id bigint not null generated always as identity,
  input_tokens bigint,
  key_id text,
  kind text not null,
  model_id text,
  output_tokens bigint,
  project_id text not null,
  reason text,
  reasoning_tokens bigint,
  reference text,
  request_id text,
  usage_estimated boolean
) with (autovacuum_vacuum_insert_scale_factor=0, autovacuum_vacuum_insert_threshold=1000000, autovacuum_analyze_scale_factor=0, autovacuum_analyze_threshold=1000000);

create table model (
  created_at timestamp with time zone not null default clock_timestamp(),
  entry jsonb not null,
  id text not null,
  "position" integer not null,
  private jsonb not null,
  updated_at timestamp with time zone not null default clock_timestamp()
);

create table monthly_summary (
  cache_write_1h_tokens bigint not null default 0,
  cache_write_tokens bigint not null default 0,
  cached_input_tokens bigint not null default 0,
  channel_id text not null,
  cost_micro_usd bigint not null,
  credits_charged bigint not null,
  failures bigint not null,
  input_tokens bigint not null,
  left_charged bigint not null default 0,
  left_refunded bigint not null default 0,
  margin_micro_usd bigint not null,
  model_id text not null,
  month text not null,
  output_tokens bigint not null,
  project_id text not null,
  reasoning_tokens bigint not null default 0,
  requests bigint not null,
  successes bigint not null,
  unknown_costs bigint not null default 0
);

create table oidc_sign_in (
  expires_at timestamp with time zone not null,
  state_sha256 text not null
);

create table plan (
  created_at timestamp with time zone not null default clock_timestamp(),
  id text not null,
  name text not null,
  revision bigint not null default 1,
  rules jsonb not null,
  updated_at timestamp with time zone not null default clock_timestamp()
);

create table playground_key (
  key_id text not null,
  principal_id text not null,
  project_id text not null
);

create table project (
  alert_at text[],
  alert_mail text[],
  alert_url text,
  callback_secret text not null,
  callback_secret_previous text,
  callback_secret_previous_until timestamp with time zone,
  created_at timestamp with time zone not null default clock_timestamp(),
  id text not null,
  metadata jsonb not null default '{}'::jsonb,
  name text not null,
  note text,
  plan_id text,
  status text not null default 'active'::text,
  trace_content text
);

create unlogged table rate_window (
  counts integer[] not null,
  key_id text not null,
  last_batches bigint[] not null default '{}'::bigint[],
  last_granted integer[] not null default '{}'::integer[],
  oldest bigint not null,
  second bigint not null,
  senders bigint[] not null default '{}'::bigint[],
  total integer not null
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000);

create table restore_mark (
  history text,
  id bigint not null generated always as identity,
  marked_at timestamp with time zone not null default clock_timestamp(),
  released_at timestamp with time zone,
  restored_through timestamp with time zone not null
);

create table retention_floor (
  api_detail_days integer not null,
  id integer not null default 1
);

create table schema_function (
  applied_at timestamp with time zone not null default clock_timestamp(),
  checksum text not null,
  name text not null
);

create table schema_migration (
  executed_at timestamp(6) with time zone not null default CURRENT_TIMESTAMP(6),
  id integer not null default nextval('schema_migration_id_seq'::regclass),
  name character varying(255) not null
);

create table summary_day (
  built_at timestamp with time zone not null,
  day date not null,
  frozen_at timestamp with time zone,
  through_entry_id bigint not null
);

create table summary_month (
  built_at timestamp with time zone not null,
  credit_value_micro_usd bigint not null,
  frozen_at timestamp with time zone,
  month text not null
);

create table task (
  admission text not null default 'open'::text,
  attempts integer not null default 0,
  callback_url text,
  cancel_refused_at timestamp with time zone,
  cancel_requested_at timestamp with time zone,
  channel_id text,
  completed_at timestamp with time zone,
  created_at timestamp with time zone not null default clock_timestamp(),
  credits_charged bigint not null default 0,
  credits_quoted bigint not null,
  credits_refunded bigint not null default 0,
  credits_reserved bigint not null default 0,
  deadline_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  dialect text not null default 'openai'::text,
  error_code text,
  expires_at timestamp with time zone,
  id text not null,
  input jsonb,
  key_id text not null,
  last_seen_at timestamp with time zone not null default clock_timestamp(),
  listed_as text generated always as (
CASE
    WHEN ((completed_at IS NOT NULL) AND (admission = 'reserved'::text) AND (deleted_at IS NULL)) THEN status
    ELSE NULL::text
END) stored,
  max_credits bigint,
  metadata jsonb,
  model_id text not null,
  outcome_unknown boolean not null default false,
  output jsonb,
  progress integer,
  project_id text not null,
  refusal_code text,
  request_id text not null,
  snapshot jsonb not null,
  start_claimed_until timestamp with time zone,
  started_at timestamp with time zone,
  status text not null default 'queued'::text,
  trace_parent text,
  type text not null,
  workflow_started_at timestamp with time zone
) with (fillfactor=60, autovacuum_vacuum_scale_factor=0.01, autovacuum_analyze_scale_factor=0.01);

create table task_metadata (
  created_at timestamp with time zone not null,
  pair bigint not null,
  task_id text not null
);

create table task_resolution (
  at timestamp with time zone not null default clock_timestamp(),
  outcome text not null,
  reference text not null,
  task_id text not null
);

create table traffic (
  cost_micro_usd bigint not null,
  credits bigint not null,
  failed bigint not null,
  first_entry_id bigint not null,
  last_entry_id bigint not null,
  latency_class integer not null,
  slot timestamp with time zone not null,
  succeeded bigint not null
);

create table traffic_mark (
  id integer not null default 1,
  through_entry_id bigint not null
);

create table traffic_unknown_cost (
  slot timestamp with time zone not null,
  unknown_costs bigint not null
);

create table usage_half_hour (
  cache_write_1h_tokens bigint not null default 0,
  cache_write_tokens bigint not null default 0,
  cached_input_tokens bigint not null default 0,
  credits_charged bigint not null,
  failures bigint not null,
  input_tokens bigint not null,
  key_id text not null,
  model_id text not null,
  output_tokens bigint not null,
  project_id text not null,
  reasoning_tokens bigint not null default 0,
  slot timestamp with time zone not null,
  successes bigint not null
);

create table usage_mark (
  id integer not null default 1,
  through_entry_id bigint
);

create table usage_slot (
  cache_write_1h_tokens bigint not null,
  cache_write_tokens bigint not null,
  cached_input_tokens bigint not null,
  channel_id text not null,
  cost_micro_usd bigint not null,
  credits_charged bigint not null,
  failures bigint not null,
  input_tokens bigint not null,
  key_id text not null,
  left_charged bigint not null default 0,
  left_refunded bigint not null default 0,
  model_id text not null,
  output_tokens bigint not null,
  project_id text not null,
  reasoning_tokens bigint not null,
  refusals bigint not null,
  slot timestamp with time zone not null,
  successes bigint not null,
  unknown_costs bigint not null default 0
);

alter table admin_operator add constraint admin_operator_issuer_subject_key UNIQUE (issuer, subject);

alter table admin_operator add constraint admin_operator_pkey PRIMARY KEY (id);

alter table admin_operator add constraint admin_operator_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text, 'owner'::text])));

alter table admin_request add constraint admin_request_pkey PRIMARY KEY (principal_id, key);

alter table admin_session add constraint admin_session_check CHECK ((num_nonnulls(token_id, operator_id) = 1));

alter table admin_session add constraint admin_session_pkey PRIMARY KEY (digest);

alter table admin_token add constraint admin_token_digest_key UNIQUE (digest);

alter table admin_token add constraint admin_token_pkey PRIMARY KEY (id);

alter table admin_token add constraint admin_token_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text, 'owner'::text])));

alter table alarm add constraint alarm_pkey PRIMARY KEY (name, subject);

alter table alarm_silence add constraint alarm_silence_pkey PRIMARY KEY (id);

alter table api_key add constraint api_key_budget_check CHECK ((budget >= 0));

alter table api_key add constraint api_key_budget_daily_check CHECK ((budget_daily >= 0));

alter table api_key add constraint api_key_budget_monthly_check CHECK ((budget_monthly >= 0));

alter table api_key add constraint api_key_day_reserved_check CHECK ((day_reserved >= 0));

alter table api_key add constraint api_key_day_spent_check CHECK ((day_spent >= 0));

alter table api_key add constraint api_key_in_flight_check CHECK ((in_flight >= 0));

alter table api_key add constraint api_key_in_flight_max_check CHECK ((in_flight_max > 0));

alter table api_key add constraint api_key_month_reserved_check CHECK ((month_reserved >= 0));

alter table api_key add constraint api_key_month_spent_check CHECK ((month_spent >= 0));

alter table api_key add constraint api_key_pkey PRIMARY KEY (id);

alter table api_key add constraint api_key_reserved_check CHECK ((reserved >= 0));

alter table api_key add constraint api_key_rpm_check CHECK ((rpm > 0));

alter table api_key add constraint api_key_scopes_check CHECK (((scopes <@ '{chat,media,read}'::text[]) AND (scopes <> '{}'::text[])));

alter table api_key add constraint api_key_spent_check CHECK ((spent >= 0));

alter table api_key_secret add constraint api_key_secret_digest_key UNIQUE (digest);

alter table api_key_secret add constraint api_key_secret_pkey PRIMARY KEY (id);

alter table applied_function add constraint applied_function_pkey PRIMARY KEY (name);

alter table applied_migration add constraint applied_migration_pkey PRIMARY KEY (id);

alter table attempt add constraint attempt_check CHECK (((outcome IS NULL) = (ended_at IS NULL)));

alter table attempt add constraint attempt_check1 CHECK (((next_poll_at IS NULL) OR ((outcome IS NULL) AND (operation IS NOT NULL) AND (project_id IS NOT NULL))));

alter table attempt add constraint attempt_n_check CHECK ((n > 0));

alter table attempt add constraint attempt_outcome_check CHECK ((outcome = ANY (ARRAY['ok'::text, 'refused'::text, 'transient'::text, 'unknown'::text, 'canceled'::text])));

alter table attempt add constraint attempt_pkey PRIMARY KEY (id);

alter table attempt add constraint attempt_request_id_n_key UNIQUE (request_id, n);

alter table audit_entry add constraint audit_entry_pkey PRIMARY KEY (id);

alter table balance_alert add constraint balance_alert_pkey PRIMARY KEY (project_id, threshold);

alter table balance_event add constraint balance_event_hook_state_check CHECK ((hook_state = ANY (ARRAY['pending'::text, 'delivered'::text, 'exhausted'::text, 'gone'::text, 'blocked'::text])));

alter table balance_event add constraint balance_event_mail_state_check CHECK ((mail_state = ANY (ARRAY['pending'::text, 'sent'::text, 'exhausted'::text])));

alter table balance_event add constraint balance_event_pkey PRIMARY KEY (id);

alter table channel add constraint channel_name_key UNIQUE (name);

alter table channel add constraint channel_parallel_check CHECK ((parallel > 0));

alter table channel add constraint channel_pkey PRIMARY KEY (id);

alter table channel add constraint channel_priority_check CHECK ((priority >= 0));

alter table channel add constraint channel_rpm_check CHECK ((rpm > 0));

alter table channel add constraint channel_tpm_check CHECK ((tpm > 0));

alter table channel add constraint channel_weight_check CHECK ((weight >= 0));

alter table channel_call add constraint channel_call_pkey PRIMARY KEY (id);

alter table channel_credential add constraint channel_credential_parallel_check CHECK ((parallel > 0));

alter table channel_credential add constraint channel_credential_pkey PRIMARY KEY (id);

alter table channel_credential add constraint channel_credential_rpm_check CHECK ((rpm > 0));

alter table channel_credential add constraint channel_credential_tpm_check CHECK ((tpm > 0));

alter table channel_health add constraint channel_health_pkey PRIMARY KEY (channel_id, model_id);

alter table channel_history add constraint channel_history_pkey PRIMARY KEY (channel_id, span, at);

alter table channel_history add constraint channel_history_span_check CHECK ((span = ANY (ARRAY['minute'::text, 'hour'::text])));

alter table channel_mapping_state add constraint channel_mapping_state_check CHECK (((state IS NULL) = (since IS NULL)));

alter table channel_mapping_state add constraint channel_mapping_state_pkey PRIMARY KEY (channel_id, model_id);

alter table channel_mapping_state add constraint channel_mapping_state_state_check CHECK ((state = 'unlisted'::text));

alter table channel_use add constraint channel_use_pkey PRIMARY KEY (subject_id, second);

alter table channel_witness add constraint channel_witness_pkey PRIMARY KEY (channel_id, model_id, project_id);

alter table credit_account add constraint credit_account_balance_check CHECK ((((balance + deducted) + overdraft_max) >= 0));

alter table credit_account add constraint credit_account_in_flight_check CHECK ((in_flight >= 0));

alter table credit_account add constraint credit_account_overdraft_check CHECK ((overdraft >= 0));

alter table credit_account add constraint credit_account_overdraft_max_check CHECK ((overdraft_max >= overdraft));

alter table credit_account add constraint credit_account_pkey PRIMARY KEY (project_id);

alter table credit_account add constraint credit_account_reserved_check CHECK ((reserved >= 0));

alter table credit_grant add constraint credit_grant_absorbed_check CHECK ((absorbed >= 0));

alter table credit_grant add constraint credit_grant_amount_check CHECK ((amount > 0));

alter table credit_grant add constraint credit_grant_check CHECK ((((absorbed + spent) + expired) <= amount));

alter table credit_grant add constraint credit_grant_check1 CHECK (((NOT is_closed) OR ((last_interval IS NOT NULL) AND (((absorbed + spent) + expired) = amount))));

alter table credit_grant add constraint credit_grant_expired_check CHECK ((expired >= 0));

alter table credit_grant add constraint credit_grant_pkey PRIMARY KEY (id);

alter table credit_grant add constraint credit_grant_project_id_reference_key UNIQUE (project_id, reference);

alter table credit_grant add constraint credit_grant_spent_check CHECK ((spent >= 0));

alter table daily_summary add constraint daily_summary_pkey PRIMARY KEY (day, project_id, key_id, model_id, channel_id);

alter table deduction add constraint deduction_amount_check CHECK ((amount > 0));

alter table deduction add constraint deduction_pkey PRIMARY KEY (project_id, reference);

alter table delivery add constraint delivery_check CHECK (((state = 'pending'::text) = (ended_at IS NULL)));

alter table delivery add constraint delivery_check1 CHECK (((state <> 'pending'::text) OR (url IS NOT NULL)));

alter table delivery add constraint delivery_event_id_key UNIQUE (event_id);

alter table delivery add constraint delivery_pkey PRIMARY KEY (id);

alter table delivery add constraint delivery_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'exhausted'::text, 'gone'::text, 'blocked'::text, 'replaced'::text]))) NOT VALID;

alter table delivery_attempt add constraint delivery_attempt_pkey PRIMARY KEY (delivery_id, n);

alter table file add constraint file_pkey PRIMARY KEY (id);

alter table file add constraint file_purpose_check CHECK ((purpose = ANY (ARRAY['output'::text, 'input'::text, 'upload'::text])));

alter table file add constraint file_storage_key_key UNIQUE (storage_key);

alter table grant_interval add constraint grant_interval_pkey PRIMARY KEY (project_id, n);

alter table grant_interval add constraint grant_interval_used_check CHECK ((used >= 0));

alter table held_grant add constraint held_grant_code_digest_key UNIQUE (code_digest);

alter table held_grant add constraint held_grant_credits_check CHECK ((credits > 0));

alter table held_grant add constraint held_grant_pkey PRIMARY KEY (source, external_id);

alter table hold add constraint hold_amount_check CHECK ((amount > 0));

alter table hold add constraint hold_kind_check CHECK ((kind = ANY (ARRAY['media'::text, 'chat'::text])));

alter table hold add constraint hold_pkey PRIMARY KEY (id);

alter table idempotency add constraint idempotency_pkey PRIMARY KEY (project_id, route, key);

alter table import_item add constraint import_item_kind_check CHECK ((kind = ANY (ARRAY['project'::text, 'key'::text, 'channel'::text])));

alter table import_item add constraint import_item_pkey PRIMARY KEY (source, kind, external_id);

alter table installation add constraint installation_credit_value_micro_usd_check CHECK ((credit_value_micro_usd >= 0));

alter table installation add constraint installation_is_only_check CHECK (is_only);

alter table installation add constraint installation_pkey PRIMARY KEY (is_only);

alter table job_run add constraint job_run_check CHECK (((state = ANY (ARRAY['requested'::text, 'running'::text])) = (ended_at IS NULL)));

alter table job_run add constraint job_run_pkey PRIMARY KEY (id);

alter table job_run add constraint job_run_state_check CHECK ((state = ANY (ARRAY['requested'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'lost'::text])));

alter table job_run add constraint job_run_trigger_check CHECK ((trigger = ANY (ARRAY['schedule'::text, 'endpoint'::text, 'loop'::text, 'operator'::text])));

alter table ledger_checkpoint add constraint ledger_checkpoint_pkey PRIMARY KEY (id);

alter table ledger_checkpoint_account add constraint ledger_checkpoint_account_pkey PRIMARY KEY (checkpoint_id, project_id);

alter table ledger_checkpoint_key add constraint ledger_checkpoint_key_pkey PRIMARY KEY (checkpoint_id, key_id);

alter table ledger_entry add constraint ledger_entry_check CHECK (
CASE kind
    WHEN 'settle'::text THEN ((credits >= (- held)) AND (credits <= 0))
    WHEN 'refund'::text THEN ((credits = 0) AND (held > 0))
    ELSE (held IS NULL)
END);

alter table ledger_entry add constraint ledger_entry_kind_check CHECK ((kind = ANY (ARRAY['topup'::text, 'settle'::text, 'refund'::text, 'adjust'::text, 'deduct'::text, 'expiry'::text]))) NOT VALID;

alter table ledger_entry add constraint ledger_entry_pkey PRIMARY KEY (id);

alter table model add constraint model_pkey PRIMARY KEY (id);

alter table monthly_summary add constraint monthly_summary_pkey PRIMARY KEY (month, project_id, model_id, channel_id);

alter table oidc_sign_in add constraint oidc_sign_in_pkey PRIMARY KEY (state_sha256);

alter table plan add constraint plan_name_key UNIQUE (name);

alter table plan add constraint plan_pkey PRIMARY KEY (id);

alter table playground_key add constraint playground_key_pkey PRIMARY KEY (project_id, principal_id);

alter table project add constraint project_pkey PRIMARY KEY (id);

alter table project add constraint project_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text])));

alter table project add constraint project_trace_content_check CHECK ((trace_content = ANY (ARRAY['redacted'::text, 'full'::text])));

alter table rate_window add constraint rate_window_pkey PRIMARY KEY (key_id);

alter table restore_mark add constraint restore_mark_pkey PRIMARY KEY (id);

alter table retention_floor add constraint retention_floor_api_detail_days_check CHECK ((api_detail_days > 0));

alter table retention_floor add constraint retention_floor_id_check CHECK ((id = 1));

alter table retention_floor add constraint retention_floor_pkey PRIMARY KEY (id);

alter table schema_function add constraint schema_function_pkey PRIMARY KEY (name);

alter table schema_migration add constraint schema_migration_pkey PRIMARY KEY (id);

alter table summary_day add constraint summary_day_pkey PRIMARY KEY (day);

alter table summary_month add constraint summary_month_month_check CHECK ((month ~ '^[0-9]{4}-[0-9]{2}$'::text));

alter table summary_month add constraint summary_month_pkey PRIMARY KEY (month);

alter table task add constraint task_admission_check CHECK ((admission = ANY (ARRAY['open'::text, 'reserved'::text, 'rejected'::text])));

alter table task add constraint task_check CHECK (((status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'canceled'::text])) = (completed_at IS NOT NULL)));

alter table task add constraint task_check1 CHECK (((status <> 'succeeded'::text) OR (output IS NOT NULL) OR (expires_at IS NOT NULL)));

alter table task add constraint task_credits_quoted_check CHECK ((credits_quoted > 0));

alter table task add constraint task_pkey PRIMARY KEY (id);

alter table task add constraint task_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'processing'::text, 'succeeded'::text, 'failed'::text, 'canceled'::text])));

alter table task add constraint task_type_check CHECK ((type = ANY (ARRAY['image'::text, 'video'::text])));

alter table task_metadata add constraint task_metadata_pkey PRIMARY KEY (pair, created_at, task_id);

alter table task_resolution add constraint task_resolution_outcome_check CHECK ((outcome = ANY (ARRAY['bought'::text, 'not_bought'::text])));

alter table task_resolution add constraint task_resolution_pkey PRIMARY KEY (task_id);

alter table traffic add constraint traffic_pkey PRIMARY KEY (slot, latency_class);

alter table traffic_mark add constraint traffic_mark_id_check CHECK ((id = 1));

alter table traffic_mark add constraint traffic_mark_pkey PRIMARY KEY (id);

alter table traffic_unknown_cost add constraint traffic_unknown_cost_pkey PRIMARY KEY (slot);

alter table usage_half_hour add constraint usage_half_hour_pkey PRIMARY KEY (slot, project_id, key_id, model_id);

alter table usage_mark add constraint usage_mark_id_check CHECK ((id = 1));

alter table usage_mark add constraint usage_mark_pkey PRIMARY KEY (id);

alter table usage_slot add constraint usage_slot_pkey PRIMARY KEY (slot, project_id, key_id, model_id, channel_id);

alter table admin_session add constraint admin_session_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES admin_operator(id) ON DELETE CASCADE;

alter table admin_session add constraint admin_session_token_id_fkey FOREIGN KEY (token_id) REFERENCES admin_token(id);

alter table api_key add constraint api_key_project_id_fkey FOREIGN KEY (project_id) REFERENCES project(id);

alter table api_key_secret add constraint api_key_secret_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_key(id);

alter table channel_credential add constraint channel_credential_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE;

alter table channel_health add constraint channel_health_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE;

alter table channel_mapping_state add constraint channel_mapping_state_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE;

alter table channel_witness add constraint channel_witness_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE;

alter table credit_account add constraint credit_account_project_id_fkey FOREIGN KEY (project_id) REFERENCES project(id);

alter table daily_summary add constraint daily_summary_day_fkey FOREIGN KEY (day) REFERENCES summary_day(day);

alter table delivery add constraint delivery_project_id_fkey FOREIGN KEY (project_id) REFERENCES project(id);

alter table delivery add constraint delivery_task_id_fkey FOREIGN KEY (task_id) REFERENCES task(id);

alter table delivery_attempt add constraint delivery_attempt_delivery_id_fkey FOREIGN KEY (delivery_id) REFERENCES delivery(id);

alter table file add constraint file_project_id_fkey FOREIGN KEY (project_id) REFERENCES project(id);

alter table held_grant add constraint held_grant_project_id_fkey FOREIGN KEY (project_id) REFERENCES project(id);

alter table idempotency add constraint idempotency_project_id_fkey FOREIGN KEY (project_id) REFERENCES project(id);

alter table ledger_checkpoint_account add constraint ledger_checkpoint_account_checkpoint_id_fkey FOREIGN KEY (checkpoint_id) REFERENCES ledger_checkpoint(id) ON DELETE CASCADE;

alter table ledger_checkpoint_key add constraint ledger_checkpoint_key_checkpoint_id_fkey FOREIGN KEY (checkpoint_id) REFERENCES ledger_checkpoint(id) ON DELETE CASCADE;

alter table monthly_summary add constraint monthly_summary_month_fkey FOREIGN KEY (month) REFERENCES summary_month(month);

alter table playground_key add constraint playground_key_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_key(id);

alter table playground_key add constraint playground_key_project_id_fkey FOREIGN KEY (project_id) REFERENCES project(id);

alter table project add constraint project_plan_id_fkey FOREIGN KEY (plan_id) REFERENCES plan(id);

alter table task add constraint task_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_key(id);

alter table task add constraint task_project_id_fkey FOREIGN KEY (project_id) REFERENCES project(id);

alter table task_resolution add constraint task_resolution_task_id_fkey FOREIGN KEY (task_id) REFERENCES task(id) ON DELETE CASCADE;

CREATE INDEX admin_request_expiry_idx ON public.admin_request USING btree (expires_at);

CREATE INDEX admin_session_expiry_idx ON public.admin_session USING btree (expires_at);

CREATE INDEX api_detail_at_idx ON ONLY public.api_detail USING brin (at) WITH (pages_per_range='32', autosummarize='on');

CREATE INDEX api_key_project_idx ON public.api_key USING btree (project_id);

CREATE INDEX api_key_secret_key_idx ON public.api_key_secret USING btree (key_id);

CREATE INDEX api_key_secret_last4_idx ON public.api_key_secret USING btree (last4);

CREATE INDEX api_key_secret_prefix_idx ON public.api_key_secret USING btree (prefix text_pattern_ops);

CREATE UNIQUE INDEX attempt_bought_once_idx ON public.attempt USING btree (request_id, channel_id) WHERE (retry_at IS NULL);

CREATE INDEX attempt_parked_idx ON public.attempt USING btree (channel_id, project_id, next_poll_at) WHERE (next_poll_at IS NOT NULL);

CREATE INDEX attempt_provider_job_idx ON public.attempt USING btree (COALESCE((operation ->> 'task_id'::text), (operation ->> 'request_id'::text), (operation ->> 'prediction_id'::text), (operation ->> 'interaction_id'::text), (operation ->> 'video_id'::text), (operation ->> 'name'::text))) WHERE (operation IS NOT NULL);

CREATE INDEX attempt_started_idx ON public.attempt USING brin (started_at) WITH (pages_per_range='32', autosummarize='on');

CREATE INDEX audit_entry_action_idx ON public.audit_entry USING btree (action, at, id);

CREATE INDEX audit_entry_actor_idx ON public.audit_entry USING btree (actor, at, id);

CREATE INDEX audit_entry_at_idx ON public.audit_entry USING btree (at, id);

CREATE INDEX audit_entry_subject_idx ON public.audit_entry USING btree (subject, at, id);

CREATE INDEX balance_event_due_idx ON public.balance_event USING btree (next_try_at) WHERE (next_try_at IS NOT NULL);

CREATE INDEX balance_event_project_idx ON public.balance_event USING btree (project_id, created_at);

CREATE INDEX channel_call_channel_idx ON public.channel_call USING btree (channel_id);

CREATE INDEX channel_credential_channel_idx ON public.channel_credential USING btree (channel_id);

CREATE INDEX credit_grant_open_idx ON public.credit_grant USING btree (project_id, ends_at) WHERE (NOT is_closed);

CREATE INDEX delivery_due_idx ON public.delivery USING btree (next_attempt_at) WHERE (ended_at IS NULL);

CREATE INDEX delivery_ended_idx ON public.delivery USING btree (state, created_at DESC, id DESC) WHERE (ended_at IS NOT NULL);

CREATE INDEX delivery_ended_project_idx ON public.delivery USING btree (project_id, state, created_at DESC, id DESC) WHERE (ended_at IS NOT NULL);

CREATE INDEX delivery_host_idx ON public.delivery USING btree (lower(split_part(split_part(url, '/'::text, 3), '@'::text, '-1'::integer)), created_at DESC, id DESC);

CREATE INDEX delivery_redelivery_idx ON public.delivery USING btree (project_id) WHERE ((ended_at IS NULL) AND (workflow_id IS NOT NULL));

CREATE INDEX delivery_task_idx ON public.delivery USING btree (task_id, created_at DESC);

CREATE INDEX delivery_attempt_started_idx ON public.delivery_attempt USING brin (started_at) WITH (pages_per_range='32', autosummarize='on');

CREATE INDEX file_deleted_idx ON public.file USING btree (id) WHERE (deleted_at IS NOT NULL);

CREATE INDEX file_expires_idx ON public.file USING btree (expires_at) WHERE (deleted_at IS NULL);

CREATE INDEX file_project_idx ON public.file USING btree (project_id) INCLUDE (bytes) WHERE (deleted_at IS NULL);

CREATE UNIQUE INDEX file_source_idx ON public.file USING btree (task_id, source) WHERE (source IS NOT NULL);

CREATE INDEX idempotency_expires_idx ON public.idempotency USING btree (expires_at);

CREATE INDEX idempotency_request_idx ON public.idempotency USING btree (request_id);

CREATE INDEX idempotency_task_idx ON public.idempotency USING btree (task_id) WHERE (task_id IS NOT NULL);

CREATE UNIQUE INDEX job_run_active_idx ON public.job_run USING btree (name) WHERE (ended_at IS NULL);

CREATE INDEX job_run_recent_idx ON public.job_run USING btree (name, requested_at DESC);

CREATE UNIQUE INDEX ledger_entry_adjust_idx ON public.ledger_entry USING btree (request_id, reason) WHERE (kind = 'adjust'::text);

CREATE INDEX ledger_entry_created_idx ON public.ledger_entry USING brin (created_at) WITH (pages_per_range='32', autosummarize='on');

CREATE UNIQUE INDEX ledger_entry_end_idx ON public.ledger_entry USING btree (request_id) WHERE (kind = ANY (ARRAY['settle'::text, 'refund'::text]));

CREATE INDEX ledger_entry_key_idx ON public.ledger_entry USING btree (key_id, created_at, id) WHERE (key_id IS NOT NULL);

CREATE INDEX ledger_entry_project_idx ON public.ledger_entry USING btree (project_id, created_at, id);

CREATE UNIQUE INDEX ledger_entry_topup_idx ON public.ledger_entry USING btree (project_id, reference) WHERE (kind = 'topup'::text);

CREATE INDEX project_plan ON public.project USING btree (plan_id) WHERE (plan_id IS NOT NULL);

CREATE UNIQUE INDEX restore_mark_open_idx ON public.restore_mark USING btree ((true)) WHERE (released_at IS NULL);

CREATE INDEX task_completed_idx ON public.task USING btree (completed_at) WHERE (completed_at IS NOT NULL);

CREATE INDEX task_content_idx ON public.task USING btree (expires_at) WHERE ((completed_at IS NOT NULL) AND ((input IS NOT NULL) OR (output IS NOT NULL)));

CREATE INDEX task_ended_anywhere_idx ON public.task USING btree (type, listed_as, created_at DESC, id DESC) WHERE (listed_as IS NOT NULL);

CREATE INDEX task_ended_anywhere_model_idx ON public.task USING btree (model_id, type, listed_as, created_at DESC, id DESC) WHERE (listed_as IS NOT NULL);

CREATE INDEX task_ended_idx ON public.task USING btree (project_id, type, listed_as, created_at DESC, id DESC) WHERE (listed_as IS NOT NULL);

CREATE INDEX task_ended_key_idx ON public.task USING btree (key_id, type, listed_as, created_at DESC, id DESC) WHERE (listed_as IS NOT NULL);

CREATE INDEX task_ended_key_model_idx ON public.task USING btree (key_id, model_id, type, listed_as, created_at DESC, id DESC) WHERE (listed_as IS NOT NULL);

CREATE INDEX task_ended_model_idx ON public.task USING btree (project_id, model_id, type, listed_as, created_at DESC, id DESC) WHERE (listed_as IS NOT NULL);

CREATE INDEX task_live_idx ON public.task USING btree (deadline_at) WHERE ((completed_at IS NULL) AND (admission <> 'rejected'::text));

CREATE INDEX task_open_idx ON public.task USING btree (created_at) WHERE (admission = 'open'::text);

CREATE INDEX task_rejected_idx ON public.task USING btree (completed_at) WHERE (admission = 'rejected'::text);

CREATE INDEX task_request_idx ON public.task USING btree (request_id);

CREATE INDEX task_running_idx ON public.task USING btree (project_id, created_at DESC, id DESC) WHERE ((completed_at IS NULL) AND (admission = 'reserved'::text));

CREATE INDEX task_unknown_idx ON public.task USING btree (id DESC) WHERE outcome_unknown;

CREATE INDEX task_unstarted_idx ON public.task USING btree (created_at) WHERE ((admission = 'reserved'::text) AND (workflow_started_at IS NULL) AND (completed_at IS NULL));

create view reservation as
 SELECT hold.id,
    hold.project_id,
    hold.key_id,
    hold.model_id,
    hold.channel_id,
    hold.amount,
    'held'::text AS state,
    NULL::bigint AS settled_amount,
    NULL::bigint AS input_tokens,
    NULL::bigint AS output_tokens,
    NULL::boolean AS usage_estimated,
    hold.expires_at,
    hold.created_at,
    NULL::timestamp with time zone AS ended_at
   FROM hold
UNION ALL
 SELECT ledger_entry.request_id AS id,
    ledger_entry.project_id,
    ledger_entry.key_id,
    ledger_entry.model_id,
    ledger_entry.channel_id,
    ledger_entry.held AS amount,
        CASE ledger_entry.kind
            WHEN 'settle'::text THEN 'settled'::text
            ELSE 'refunded'::text
        END AS state,
        CASE ledger_entry.kind
            WHEN 'settle'::text THEN (- ledger_entry.credits)
            ELSE NULL::bigint
        END AS settled_amount,
    ledger_entry.input_tokens,
    ledger_entry.output_tokens,
    ledger_entry.usage_estimated,
    NULL::timestamp with time zone AS expires_at,
    ledger_entry.began_at AS created_at,
    ledger_entry.created_at AS ended_at
   FROM ledger_entry
  WHERE (ledger_entry.kind = ANY (ARRAY['settle'::text, 'refund'::text]));

CREATE OR REPLACE FUNCTION public.absorb_grants(p_project_id text, p_amount bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  present record;
  uncovered bigint;
  part bigint;
begin
  select least(p_amount, p_amount - (a.balance - coalesce(sum(x.remaining), 0))) into uncovered
  from credit_account a left join left_of_grants(p_project_id) x on true where a.project_id = p_project_id group by a.project_id;
  for present in select * from left_of_grants(p_project_id) x where not x.has_ended order by x.ends_at desc, x.id desc loop
    exit when uncovered <= 0;
    part := least(uncovered, present.remaining);
    update credit_grant set absorbed = absorbed + part where id = present.id;
    uncovered := uncovered - part;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION public.add_credits(p_project_id text, p_amount bigint, p_reference text)
 RETURNS TABLE(verdict text, balance bigint, reserved bigint)
 LANGUAGE plpgsql
AS $function$
begin
  return query select * from add_credits_until(p_project_id, p_amount, p_reference, null);
end $function$;

CREATE OR REPLACE FUNCTION public.add_credits_until(p_project_id text, p_amount bigint, p_reference text, p_ends_at timestamp with time zone)
 RETURNS TABLE(verdict text, balance bigint, reserved bigint)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
declare
  before ledger_entry;
  a credit_account;
  owed bigint;
  interval_n int;
begin
  perform lock_accounts(array[p_project_id]);
  perform expire_grants(p_project_id);
  select * into a from credit_account where project_id = p_project_id;
  select * into before from ledger_entry e
  where e.project_id = p_project_id and e.kind = 'topup' and e.reference = p_reference;
  verdict := case
    when a.project_id is null then 'project_not_found'
    when p_amount <= 0 or p_amount > 9007199254740991 or a.balance + a.reserved > 9007199254740991 - p_amount then 'too_many'
    when before.credits = p_amount then 'already_added'
    when before.id is not null then 'reference_reused'
    when p_ends_at <= clock_timestamp() then 'has_ended'
    when p_ends_at is not null
      and (select count(*) from credit_grant g where g.project_id = p_project_id and not g.is_closed) >= 1000 then 'too_many_grants'
    else 'added'
  end;
  if verdict = 'added' then
    -- A threshold that was crossed and that these credits are above again is told all the same.
    perform note_balance_alerts(p_project_id);
    if p_ends_at is not null then
      owed := coalesce((select sum(x.remaining) from left_of_grants(p_project_id) x), 0) - a.balance;
      interval_n := end_grant_interval(p_project_id);
      insert into credit_grant (project_id, reference, amount, ends_at, first_interval, absorbed)
      values (p_project_id, p_reference, p_amount, p_ends_at, interval_n, greatest(0, least(owed, p_amount)));
      update credit_account set grant_due_at = least(grant_due_at, p_ends_at) where project_id = p_project_id;
    end if;
    with account as (
      update credit_account a set balance = a.balance + p_amount, grant_mark = a.grant_mark + p_amount where a.project_id = p_project_id
      returning a.balance + a.reserved as total
    )
    insert into ledger_entry (project_id, kind, credits, balance_after, reference)
    select p_project_id, 'topup', p_amount, account.total, p_reference from account;
    perform note_balance_alerts(p_project_id);
  end if;
  select a.balance, a.reserved into balance, reserved from credit_account a where a.project_id = p_project_id;
  return next;
end $function$;

CREATE OR REPLACE FUNCTION public.adjust_credits(p_request_id text, p_amount bigint, p_reason text)
 RETURNS TABLE(verdict text, project_id text, given bigint, charged bigint, given_in_all bigint, balance bigint)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
declare
  r reservation;
  before bigint;
  began_on date;
  charged_on text;
begin
  given := 0;
  select * into r from reservation where id = p_request_id;
  if not found then
    verdict := 'not_found';
    return next;
    return;
  end if;
  perform lock_accounts(array[r.project_id]);
  select * into r from reservation where id = p_request_id;
  project_id := r.project_id;
  select coalesce(r.settled_amount, 0) - coalesce(sum(e.credits) filter (where e.credits < 0), 0),
    coalesce(sum(e.credits) filter (where e.credits > 0), 0), coalesce(r.channel_id, max(e.channel_id))
  into charged, given_in_all, charged_on from ledger_entry e
  where e.request_id = r.id and e.kind = 'adjust';
  select e.credits into before from ledger_entry e
  where e.request_id = r.id and e.kind = 'adjust' and e.reason = p_reason;
  verdict := case
    when r.state = 'held' or charged = 0 and r.state <> 'settled' then 'not_settled'
    when before > 0 and before = coalesce(p_amount, before) then 'given_before'
    when before is not null then 'reason_reused'
    when given_in_all >= charged then 'nothing_left'
    when p_amount > charged - given_in_all then 'too_many'
    else 'given'
  end;
  if verdict = 'given' then
    given := coalesce(p_amount, charged - given_in_all);
    if given <= 0 then raise exception 'credits are given back, never taken' using errcode = '22023'; end if;
    began_on := (r.created_at at time zone 'UTC')::date;
    update api_key k set spent = k.spent - given,
      day_spent = k.day_spent - case when began_on >= k.used_on then given else 0 end,
      month_spent = k.month_spent - case when began_on >= date_trunc('month', k.used_on::timestamp) then given else 0 end
    where k.id = r.key_id;
    with account as (
      update credit_account a set balance = a.balance + given, grant_mark = a.grant_mark + given where a.project_id = r.project_id
      returning a.balance + a.reserved as total
    )
    insert into ledger_entry (project_id, kind, credits, balance_after, key_id, request_id, model_id, channel_id, reason, began_at)
    select r.project_id, 'adjust', given, account.total, r.key_id, r.id, r.model_id, charged_on, p_reason, r.created_at from account;
    given_in_all := given_in_all + given;
  end if;
  select a.balance into balance from credit_account a where a.project_id = r.project_id;
  return next;
end $function$;

CREATE OR REPLACE FUNCTION public.admit_chats(p_projects text[], p_project_credits bigint[], p_keys text[], p_key_credits bigint[], p_key_chats integer[], p_rpms integer[], p_rated integer[], p_project_of integer[], p_key_of integer[], p_rate_places integer[], p_request_ids text[], p_model_ids text[], p_credits bigint[], p_hold_seconds double precision[], p_channel_ids text[], p_channel_names text[], p_routes text[], p_idempotency_keys text[], p_fingerprints text[], p_kept_seconds double precision[], p_sender bigint, p_batch bigint, p_again boolean)
 RETURNS TABLE(verdict text, original_request_id text, rate_remaining integer, rate_reset integer, retry_after integer)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  -- What can be held, which a credit line raises.
  balances bigint[];
  rooms bigint[];
  places int[];
  usable boolean[];
  allowlists jsonb[];
  known text[];
  all_fit boolean;
  any_ended boolean;
  granted int[];
  used int[];
  reset_after int[];
  rate_places int[];
  held_by_project bigint[];
  held_by_key bigint[];
  begun_by_key int[];
  is_admitted boolean[];
  earlier record;
  today date := (clock_timestamp() at time zone 'UTC')::date;
  -- Once the locks are held. A grant that ends after it pays for the holds of this call.
  decided_at timestamptz;
  began timestamptz;
  month_first date;
  p int;
  k int;
begin
  all_fit := array_remove(p_idempotency_keys, null) = '{}';
  if all_fit then perform set_config('synchronous_commit', 'off', true); end if;

  perform lock_accounts(p_projects);
  decided_at := clock_timestamp();
  with accounts as materialized (
    select a.project_id, a.balance + a.overdraft as balance, coalesce(a.grant_due_at <= decided_at, false) as has_ended from credit_account a where a.project_id = any (p_projects)
  ), keys as materialized (
    select key.*, key_room(key, today) as room from api_key key where key.id = any (p_keys)
  ), given_accounts as (
    select array_agg(a.balance order by given.n) as balances, bool_and(coalesce(a.balance >= given.credits and not a.has_ended, false)) as fit, bool_or(a.has_ended) as any_ended
    from unnest(p_projects, p_project_credits) with ordinality as given (id, credits, n) left join accounts a on a.project_id = given.id
  ), given_keys as (
    select given.*, key.room, key.used_on, key.in_flight_max - key.in_flight as places,
      -- A key's list may have a chat model by an alias. The catalog is read only if the list lacks an id that is asked for.
      case when key.models is not null and exists (
        select from unnest(p_key_of, p_model_ids) as asked (k, model_id) where asked.k = given.n and asked.model_id <> all (key.models))
      then key.models || array(select m.id from model m where m.entry ->> 'type' = 'chat' and m.private -> 'aliases' ?| key.models)
      else key.models end as models,
      key.revoked_at is null and coalesce(key.expires_at > clock_timestamp(), true) and pr.status = 'active' as usable
    from unnest(p_keys, p_key_credits, p_key_chats) with ordinality as given (id, credits, chats, n)
    left join keys key on key.id = given.id left join project pr on pr.id = key.project_id
  )
  select (select g.balances from given_accounts g), (select g.any_ended from given_accounts g), array_agg(g.room order by g.n), array_agg(g.places order by g.n),
         array_agg(g.usable order by g.n), array_agg(to_jsonb(g.models) order by g.n), greatest(today, max(g.used_on)), held_now.ids,
         all_fit and not p_again and held_now.ids = '{}' and (select g.fit from given_accounts g)
           and bool_and(coalesce(g.usable, false) and coalesce(g.room >= g.credits, true) and coalesce(g.places >= g.chats, true)
                        and (g.models is null or not exists (
                          select from unnest(p_key_of, p_model_ids) as asked (k, model_id)
                          where asked.k = g.n and asked.model_id <> all (g.models))))
  into balances, any_ended, rooms, places, usable, allowlists, today, known, all_fit
  from given_keys g cross join (select array(select h.id from hold h where h.id = any (p_request_ids)) as ids) held_now
  group by held_now.ids;

  if any_ended then
    perform expire_grants(a.project_id, decided_at) from credit_account a where a.project_id = any (p_projects) and a.grant_due_at <= decided_at;
    balances := array(
      select a.balance + a.overdraft from unnest(p_projects) with ordinality as given (id, n)
      left join credit_account a on a.project_id = given.id order by given.n);
  end if;
  rate_places := p_rate_places;
  if not all_fit and cardinality(known) > 0 and not p_again then
    -- Another process has admitted them, and counted them.
    for i in 1..cardinality(p_request_ids) loop
      if p_request_ids[i] = any (known) and rate_places[i] is not null then
        k := p_key_of[i];
        p_rated[k] := p_rated[k] - 1;
        rate_places[i] := null;
        for later in i + 1..cardinality(p_request_ids) loop
          if p_key_of[later] = k then rate_places[later] := rate_places[later] - 1; end if;
        end loop;
      end if;
    end loop;
  end if;
  if array_remove(p_rpms, null) <> '{}' then
    select c.granted, c.used, c.reset_after into granted, used, reset_after from count_rates(p_keys, p_rpms, p_rated, p_sender, p_batch, p_again) c;
    all_fit := all_fit and granted = p_rated;
  end if;

  if all_fit then
    -- Whatever the order, every member is admitted.
    held_by_project := p_project_credits;
    held_by_key := p_key_credits;
    begun_by_key := p_key_chats;
    is_admitted := array_fill(true, array[cardinality(p_request_ids)]);
    return query
      -- greatest ignores null, but a member that is not counted has no rate.
      select 'admitted', null::text, case when x.place is not null then greatest(0, p_rpms[x.k] - used[x.k] - x.place) end,
             case when x.place is not null then reset_after[x.k] end, null::int
      from unnest(p_key_of, p_rate_places) with ordinality as x (k, place, n) order by x.n;
  else
    held_by_project := array_fill(0::bigint, array[cardinality(p_projects)]);
    held_by_key := array_fill(0::bigint, array[cardinality(p_keys)]);
    begun_by_key := array_fill(0, array[cardinality(p_keys)]);
    is_admitted := array_fill(false, array[cardinality(p_request_ids)]);
    for i in 1..cardinality(p_request_ids) loop
      p := p_project_of[i];
      k := p_key_of[i];
      verdict := null;
      original_request_id := null;
      rate_remaining := null;
      rate_reset := null;
      retry_after := null;
      if rate_places[i] is not null then
        rate_remaining := greatest(0, p_rpms[k] - used[k] - least(rate_places[i], granted[k]));
        rate_reset := reset_after[k];
        if rate_places[i] > granted[k] then
          retry_after := rate_reset;
          verdict := 'rate_limit_exceeded';
        end if;
      end if;
      if verdict is null then
        verdict := case
          when p_request_ids[i] = any (known) then 'admitted'
          when balances[p] is null or usable[k] is not true then 'invalid_api_key'
          when not allowlists[k] ? p_model_ids[i] then 'model_not_allowed'
        end;
      end if;
      if verdict is null and p_idempotency_keys[i] is not null then
        delete from idempotency i2 where i2.project_id = p_projects[p] and i2.route = p_routes[i] and i2.key = p_idempotency_keys[i]
          and i2.expires_at <= clock_timestamp();
        insert into idempotency (project_id, route, key, fingerprint, request_id, expires_at)
        values (p_projects[p], p_routes[i], p_idempotency_keys[i], p_fingerprints[i], p_request_ids[i],
                clock_timestamp() + make_interval(secs => p_kept_seconds[i]))
        on conflict do nothing;
        if not found then
          select i2.fingerprint, i2.request_id, i2.status into earlier from idempotency i2
          where i2.project_id = p_projects[p] and i2.route = p_routes[i] and i2.key = p_idempotency_keys[i];
          original_request_id := earlier.request_id;
          verdict := case
            when earlier.fingerprint <> p_fingerprints[i] then 'idempotency_key_reused'
            when earlier.status is null then 'idempotency_in_progress'
            else 'replay'
          end;
        end if;
      end if;
      if verdict is null then
        verdict := case
          when places[k] <= 0 then 'concurrency_limit_exceeded'
          when balances[p] < p_credits[i] then 'insufficient_credits'
          when rooms[k] < p_credits[i] then 'key_budget_exceeded'
          else 'admitted'
        end;
        if verdict = 'admitted' then
          balances[p] := balances[p] - p_credits[i];
          held_by_project[p] := held_by_project[p] + p_credits[i];
          rooms[k] := rooms[k] - p_credits[i];
          held_by_key[k] := held_by_key[k] + p_credits[i];
          places[k] := places[k] - 1;
          begun_by_key[k] := begun_by_key[k] + 1;
          is_admitted[i] := true;
        elsif p_idempotency_keys[i] is not null then
          delete from idempotency i2 where i2.project_id = p_projects[p] and i2.route = p_routes[i] and i2.key = p_idempotency_keys[i]
            and i2.request_id = p_request_ids[i];
        end if;
      end if;
      return next;
    end loop;
  end if;

  if true = any (is_admitted) then
    -- A hold begins once the locks are held, so that it does not overlap with those that ended meanwhile, and within the day whose budget was
    -- checked. If the clock was set back, that is the day that the keys were used on.
    began := within_day(today, decided_at);
    month_first := date_trunc('month', today::timestamp)::date;
    with accounts as (
      update credit_account a set balance = a.balance - u.held, reserved = a.reserved + u.held
      from unnest(p_projects, held_by_project) as u (id, held)
      where a.project_id = u.id and a.project_id = any (p_projects) and u.held > 0
    ), keys as (
      update api_key key set reserved = key.reserved + u.held, in_flight = key.in_flight + u.begun, used_on = today,
        day_spent = in_period(key.day_spent, key.used_on, today), day_reserved = in_period(key.day_reserved, key.used_on, today) + u.held,
        month_spent = in_period(key.month_spent, key.used_on, month_first),
        month_reserved = in_period(key.month_reserved, key.used_on, month_first) + u.held,
        last_used_at = case when key.last_used_at > clock_timestamp() - interval '1 minute' then key.last_used_at else clock_timestamp() end
      from unnest(p_keys, held_by_key, begun_by_key) as u (id, held, begun)
      where key.id = u.id and key.id = any (p_keys) and u.begun > 0
    )
    insert into hold (id, project_id, key_id, kind, model_id, amount, expires_at, created_at, channel_id, channel_name, is_idempotent)
    select x.request_id, p_projects[x.p], p_keys[x.k], 'chat', x.model_id, x.credits,
           clock_timestamp() + make_interval(secs => x.hold_seconds), began, x.channel_id, x.channel_name,
           x.idempotency_key is not null
    from unnest(p_request_ids, p_project_of, p_key_of, p_model_ids, p_credits, p_hold_seconds, p_channel_ids,
                p_channel_names, p_idempotency_keys, is_admitted)
      as x (request_id, p, k, model_id, credits, hold_seconds, channel_id, channel_name, idempotency_key, is_admitted)
    where x.is_admitted;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.admit_chats_alone(p_project_id text, p_key_id text, p_rpm integer, p_request_id text, p_model_id text, p_credits bigint, p_hold_seconds double precision, p_channel_id text, p_channel_name text, p_sender bigint, p_batch bigint, OUT verdict text, OUT original_request_id text, OUT rate_remaining integer, OUT rate_reset integer, OUT retry_after integer)
 RETURNS record
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  today date := (clock_timestamp() at time zone 'UTC')::date;
  decided_at timestamptz;
  this_second bigint;
begin
  -- Tests of expressions, which PL/pgSQL evaluates without a statement. The lock is that of lock_accounts.
  if set_config('synchronous_commit', 'off', true) is null or pg_advisory_xact_lock(7106, hashtext(p_project_id)) is null then
    raise 'not locked';
  end if;
  decided_at := clock_timestamp();
  this_second := floor(extract(epoch from decided_at))::bigint;

  with fit as materialized (
    -- If the clock was set back, the day of the hold is the one that the key was used on.
    select greatest(today, key.used_on) as day, date_trunc('month', greatest(today, key.used_on)::timestamp)::date as month_first
    from credit_account a, api_key key join project pr on pr.id = key.project_id
    where a.project_id = p_project_id and key.id = p_key_id
      and a.balance + a.overdraft >= p_credits and coalesce(a.grant_due_at > decided_at, true)
      and key.revoked_at is null and coalesce(key.expires_at > clock_timestamp(), true) and pr.status = 'active'
      and coalesce(key.in_flight < key.in_flight_max, true) and coalesce(key_room(key, today) >= p_credits, true)
      and coalesce(p_model_id = any (key.models), true)
      and not exists (select from hold h where h.id = p_request_id)
  ), rated as (
    -- What count_rates writes for a granted request.
    update rate_window r set (second, oldest, counts, total, senders, last_batches, last_granted) = (
      select at.newest,
        case when used.n = 0 then at.newest when r.oldest > at.newest - 61 then r.oldest
             else (select at.newest - at.shift + 1 - max(slot) from unnest(r.counts[1:61 - at.shift]) with ordinality as c (n, slot) where c.n > 0) end,
        array[1 + case when at.shift = 0 then r.counts[1] else 0 end] || array_fill(0, array[greatest(at.shift - 1, 0)])
          || r.counts[case when at.shift = 0 then 2 else 1 end:61 - at.shift],
        used.n + 1,
        r.senders[1:coalesce(at.place, 0) - 1] || r.senders[coalesce(at.place + 1, cardinality(r.senders) - 62):] || p_sender,
        r.last_batches[1:coalesce(at.place, 0) - 1] || r.last_batches[coalesce(at.place + 1, cardinality(r.last_batches) - 62):] || p_batch,
        r.last_granted[1:coalesce(at.place, 0) - 1] || r.last_granted[coalesce(at.place + 1, cardinality(r.last_granted) - 62):] || 1
      from (select greatest(this_second, r.second) as newest, least(greatest(this_second, r.second) - r.second, 61)::int as shift,
                   array_position(r.senders, p_sender) as place) at
      cross join lateral (
        select r.total - case when at.shift = 0 then 0 else (select sum(n)::int from unnest(r.counts[62 - at.shift:61]) n) end as n) used)
    from fit
    where r.key_id = p_key_id and p_rpm > r.total - case when r.second >= this_second then 0 else (
      select sum(n)::int from unnest(r.counts[62 - least(this_second - r.second, 61)::int:61]) n) end
    returning r.total, r.oldest
  ), passed as materialized (
    select fit.*, rated.total, rated.oldest from fit left join rated on true where p_rpm is null or rated.total is not null
  ), account as (
    update credit_account a set balance = a.balance - p_credits, reserved = a.reserved + p_credits
    from passed where a.project_id = p_project_id
  ), key as (
    update api_key key set reserved = key.reserved + p_credits, in_flight = key.in_flight + 1, used_on = passed.day,
      day_spent = in_period(key.day_spent, key.used_on, passed.day),
      day_reserved = in_period(key.day_reserved, key.used_on, passed.day) + p_credits,
      month_spent = in_period(key.month_spent, key.used_on, passed.month_first),
      month_reserved = in_period(key.month_reserved, key.used_on, passed.month_first) + p_credits,
      last_used_at = case when key.last_used_at > clock_timestamp() - interval '1 minute' then key.last_used_at else clock_timestamp() end
    from passed where key.id = p_key_id
  ), held as (
    insert into hold (id, project_id, key_id, kind, model_id, amount, expires_at, created_at, channel_id, channel_name, is_idempotent)
    select p_request_id, p_project_id, p_key_id, 'chat', p_model_id, p_credits, clock_timestamp() + make_interval(secs => p_hold_seconds),
           within_day(passed.day, decided_at), p_channel_id, p_channel_name, false
    from passed
  )
  select 'admitted', p_rpm - passed.total, case when passed.total is not null then greatest(1, passed.oldest + 61 - this_second)::int end
  into verdict, rate_remaining, rate_reset from passed;
  if verdict is null then
    select a.* into verdict, original_request_id, rate_remaining, rate_reset, retry_after from admit_chats(
      array[p_project_id], array[p_credits], array[p_key_id], array[p_credits], array[1], array[p_rpm], array[case when p_rpm is not null then 1 end],
      array[1], array[1], array[case when p_rpm is not null then 1 end],
      array[p_request_id], array[p_model_id], array[p_credits], array[p_hold_seconds], array[p_channel_id], array[p_channel_name],
      array[null]::text[], array[null]::text[], array[null]::text[], array[null]::float8[], p_sender, p_batch, false) a;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.adopt_result(p_task_id text, p_file jsonb, p_retention_seconds double precision, p_charge boolean, p_reason text)
 RETURNS TABLE(verdict text, project_id text, output jsonb, charged bigint, charged_in_all bigint, balance bigint)
 LANGUAGE plpgsql
AS $function$
declare
  t task;
  r reservation;
  kept_until timestamptz;
  made_by text;
begin
  charged := 0;
  select x.project_id into project_id from task x where x.id = p_task_id;
  perform lock_accounts(array[project_id]);
  select * into t from task where id = p_task_id for no key update;
  select * into r from reservation where id = p_task_id;
  verdict := case
    when t.id is null or t.deleted_at is not null then 'unknown'
    when t.completed_at is null then 'not_ended'
    when t.status = 'succeeded' or r.id is null or r.state <> 'refunded' then 'not_held'
    when t.output is not null then 'adopted_before'
    when t.input is null or t.expires_at <= clock_timestamp() then 'erased'
    else 'adopted'
  end;
  if verdict not in ('adopted', 'adopted_before') then
    return next;
    return;
  end if;

  perform expire_grants(t.project_id);
  select a.balance into balance from credit_account a where a.project_id = t.project_id;
  select coalesce(-sum(e.credits), 0) into charged_in_all from ledger_entry e
  where e.request_id = t.id and e.kind = 'adjust' and e.reason = p_reason;
  if p_charge and charged_in_all = 0 then
    if balance < t.credits_quoted then
      verdict := 'no_credits';
      return next;
      return;
    end if;
    charged := t.credits_quoted;
    -- A refund names no channel. The result is from the last one that took the job.
    select x.channel_id into made_by from attempt x where x.request_id = t.id order by (x.operation is not null) desc, x.n desc limit 1;
    charged_in_all := charged;
    update api_key k set spent = k.spent + charged,
      day_spent = k.day_spent + case when (r.created_at at time zone 'UTC')::date >= k.used_on then charged else 0 end,
      month_spent = k.month_spent
        + case when (r.created_at at time zone 'UTC')::date >= date_trunc('month', k.used_on::timestamp) then charged else 0 end
    where k.id = r.key_id;
    perform absorb_grants(t.project_id, charged);
    with account as (
      update credit_account a set balance = a.balance - charged, grant_mark = a.grant_mark - charged where a.project_id = t.project_id
      returning a.balance, a.balance + a.reserved as total
    ), entered as (
      insert into ledger_entry (project_id, kind, credits, balance_after, key_id, request_id, model_id, channel_id, reason, began_at)
      select t.project_id, 'adjust', -charged, account.total, r.key_id, t.id, r.model_id, coalesce(r.channel_id, made_by), p_reason, r.created_at from account
    )
    select account.balance into balance from account;
  end if;

  if verdict = 'adopted' then
    kept_until := date_trunc('second', clock_timestamp()) + make_interval(secs => p_retention_seconds);
    update file f set mime_type = p_file->>'mime_type', bytes = (p_file->>'bytes')::bigint, sha256 = p_file->>'sha256',
      width = (p_file->>'width')::int, height = (p_file->>'height')::int, duration = (p_file->>'duration')::float8, expires_at = kept_until
    where f.id = p_file->>'id' and f.task_id = t.id and f.deleted_at is null;
    if not found then raise exception 'the file of task % was not recorded, because retention has deleted its draft', t.id; end if;
    update task set expires_at = kept_until, output = jsonb_build_array(jsonb_build_object(
      'file_id', p_file->'id', 'mime_type', p_file->'mime_type', 'bytes', p_file->'bytes', 'width', p_file->'width', 'height', p_file->'height',
      'duration', p_file->'duration', 'sha256', p_file->'sha256', 'expires_at', extract(epoch from kept_until)::bigint))
    where id = t.id;
    perform notify_tasks(array[t.id]);
  end if;
  select x.output into output from task x where x.id = t.id;
  return next;
end $function$;

CREATE OR REPLACE FUNCTION public.analyze_imported()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  analyze project, api_key, api_key_secret, credit_account, deduction, ledger_entry, audit_entry, import_item;
end $function$;

CREATE OR REPLACE FUNCTION public.begin_attempt(p_id text, p_task_id text, p_channel_id text, p_fence text, p_submit_seconds double precision, p_cost bigint, p_probe_seconds double precision, p_adapter text)
 RETURNS TABLE(attempt_id text, fresh boolean, outcome text, code text, operation jsonb, result jsonb, submit_deadline_ms double precision)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
declare
  t task;
  c channel;
  a attempt;
begin
  select * into t from task where task.id = p_task_id for no key update;
  if not found then return; end if;
  select * into a from attempt where attempt.request_id = p_task_id and attempt.channel_id = p_channel_id
    order by n desc limit 1 for update;
  fresh := not found or coalesce(a.outcome = 'transient' and a.retry_at <= clock_timestamp(), false);
  if fresh then
    if t.admission <> 'reserved' or t.completed_at is not null or t.cancel_requested_at is not null then return; end if;
    select * into c from channel where channel.id = p_channel_id and enabled for key share;
    if not found or c.adapter <> p_adapter then return; end if;
    if not claim_channel(p_channel_id, t.model_id, t.project_id, p_probe_seconds) then return; end if;
    insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, cost_micro_usd, model_id, credential_id)
    values (p_id, p_task_id, t.attempts + 1, p_channel_id, c.name, p_fence,
            clock_timestamp() + make_interval(secs => p_submit_seconds), p_cost, t.model_id, c.credential_id)
    returning * into a;
    update task set status = 'processing', started_at = coalesce(task.started_at, clock_timestamp()),
      attempts = task.attempts + 1, last_seen_at = clock_timestamp()
    where task.id = p_task_id;
  elsif a.outcome is null and (a.operation is not null or a.submit_deadline <= clock_timestamp()) then
    update attempt set fence = p_fence, next_poll_at = null where attempt.id = a.id;
    update task set last_seen_at = clock_timestamp() where task.id = p_task_id;
  end if;
  attempt_id := a.id;
  outcome := a.outcome;
  code := a.code;
  operation := a.operation;
  result := a.result;
  submit_deadline_ms := extract(epoch from a.submit_deadline - clock_timestamp()) * 1000;
  return next;
end $function$;

CREATE OR REPLACE FUNCTION public.begin_job(p_name text, p_id text, p_trigger text, p_lease_seconds double precision, p_request boolean)
 RETURNS TABLE(verdict text, run_id text)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
declare
  active job_run;
begin
  perform pg_advisory_xact_lock(7107, hashtext(p_name));
  update job_run set state = 'lost', ended_at = clock_timestamp()
  where name = p_name and ended_at is null and lease_until <= clock_timestamp();
  select * into active from job_run where name = p_name and ended_at is null;
  if not found then
    insert into job_run (id, name, trigger, state, started_at, lease_until)
    values (p_id, p_name, p_trigger, case when p_request then 'requested' else 'running' end,
            case when not p_request then clock_timestamp() end, clock_timestamp() + make_interval(secs => p_lease_seconds));
    verdict := case when p_request then 'requested' else 'running' end;
    run_id := p_id;
  elsif active.state = 'requested' and not p_request then
    update job_run set state = 'running', started_at = clock_timestamp(),
      lease_until = clock_timestamp() + make_interval(secs => p_lease_seconds)
    where id = active.id;
    verdict := 'running';
    run_id := active.id;
  else
    verdict := 'already_running';
    run_id := active.id;
  end if;
  return next;
end $function$;

CREATE OR REPLACE FUNCTION public.claim_channel(p_channel_id text, p_model_id text, p_project_id text, p_probe_seconds double precision)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select from channel_health h where h.channel_id = p_channel_id and h.model_id in (p_model_id, '*')
             and h.unavailable_until > clock_timestamp()) then
    return false;
  end if;
  if not exists (select from channel_health h where h.channel_id = p_channel_id and h.model_id = p_model_id and h.trips > 0) then
    return true;
  end if;
  update channel_health h set probe_until = clock_timestamp() + make_interval(secs => p_probe_seconds), probe_project_id = p_project_id,
    updated_at = clock_timestamp()
  where h.channel_id = p_channel_id and h.model_id = p_model_id and h.trips > 0
    and (h.unavailable_until is null or h.unavailable_until <= clock_timestamp())
    and (h.probe_until is null or h.probe_until <= clock_timestamp())
    and (h.probe_project_id is distinct from p_project_id
      or coalesce(greatest(h.unavailable_until, h.probe_until), '-infinity') <= clock_timestamp() - interval '10 seconds'
      -- Ten minutes, because no request uses a tripped channel.
      or not exists (select from channel_witness w
                     where w.channel_id = p_channel_id and w.model_id = p_model_id and w.project_id <> p_project_id
                       and w.used_at > clock_timestamp() - interval '10 minutes'));
  return found;
end $function$;

CREATE OR REPLACE FUNCTION public.claim_channel_call(p_id text, p_channel_id text, p_credential_ids text[], p_tokens bigint, p_lease_seconds double precision)
 RETURNS TABLE(credential_id text, retry_after integer)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
declare
  this_second bigint;
  c channel;
  k record;
  least_wait int;
begin
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock(7108, hashtext(p_channel_id));
  select call.credential_id into credential_id from channel_call call where call.id = p_id;
  if found then
    return next;
    return;
  end if;
  -- The clock is read once the lock is held, so that seconds are counted in order.
  this_second := floor(extract(epoch from clock_timestamp()))::bigint;
  delete from channel_call call
  where call.channel_id = p_channel_id and call.id <> all (array(select r.id from running_channel_calls(p_channel_id) r));
  select * into c from channel where channel.id = p_channel_id;
  retry_after := channel_limit_wait(p_channel_id, c.rpm, c.tpm, c.parallel, (
    select count(*) from channel_call call where call.channel_id = p_channel_id), p_tokens, this_second);
  if retry_after = 0 then
    for k in
      select given.id, m.rpm, m.tpm, m.parallel,
        (select count(*) from channel_call call where call.channel_id = p_channel_id and call.credential_id = given.id) as running
      from unnest(p_credential_ids) with ordinality as given (id, n) left join channel_credential m on m.id = given.id order by given.n
    loop
      retry_after := channel_limit_wait(k.id, k.rpm, k.tpm, k.parallel, k.running, p_tokens, this_second);
      if retry_after = 0 then
        credential_id := k.id;
        exit;
      end if;
      least_wait := least(least_wait, retry_after);
    end loop;
    if credential_id is null then retry_after := coalesce(least_wait, 1); end if;
  end if;
  if credential_id is not null then
    retry_after := null;
    insert into channel_use as u (subject_id, second, requests, tokens)
    values (p_channel_id, this_second, 1, p_tokens), (credential_id, this_second, 1, p_tokens)
    on conflict (subject_id, second) do update set requests = u.requests + 1, tokens = u.tokens + excluded.tokens;
    delete from channel_use u where u.subject_id in (p_channel_id, credential_id) and u.second <= this_second - 61;
    insert into channel_call (id, channel_id, credential_id, second, tokens, expires_at)
    values (p_id, p_channel_id, credential_id, this_second, p_tokens, clock_timestamp() + make_interval(secs => p_lease_seconds));
  end if;
  return next;
end $function$;

CREATE OR REPLACE FUNCTION public.claim_delivery(p_id text, p_token text, p_lease_seconds double precision)
 RETURNS TABLE(claimed boolean, state text, wait_ms double precision, claimed_at double precision)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
declare
  d delivery;
begin
  select * into d from delivery where id = p_id for update;
  if not found then return; end if;
  state := d.state;
  claimed := d.state = 'pending' and d.next_attempt_at <= clock_timestamp()
    and (d.lease_until is null or d.lease_until <= clock_timestamp());
  wait_ms := greatest(0, extract(epoch from greatest(d.next_attempt_at, coalesce(d.lease_until, d.next_attempt_at)) - clock_timestamp()) * 1000);
  claimed_at := extract(epoch from clock_timestamp());
  if claimed then
    update delivery set lease_until = clock_timestamp() + make_interval(secs => p_lease_seconds), lease_token = p_token
    where id = p_id;
  end if;
  return next;
end $function$;

CREATE OR REPLACE FUNCTION public.claim_expired_files(p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  claimed int;
begin
  with live as materialized (
    select t.id, t.input from task t where t.completed_at is null and t.admission <> 'rejected'
  ), in_use as materialized (
    select distinct named.value #>> '{}' as id from live
    cross join lateral jsonb_path_query(live.input, 'strict $.** ? (@.type() == "string" && @ starts with "file_")') named (value)
  ), due as (
    select f.id from file f
    where f.deleted_at is null and f.expires_at <= clock_timestamp()
      and not exists (select from in_use where in_use.id = f.id)
      and not exists (select from live where live.id = f.task_id)
    order by f.expires_at limit p_limit for update skip locked
  )
  update file set deleted_at = clock_timestamp() from due where file.id = due.id;
  get diagnostics claimed = row_count;
  return claimed;
end $function$;

CREATE OR REPLACE FUNCTION public.claim_polls(p_channel_ids text[], p_places integer[], p_least_seconds double precision, p_most_seconds double precision)
 RETURNS TABLE(attempt_id text, fence text, channel_id text, task_id text, request_id text, operation jsonb, progress integer, missing_ms double precision, wanted boolean, remaining_ms double precision, lease_ms double precision, late_ms double precision, trace_parent text)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  -- A constant, because an index cannot be searched by the changing clock_timestamp().
  at constant timestamptz := clock_timestamp();
begin
  return query
  with recursive turn as (
    select given.channel_id, given.places,
      (select min(a.project_id) from attempt a where a.channel_id = given.channel_id and a.next_poll_at is not null) as project_id
    from unnest(p_channel_ids, p_places) given (channel_id, places)
    union all
    select turn.channel_id, turn.places,
      (select min(a.project_id) from attempt a
       where a.channel_id = turn.channel_id and a.project_id > turn.project_id and a.next_poll_at is not null)
    from turn where turn.project_id is not null
  ), waiting as (
    -- With many projects a few jobs of each are enough. Twice its share, because some projects have less.
    select turn.*, ceil(2.0 * turn.places / count(*) over (partition by turn.channel_id))::int as share
    from turn where exists (
      select from attempt a
      where a.channel_id = turn.channel_id and a.project_id = turn.project_id and a.next_poll_at <= at)
  ), ranked as (
    select due.id, waiting.places,
      row_number() over (partition by waiting.channel_id order by due.nth, due.next_poll_at) as place
    from waiting cross join lateral (
      select a.id, a.next_poll_at, row_number() over (order by a.next_poll_at) as nth from attempt a
      where a.channel_id = waiting.channel_id and a.project_id = waiting.project_id and a.next_poll_at <= at
      order by a.next_poll_at limit waiting.share) due
  ), chosen as (
    select a.id, a.next_poll_at from attempt a join ranked on ranked.id = a.id
    where ranked.place <= ranked.places and a.next_poll_at <= at
    for no key update of a skip locked
  ), claimed as (
    update attempt a
    set next_poll_at = at + make_interval(secs => greatest(p_least_seconds,
      (0.9 + 0.1 * random()) * least(extract(epoch from at - a.submitted_at) / 10, p_most_seconds)))
    from chosen where a.id = chosen.id
    returning a.*, chosen.next_poll_at as due_at
  )
  select c.id, c.fence, c.channel_id, t.id, t.request_id, c.operation, t.progress,
    (extract(epoch from at - c.missing_since) * 1000)::float8, t.completed_at is null,
    (extract(epoch from t.deadline_at - at) * 1000)::float8, (extract(epoch from c.next_poll_at - at) * 1000)::float8,
    (extract(epoch from at - c.due_at) * 1000)::float8, t.trace_parent
  from claimed c join task t on t.id = c.request_id;
end $function$;

CREATE OR REPLACE FUNCTION public.count_rates(p_keys text[], p_rpms integer[], p_asked integer[], p_sender bigint, p_batch bigint, p_again boolean, OUT granted integer[], OUT used integer[], OUT reset_after integer[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  this_second bigint := floor(extract(epoch from clock_timestamp()))::bigint;
begin
  loop
    with locked as materialized (
      select r.* from rate_window r where r.key_id = any (p_keys) order by r.key_id for no key update
    ), moved as materialized (
      -- Every window as it is at its newest second, and the place of this sender among those that it remembers.
      select limited.n, limited.rpm, limited.asked, r.key_id, at.newest, at.shift, r.counts, r.oldest, sender.place,
        case when p_again and r.last_batches[sender.place] = p_batch then r.last_granted[sender.place] end as granted_before,
        r.total - case when at.shift = 0 then 0 else (select sum(n)::int from unnest(r.counts[62 - at.shift:61]) n) end as in_use,
        r.senders, r.last_batches, r.last_granted
      from unnest(p_keys, p_rpms, p_asked) with ordinality as limited (key_id, rpm, asked, n)
      join locked r on r.key_id = limited.key_id
      cross join lateral (select greatest(this_second, r.second) as newest, least(greatest(this_second, r.second) - r.second, 61)::int as shift) at
      cross join lateral (select array_position(r.senders, p_sender) as place) sender
      where limited.rpm is not null
    ), decided as materialized (
      select m.*, coalesce(m.granted_before, greatest(0, least(m.asked, m.rpm - m.in_use))) as now_granted,
        case when m.in_use = 0 then m.newest when m.oldest > m.newest - 61 then m.oldest
             else (select m.newest - m.shift + 1 - max(slot) from unnest(m.counts[1:61 - m.shift]) with ordinality as c (n, slot) where c.n > 0)
        end as now_oldest
      from moved m
    ), written as (
      update rate_window r set second = d.newest, oldest = d.now_oldest, total = d.in_use + d.now_granted,
        counts = array[d.now_granted + case when d.shift = 0 then d.counts[1] else 0 end] || array_fill(0, array[greatest(d.shift - 1, 0)])
                 || d.counts[case when d.shift = 0 then 2 else 1 end:61 - d.shift],
        -- The sender moves to the end. It remembers 64 of them.
        senders = d.senders[1:coalesce(d.place, 0) - 1] || d.senders[coalesce(d.place + 1, cardinality(d.senders) - 62):] || p_sender,
        last_batches = d.last_batches[1:coalesce(d.place, 0) - 1]
                       || d.last_batches[coalesce(d.place + 1, cardinality(d.last_batches) - 62):] || p_batch,
        last_granted = d.last_granted[1:coalesce(d.place, 0) - 1]
                       || d.last_granted[coalesce(d.place + 1, cardinality(d.last_granted) - 62):] || d.now_granted
      from decided d where r.key_id = d.key_id and r.key_id = any (p_keys) and d.granted_before is null
        and (select count(*) from decided) = cardinality(array_remove(p_rpms, null))
    )
    select array_agg(d.now_granted order by given.n), array_agg(d.in_use - coalesce(d.granted_before, 0) order by given.n),
           array_agg(greatest(1, d.now_oldest + 61 - this_second)::int order by given.n)
    into granted, used, reset_after
    from unnest(p_rpms) with ordinality as given (rpm, n) left join decided d on d.n = given.n
    having bool_and(given.rpm is null or d.n is not null);
    exit when found;
    -- Keys that were never counted before.
    insert into rate_window (key_id, second, oldest, counts, total)
    select limited.key_id, this_second, this_second, array_fill(0, array[61]), 0
    from unnest(p_keys, p_rpms) as limited (key_id, rpm) where limited.rpm is not null order by limited.key_id
    on conflict do nothing;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION public.create_tasks(members jsonb)
 RETURNS TABLE(task_id text, verdict text, original_task_id text, created_at timestamp with time zone)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  m record;
  existing record;
  earlier record;
  funds record;
begin
  -- In the order of their keys, so that two batches with the same keys wait for each other instead of deadlocking.
  for m in
    select * from jsonb_to_recordset(members) as x (project_id text, route text, key text)
    where x.key is not null order by x.project_id, x.route, x.key
  loop
    delete from idempotency i
    where i.project_id = m.project_id and i.route = m.route and i.key = m.key and i.expires_at <= clock_timestamp();
  end loop;
  insert into idempotency (project_id, route, key, fingerprint, request_id, task_id, expires_at)
  select x.project_id, x.route, x.key, x.fingerprint, x.request_id, x.task_id, clock_timestamp() + make_interval(secs => x.kept_seconds)
  from jsonb_to_recordset(members) as x (
    ord int, project_id text, route text, key text, fingerprint text, request_id text, task_id text, kept_seconds float8)
  where x.key is not null order by x.project_id, x.route, x.key, x.ord
  on conflict do nothing;

  for m in
    select * from jsonb_to_recordset(members) as x (
      ord int, task_id text, project_id text, key_id text, request_id text, dialect text, type text, model_id text, input jsonb,
      snapshot jsonb, credits bigint, callback_url text, metadata jsonb, max_credits bigint,
      deadline_seconds float8, route text, key text, fingerprint text,
      kept_seconds float8, trace_parent text) order by x.ord
  loop
    task_id := m.task_id;
    original_task_id := null;
    created_at := null;
    if m.key is not null then
      select i.fingerprint, i.task_id into existing from idempotency i
      where i.project_id = m.project_id and i.route = m.route and i.key = m.key;
      if not found then
        -- An earlier member of this batch with the same key was refused, and its idempotency row was deleted.
        insert into idempotency (project_id, route, key, fingerprint, request_id, task_id, expires_at)
        values (m.project_id, m.route, m.key, m.fingerprint, m.request_id, task_id,
                clock_timestamp() + make_interval(secs => m.kept_seconds));
      elsif existing.task_id is distinct from task_id then
        verdict := case when existing.fingerprint = m.fingerprint then 'replay' else 'reused' end;
        original_task_id := case when verdict = 'replay' then existing.task_id end;
        return next;
        continue;
      end if;
    end if;

    select t.admission, t.refusal_code, t.created_at into earlier from task t where t.id = m.task_id;
    if found then
      created_at := earlier.created_at;
      verdict := case when earlier.admission = 'rejected' then coalesce(earlier.refusal_code, 'service_unavailable') else 'created' end;
    else
      select a.balance + a.overdraft as balance, key_room(k, (clock_timestamp() at time zone 'UTC')::date) as room into funds
      from credit_account a join api_key k on k.project_id = a.project_id
      where a.project_id = m.project_id and k.id = m.key_id;
      verdict := case
        when not found or funds.balance < m.credits then 'insufficient_credits'
        when funds.room < m.credits then 'key_budget_exceeded'
        else 'created'
      end;
      if verdict = 'created' then
        insert into task (id, project_id, key_id, request_id, dialect, type, model_id, input, snapshot, credits_quoted,
                          callback_url, metadata, max_credits, deadline_at, trace_parent)
        values (m.task_id, m.project_id, m.key_id, m.request_id, m.dialect, m.type, m.model_id, m.input, m.snapshot, m.credits,
                m.callback_url, m.metadata, m.max_credits, clock_timestamp() + make_interval(secs => m.deadline_seconds),
                m.trace_parent)
        returning task.created_at into created_at;
        if m.metadata is not null then
          insert into task_metadata (pair, created_at, task_id)
          select metadata_pair(m.project_id, e.key, e.value), created_at, m.task_id from jsonb_each_text(m.metadata) e
          on conflict do nothing;
        end if;
      end if;
    end if;
    if verdict <> 'created' and m.key is not null then
      delete from idempotency i
      where i.project_id = m.project_id and i.route = m.route and i.key = m.key and i.task_id = m.task_id;
    end if;
    return next;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION public.deduct_credits(p_project_id text, p_amount bigint, p_reference text, p_reason text)
 RETURNS TABLE(verdict text, balance bigint, reserved bigint)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
declare
  before deduction;
begin
  perform lock_accounts(array[p_project_id]);
  perform expire_grants(p_project_id);
  select a.balance, a.reserved into balance, reserved from credit_account a where a.project_id = p_project_id;
  select * into before from deduction d where d.project_id = p_project_id and d.reference = p_reference;
  verdict := case
    when balance is null then 'project_not_found'
    when before.amount = p_amount then 'already_deducted'
    when before.amount is not null then 'reference_reused'
    when p_amount > 9007199254740991 or balance - p_amount < -9007199254740991 then 'too_many'
    else 'deducted'
  end;
  if verdict = 'deducted' then
    insert into deduction (project_id, reference, amount) values (p_project_id, p_reference, p_amount);
    perform absorb_grants(p_project_id, p_amount);
    with account as (
      update credit_account a set balance = a.balance - p_amount, grant_mark = a.grant_mark - p_amount, deducted = a.deducted + p_amount where a.project_id = p_project_id
      returning a.balance, a.balance + a.reserved as total
    ), entered as (
      insert into ledger_entry (project_id, kind, credits, balance_after, reference, reason)
      select p_project_id, 'deduct', -p_amount, account.total, p_reference, p_reason from account
    )
    select account.balance into balance from account;
  end if;
  return next;
end $function$;

CREATE OR REPLACE FUNCTION public.delete_task(p_task_id text)
 RETURNS TABLE(verdict text, files jsonb)
 LANGUAGE plpgsql
AS $function$
declare
  t task;
begin
  select * into t from task where id = p_task_id for no key update;
  files := '[]';
  verdict := case
    when not found or t.deleted_at is not null then 'unknown'
    when t.completed_at is null then 'not_ended'
    else 'deleted'
  end;
  if verdict = 'deleted' then
    perform forget_metadata(array[p_task_id]);
    update delivery set state = 'exhausted', ended_at = clock_timestamp(), next_attempt_at = null, lease_token = null, lease_until = null
    where task_id = p_task_id and state = 'pending';
    update delivery set body = null, url = null where task_id = p_task_id;
    update attempt set result = null, outputs = null where request_id = p_task_id;
    update task set input = null, output = null, callback_url = null, metadata = null, deleted_at = clock_timestamp() where id = p_task_id;
    with used as materialized (
      select f.id, max(r.deadline_at) as until from file f join task r on strpos(r.input::text, f.id) > 0
      where f.task_id = p_task_id and f.deleted_at is null
        and r.project_id = t.project_id and r.completed_at is null and r.admission = 'reserved'
      group by f.id
    ), kept as (
      update file f set expires_at = least(f.expires_at, u.until + interval '10 minutes') from used u where f.id = u.id
    ), gone as (
      update file f set deleted_at = clock_timestamp()
      where f.task_id = p_task_id and f.deleted_at is null and not exists (select from used u where u.id = f.id)
      returning f.id, f.storage_key
    )
    select coalesce(jsonb_agg(jsonb_build_object('id', g.id, 'storageKey', g.storage_key)), '[]') into files from gone g;
    perform notify_tasks(array[p_task_id]);
  end if;
  return next;
end $function$;

CREATE OR REPLACE FUNCTION public.drop_api_detail_partition(p_days integer)
 RETURNS TABLE(dropped text, detail_rows bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
#variable_conflict use_column
begin
  if not exists (select from retention_floor where p_days >= api_detail_days) then
    raise exception 'days of api_detail younger than the retention are not dropped' using errcode = '55000';
  end if;
  perform pg_advisory_xact_lock(7107, hashtext('api_detail'));
  select c.relname::text into dropped from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'api_detail'::regclass and c.relname ~ '^api_detail_[0-9]{8}$'
    and c.relname < api_detail_partition((clock_timestamp() at time zone 'UTC')::date - p_days)
  order by c.relname limit 1;
  if dropped is null then return; end if;
  execute format('select count(*) from %I', dropped) into detail_rows;
  execute format('drop table %I', dropped);
  return next;
end $function$;

CREATE OR REPLACE FUNCTION public.end_chats(p_request_ids text[], p_settled bigint[], p_channel_ids text[], p_input_tokens bigint[], p_output_tokens bigint[], p_usage_estimated boolean[], p_costs_micro_usd bigint[], p_attempt_ids text[], p_outcomes text[], p_error_classes text[], p_statuses integer[], p_details text[], p_answer_statuses integer[], p_answer_bodies text[])
 RETURNS TABLE(ended boolean, charged bigint)
 LANGUAGE plpgsql
AS $function$
declare
  no_tokens bigint[] := array_fill(null::bigint, array[cardinality(p_request_ids)]);
begin
  return query select * from finish_chats(
    p_request_ids, p_settled, p_channel_ids, p_input_tokens, p_output_tokens, p_usage_estimated,
    array_fill(null::int, array[cardinality(p_request_ids)]), p_costs_micro_usd, p_attempt_ids, p_outcomes, p_error_classes,
    p_statuses, p_details, p_answer_statuses, p_answer_bodies, array_fill(null::text, array[cardinality(p_request_ids)]),
    no_tokens, no_tokens, no_tokens, no_tokens);
end $function$;

CREATE OR REPLACE FUNCTION public.end_delivery_try(p_id text, p_token text, p_state text, p_delay_seconds double precision, p_status integer, p_error_class text, p_claimed_at double precision)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  tries int;
begin
  update delivery set
    state = p_state, attempts = attempts + 1, last_status = p_status, lease_until = null, lease_token = null,
    next_attempt_at = case when p_state = 'pending' then clock_timestamp() + make_interval(secs => p_delay_seconds) end,
    ended_at = case when p_state <> 'pending' then clock_timestamp() end
  where id = p_id and lease_token = p_token and state = 'pending'
  returning attempts into tries;
  if not found then return false; end if;
  insert into delivery_attempt (delivery_id, n, started_at, ended_at, status, error_class)
  values (p_id, tries, to_timestamp(p_claimed_at), clock_timestamp(), p_status, p_error_class);
  return true;
end $function$;

CREATE OR REPLACE FUNCTION public.end_grant_interval(p_project_id text)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  a credit_account;
begin
  select * into a from credit_account where project_id = p_project_id;
  if a.grant_mark is not null then
    insert into grant_interval (project_id, n, used) values (p_project_id, a.grant_interval, a.grant_mark - a.balance);
  end if;
  update hold set grant_interval = coalesce(a.grant_interval, 0) where project_id = p_project_id and grant_interval is null;
  update credit_account set grant_interval = coalesce(a.grant_interval, 0) + 1, grant_mark = balance where project_id = p_project_id;
  return coalesce(a.grant_interval, 0) + 1;
end $function$;

CREATE OR REPLACE FUNCTION public.end_tasks(members jsonb, latest_day date)
 RETURNS TABLE(task_id text, finished boolean, status text, error_code text, delivery_id text)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
declare
  t record;
  month_first date := date_trunc('month', latest_day::timestamp)::date;
  channel_id text;
  outputs jsonb;
  ids text[] := '{}';
  are_finished boolean[] := '{}';
  -- Of the tasks that this call ends: their ids, the members that end them, and the results of those that succeed.
  ended_ids text[] := '{}';
  ends jsonb[] := '{}';
  channel_ids text[] := '{}';
  results jsonb[] := '{}';
  -- What each may be charged; null for a refund.
  prices bigint[] := '{}';
  unsold_ids text[] := '{}';
  unwanted_ids text[] := '{}';
  callback_ids text[] := '{}';
  ended_count int;
  returned jsonb;
begin
  for t in
    select given.member, given.member->>'task_id' as asked, given.member->>'status' as status, stored.id, stored.completed_at, stored.admission,
      stored.callback_url, stored.credits_quoted
    from jsonb_array_elements(members) with ordinality as given (member, ord)
    left join lateral (select * from task where task.id = given.member->>'task_id' offset 0) stored on true
    order by given.ord
  loop
    if t.id is null then raise exception 'task % does not exist', t.asked; end if;
    ids := ids || t.id;
    are_finished := are_finished || (t.completed_at is null and t.id <> all (ended_ids) and t.id <> all (unsold_ids));
    continue when not are_finished[cardinality(are_finished)];
    if t.admission = 'open' then
      unsold_ids := unsold_ids || t.id;
      continue;
    end if;
    channel_id := null;
    outputs := null;
    if t.status = 'succeeded' then
      select a.channel_id, a.outputs into strict channel_id, outputs from attempt a
      where a.request_id = t.id and a.outcome = 'ok' and a.outputs is not null;
    else
      unwanted_ids := unwanted_ids || t.id;
    end if;
    ended_ids := ended_ids || t.id;
    ends := array_append(ends, t.member);
    channel_ids := array_append(channel_ids, channel_id);
    results := array_append(results, outputs);
    prices := array_append(prices, case when t.status = 'succeeded' then t.credits_quoted end);
    if t.callback_url is not null then callback_ids := callback_ids || t.id; end if;
  end loop;

  if unsold_ids <> '{}' then
    -- No client was ever told that these tasks exist: they end as never admitted.
    update task set admission = 'rejected', refusal_code = 'service_unavailable', status = 'failed', completed_at = clock_timestamp(),
      input = null
    where task.id = any (unsold_ids);
    delete from idempotency i where i.task_id = any (unsold_ids);
  end if;

  if ended_ids <> '{}' then
    with given as materialized (
      select x.*, x.price is not null as is_success
      from unnest(ended_ids, ends, channel_ids, results, prices) with ordinality as x (id, member, channel_id, outputs, price, n)
    ), released as (
      delete from hold h where h.id = any (ended_ids) returning h.*
    ), over as materialized (
      select r.*, g.n, g.channel_id as won_by, g.is_success, case when g.is_success then least(g.price, r.amount) else 0 end as charged,
        case when not g.is_success then g.member->>'error_code' end as reason, (r.created_at at time zone 'UTC')::date as began_on
      from released r join given g on g.id = r.id
    ), accounts as (
      update credit_account a set balance = a.balance + s.back, reserved = a.reserved - s.held, in_flight = a.in_flight - s.tasks
      from (select project_id, sum(amount - charged) as back, sum(amount) as held, count(*) as tasks from over group by 1) s
      where a.project_id = s.project_id and a.project_id = any (array(select project_id from over))
      returning a.project_id, a.balance + a.reserved as total
    ), keys as (
      update api_key k set reserved = k.reserved - s.held, spent = k.spent + s.charged, in_flight = k.in_flight - s.tasks,
        used_on = latest_day,
        day_spent = in_period(k.day_spent, k.used_on, latest_day) + s.day_charged,
        day_reserved = in_period(k.day_reserved, k.used_on, latest_day) - s.day_held,
        month_spent = in_period(k.month_spent, k.used_on, month_first) + s.month_charged,
        month_reserved = in_period(k.month_reserved, k.used_on, month_first) - s.month_held
      from (
        select key_id, sum(amount) as held, sum(charged) as charged, count(*) as tasks,
          coalesce(sum(amount) filter (where began_on >= latest_day), 0) as day_held,
          coalesce(sum(charged) filter (where began_on >= latest_day), 0) as day_charged,
          coalesce(sum(amount) filter (where began_on >= month_first), 0) as month_held,
          coalesce(sum(charged) filter (where began_on >= month_first), 0) as month_charged
        from over group by 1) s
      where k.id = s.key_id and k.id = any (array(select key_id from over))
    ), entries as (
      insert into ledger_entry (project_id, kind, credits, balance_after, key_id, request_id, model_id, channel_id, held, reason, began_at)
      select o.project_id, case when o.is_success then 'settle' else 'refund' end, -o.charged,
        -- What the later ones of this batch take is still in the account.
        a.total + coalesce(sum(o.charged) over (partition by o.project_id order by o.n rows between 1 following and unbounded following), 0),
        o.key_id, o.id, o.model_id, o.won_by, o.amount, o.reason, o.created_at
      from over o join accounts a on a.project_id = o.project_id order by o.n
    ), tasks as (
      update task set
        status = g.member->>'status', completed_at = clock_timestamp(), output = g.outputs, channel_id = g.channel_id,
        error_code = g.member->>'error_code', outcome_unknown = coalesce((g.member->>'outcome_unknown')::boolean, false),
        progress = case when g.is_success then 100 else task.progress end,
        credits_charged = case when g.is_success then task.credits_quoted else 0 end,
        credits_refunded = case when g.is_success then 0 else task.credits_quoted end,
        expires_at = clock_timestamp() + make_interval(secs => (g.member->>'retention_seconds')::float8)
      from given g where task.id = g.id and task.id = any (ended_ids)
    )
    select count(*), jsonb_agg(jsonb_build_object('project_id', o.project_id, 'n', o.grant_interval, 'back', o.amount - o.charged))
      filter (where o.grant_interval is not null and o.amount > o.charged)
    into ended_count, returned from over o;
    if returned is not null then perform return_to_grants(returned); end if;
    if ended_count <> cardinality(ended_ids) then
      raise exception 'one of the tasks % is open but its reservation is not held', ended_ids;
    end if;
  end if;
  if unwanted_ids <> '{}' then
    -- A parked job learns at its next poll that it is not wanted any more.
    update attempt a set next_poll_at = clock_timestamp() where a.request_id = any (unwanted_ids) and a.next_poll_at is not null;
  end if;

  if callback_ids <> '{}' then
    insert into delivery (id, task_id, project_id, event_id, url, next_attempt_at)
    select g.member->>'delivery_id', stored.id, stored.project_id, g.member->>'event_id', stored.callback_url, clock_timestamp()
    from unnest(ended_ids, ends) with ordinality as g (id, member, n)
    cross join lateral (select * from task where task.id = g.id offset 0) stored
    where g.id = any (callback_ids) order by g.n;
  end if;

  return query
    select stored.id, m.finished, stored.status, stored.error_code,
           (select d.id from delivery d where d.task_id = stored.id order by d.created_at desc limit 1)
    from unnest(ids, are_finished) with ordinality as m (id, finished, n)
    cross join lateral (select * from task where task.id = m.id offset 0) stored
    order by m.n;
end $function$;

CREATE OR REPLACE FUNCTION public.ensure_api_detail_partitions()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  today date := (clock_timestamp() at time zone 'UTC')::date;
  made int := 0;
begin
  if not exists (select from generate_series(-1, 1) n where to_regclass(api_detail_partition(today + n)) is null) then
    return 0;
  end if;
  perform pg_advisory_xact_lock(7107, hashtext('api_detail'));
  for n in -1..1 loop
    if to_regclass(api_detail_partition(today + n)) is null then
      execute format('create table %I partition of api_detail for values from (%L) to (%L)', api_detail_partition(today + n),
                     to_char(today + n, 'YYYY-MM-DD') || ' 00:00:00+00', to_char(today + n + 1, 'YYYY-MM-DD') || ' 00:00:00+00');
      made := made + 1;
    end if;
  end loop;
  return made;
end $function$;

CREATE OR REPLACE FUNCTION public.erase_contents(p_limit integer)
 RETURNS TABLE(tasks integer, bodies integer)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
declare
  due text[];
begin
  select array_agg(id) into due from (
    select t.id from task t
    where t.completed_at is not null and (t.input is not null or t.output is not null) and t.expires_at <= clock_timestamp()
      and not exists (select from delivery d where d.task_id = t.id and d.state = 'pending')
    order by t.expires_at limit p_limit for no key update skip locked) expired;
  update delivery set body = null where task_id = any (due) and body is not null;
  get diagnostics bodies = row_count;
  update delivery set url = null where task_id = any (due) and url is not null;
  update attempt set result = null, outputs = null where request_id = any (due) and (result is not null or outputs is not null);
  update task set input = null, output = null, callback_url = null where id = any (due);
  get diagnostics tasks = row_count;
  perform notify_tasks(due);
  return next;
end $function$;

CREATE OR REPLACE FUNCTION public.expire_chats(p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  due record;
  no_tokens bigint[];
begin
  select array_agg(id) as ids, array_agg(coalesce(open_attempt_id, first_attempt_id(id))) as attempt_ids, count(*)::int as n into due
  from (select h.id,
               (select a.id from attempt a where a.request_id = h.id and a.outcome is null order by a.n desc limit 1) as open_attempt_id
        from hold h where h.kind = 'chat' and h.expires_at < clock_timestamp() order by h.expires_at limit p_limit) expired;
  if due.n = 0 then return 0; end if;
  no_tokens := array_fill(null::bigint, array[due.n]);
  return (
    select count(*) filter (where ended) from finish_chats(
      due.ids, array_fill(null::bigint, array[due.n]), array_fill(null::text, array[due.n]), array_fill(null::bigint, array[due.n]),
      array_fill(null::bigint, array[due.n]), array_fill(null::boolean, array[due.n]), array_fill(null::int, array[due.n]),
      array_fill(null::bigint, array[due.n]),
      due.attempt_ids, array_fill('unknown'::text, array[due.n]), array_fill('deadline'::text, array[due.n]),
      array_fill(null::int, array[due.n]), array_fill('the process that made this call is gone'::text, array[due.n]),
      array_fill(null::int, array[due.n]), array_fill(null::text, array[due.n]), array_fill('hold_expired'::text, array[due.n]),
      no_tokens, no_tokens, no_tokens, no_tokens));
end $function$;

CREATE OR REPLACE FUNCTION public.expire_grants(p_project_id text, p_at timestamp with time zone DEFAULT clock_timestamp())
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  a credit_account;
  taken bigint := 0;
  -- Up to this interval all requests have ended.
  through int;
begin
  select * into a from credit_account where project_id = p_project_id;
  if a.grant_mark is null then return 0; end if;
  if a.grant_due_at <= p_at then
    perform end_grant_interval(p_project_id);
    update credit_grant set last_interval = a.grant_interval
    where project_id = p_project_id and not is_closed and last_interval is null and ends_at <= p_at;
    update credit_account set grant_due_at = (
      select min(g.ends_at) from credit_grant g where g.project_id = p_project_id and not g.is_closed and g.last_interval is null)
    where project_id = p_project_id;
    taken := take_ended_grants(p_project_id);
  end if;

  select coalesce(min(h.grant_interval), a.grant_interval + 1) - 1 into through
  from hold h where h.project_id = p_project_id and h.grant_interval is not null;
  if exists (select from grant_interval i where i.project_id = p_project_id and i.n <= through) then
    update credit_grant g set spent = g.amount - g.absorbed - g.expired - x.remaining,
      is_closed = coalesce(g.last_interval <= through, false)
    from left_of_grants(p_project_id, through) x where x.id = g.id;
    delete from grant_interval i where i.project_id = p_project_id and i.n <= through;
    if not exists (select from credit_grant g where g.project_id = p_project_id and not g.is_closed) then
      update credit_account set grant_mark = null, grant_due_at = null where project_id = p_project_id;
      delete from grant_interval i where i.project_id = p_project_id;
    end if;
  end if;
  return taken;
end $function$;

CREATE OR REPLACE FUNCTION public.finish_attempts(members jsonb)
 RETURNS TABLE(ours boolean, finished boolean, status text, error_code text, delivery_id text)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  latest_day date;
  member jsonb;
  held attempt;
  kept_until timestamptz;
  recorded int;
  is_ours boolean[] := '{}';
  ending jsonb := '[]';
begin
  latest_day := lock_tasks(array(select m->>'task_id' from jsonb_array_elements(members) m));

  for member in select m from jsonb_array_elements(members) with ordinality as given (m, ord) order by ord loop
    select * into held from attempt where id = member->>'attempt_id' for update;
    ours := found and held.fence = member->>'fence' and coalesce(held.outcome, 'ok') = 'ok';
    is_ours := is_ours || ours;
    continue when not ours;
    ending := ending || member;
    continue when held.outcome is not null;

    kept_until := date_trunc('second', clock_timestamp()) + make_interval(secs => (member->>'retention_seconds')::float8);
    insert into file (id, project_id, task_id, purpose, storage_key, mime_type, bytes, sha256, width, height, duration, expires_at)
    select f.id, t.project_id, t.id, 'output', f.storage_key, f.mime_type, f.bytes, f.sha256, f.width, f.height, f.duration, kept_until
    from task t cross join jsonb_to_recordset(member->'files') as f (
      id text, storage_key text, mime_type text, bytes bigint, sha256 text, width int, height int, duration float8)
    where t.id = member->>'task_id'
    on conflict (storage_key) do update set mime_type = excluded.mime_type, bytes = excluded.bytes, sha256 = excluded.sha256,
      width = excluded.width, height = excluded.height, duration = excluded.duration, expires_at = excluded.expires_at
    where file.deleted_at is null;
    get diagnostics recorded = row_count;
    if recorded <> jsonb_array_length(member->'files') then
      raise exception 'a file of attempt % was not recorded, because retention has deleted its draft', held.id;
    end if;
    update attempt set outcome = 'ok', ended_at = clock_timestamp(), next_poll_at = null, outputs = (
      select jsonb_agg(jsonb_build_object(
        'file_id', f->'id', 'mime_type', f->'mime_type', 'bytes', f->'bytes', 'width', f->'width', 'height', f->'height',
        'duration', f->'duration', 'sha256', f->'sha256', 'expires_at', extract(epoch from kept_until)::bigint) order by ord)
      from jsonb_array_elements(member->'files') with ordinality as given (f, ord))
    where id = held.id;
  end loop;

  return query
    select asked.ours, coalesce(f.finished, false), f.status, f.error_code, f.delivery_id
    from unnest(is_ours) with ordinality as asked (ours, n)
    left join (select e.*, row_number() over () as place from end_tasks(ending, latest_day) e) f
      on asked.ours and f.place = (select count(*) from unnest(is_ours) with ordinality as before (ours, n) where before.ours and before.n <= asked.n)
    order by asked.n;
end $function$;

CREATE OR REPLACE FUNCTION public.finish_chats(p_request_ids text[], p_settled bigint[], p_channel_ids text[], p_input_tokens bigint[], p_output_tokens bigint[], p_usage_estimated boolean[], p_delivered_tokens integer[], p_costs_micro_usd bigint[], p_attempt_ids text[], p_outcomes text[], p_error_classes text[], p_statuses integer[], p_details text[], p_answer_statuses integer[], p_answer_bodies text[], p_reasons text[], p_cached_input_tokens bigint[], p_cache_write_tokens bigint[], p_cache_write_1h_tokens bigint[], p_reasoning_tokens bigint[])
 RETURNS TABLE(ended boolean, charged bigint)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  charges bigint[];
  -- The holds that this call may end. A statement that its caller has given up may still commit one after they were read. That one is refunded
  -- when it expires: its account is not locked here, and the day of its key is not known.
  held_ids text[];
  held_projects text[];
  held_keys text[];
  -- The latest day on which one of the keys was used. No hold began later.
  latest_day date;
  month_first date;
  any_other_attempt boolean;
  any_idempotent boolean;
  returned jsonb;
begin
  select array_agg(h.id), array_agg(h.project_id), array_agg(h.key_id) into held_ids, held_projects, held_keys
  from hold h where h.id = any (p_request_ids);
  perform lock_accounts(coalesce(held_projects, '{}'));
  latest_day := (select max(k.used_on) from api_key k where k.id = any (held_keys));
  month_first := date_trunc('month', latest_day::timestamp)::date;
  with given as materialized (
    select * from unnest(p_request_ids, p_settled, p_channel_ids, p_input_tokens, p_output_tokens, p_usage_estimated,
                         p_delivered_tokens, p_costs_micro_usd, p_attempt_ids, p_outcomes, p_error_classes, p_statuses, p_details,
                         p_reasons, p_cached_input_tokens, p_cache_write_tokens, p_cache_write_1h_tokens, p_reasoning_tokens)
      with ordinality as x (request_id, settled, won_by, input_tokens, output_tokens, usage_estimated,
                            delivered_tokens, cost_micro_usd, ended_attempt_id, outcome, error_class, status, detail, reason,
                            cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, n)
  ), released as (
    delete from hold h where h.id = any (held_ids) returning h.*, first_attempt_id(h.id) as first_attempt_id
  ), over as materialized (
    select r.*, g.*, case when g.settled is null then 0 else least(g.settled, r.amount) end as charged,
      g.ended_attempt_id = r.first_attempt_id and g.outcome = 'ok' as at_once, (r.created_at at time zone 'UTC')::date as began_on
    from released r join given g on g.request_id = r.id
  ), accounts as (
    update credit_account a set balance = a.balance + s.back, reserved = a.reserved - s.held
    from (select project_id, sum(amount - charged) as back, sum(amount) as held from over group by 1) s
    where a.project_id = s.project_id and a.project_id = any (array(select project_id from over))
    returning a.project_id, a.balance + a.reserved as total
  ), keys as (
    update api_key k set reserved = k.reserved - s.held, spent = k.spent + s.charged, in_flight = k.in_flight - s.chats, used_on = latest_day,
      day_spent = in_period(k.day_spent, k.used_on, latest_day) + s.day_charged,
      day_reserved = in_period(k.day_reserved, k.used_on, latest_day) - s.day_held,
      month_spent = in_period(k.month_spent, k.used_on, month_first) + s.month_charged,
      month_reserved = in_period(k.month_reserved, k.used_on, month_first) - s.month_held
    from (
      select key_id, sum(amount) as held, sum(charged) as charged, count(*) as chats,
        coalesce(sum(amount) filter (where began_on >= latest_day), 0) as day_held,
        coalesce(sum(charged) filter (where began_on >= latest_day), 0) as day_charged,
        coalesce(sum(amount) filter (where began_on >= month_first), 0) as month_held,
        coalesce(sum(charged) filter (where began_on >= month_first), 0) as month_charged
      from over group by 1) s
    where k.id = s.key_id and k.id = any (array(select key_id from over))
  ), entries as (
    insert into ledger_entry (project_id, kind, credits, balance_after, key_id, request_id, model_id, channel_id, held, input_tokens, output_tokens,
                              usage_estimated, delivered_tokens, cost_micro_usd, reason, began_at,
                              cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens)
    select o.project_id, case when o.settled is null then 'refund' else 'settle' end, -o.charged,
      -- What the later ones of this batch take is still in the account.
      a.total + coalesce(sum(o.charged) over (partition by o.project_id order by o.n rows between 1 following and unbounded following), 0),
      o.key_id, o.id, o.model_id, o.won_by, o.amount, o.input_tokens, o.output_tokens, o.usage_estimated, o.delivered_tokens,
      case when o.at_once then o.cost_micro_usd end, o.reason, o.created_at,
      o.cached_input_tokens, o.cache_write_tokens, o.cache_write_1h_tokens, o.reasoning_tokens
    from over o join accounts a on a.project_id = o.project_id order by o.n
  ), first_attempts as (
    insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, model_id, started_at,
                         outcome, error_class, status, detail, cost_micro_usd, ended_at)
    select first_attempt_id, id, 1, channel_id, channel_name, first_attempt_id, expires_at, model_id, created_at,
      outcome, error_class, status, detail, coalesce(cost_micro_usd, 0), clock_timestamp()
    from over where ended_attempt_id = first_attempt_id and not at_once
    on conflict do nothing
  )
  select array_agg(case when o.id is not null then o.charged end order by g.n), bool_or(o.is_idempotent),
         bool_or(g.ended_attempt_id is distinct from o.first_attempt_id),
         jsonb_agg(jsonb_build_object('project_id', o.project_id, 'n', o.grant_interval, 'back', o.amount - o.charged))
           filter (where o.grant_interval is not null and o.amount > o.charged)
  into charges, any_idempotent, any_other_attempt, returned
  from given g left join over o on o.n = g.n;

  if returned is not null then perform return_to_grants(returned); end if;
  if any_other_attempt then
    update attempt a set outcome = x.outcome, error_class = x.error_class, status = x.status, detail = x.detail,
      cost_micro_usd = coalesce(x.cost_micro_usd, 0), ended_at = clock_timestamp()
    from unnest(p_attempt_ids, p_outcomes, p_error_classes, p_statuses, p_details, p_costs_micro_usd)
      as x (attempt_id, outcome, error_class, status, detail, cost_micro_usd)
    where a.id = x.attempt_id and a.id = any (p_attempt_ids) and a.outcome is null;
  end if;
  if any_idempotent then
    update idempotency i set status = x.answer_status, body = x.answer_body, bound_at = clock_timestamp()
    from unnest(p_request_ids, p_settled, p_answer_statuses, p_answer_bodies, charges)
      as x (request_id, settled, answer_status, answer_body, charged)
    where i.request_id = x.request_id and i.request_id = any (p_request_ids)
      and x.charged is not null and x.settled is not null and x.answer_status is not null;
    delete from idempotency i
    using unnest(p_request_ids, p_settled, p_answer_statuses, charges) as x (request_id, settled, answer_status, charged)
    where i.request_id = x.request_id and i.request_id = any (p_request_ids)
      and x.charged is not null and (x.settled is null or x.answer_status is null)
      -- A chat that lost its client stays, for a repetition of its request (src/db/idempotency.ts).
      and i.route not like 'undelivered %';
  end if;
  return query
    select x.charged is not null, coalesce(x.charged, (
      select -e.credits from ledger_entry e where e.request_id = x.request_id and e.kind in ('settle', 'refund')), 0)
    from unnest(p_request_ids, charges) with ordinality as x (request_id, charged, n) order by x.n;
end $function$;

CREATE OR REPLACE FUNCTION public.finish_chats_alone(p_request_id text, p_settled bigint, p_channel_id text, p_input_tokens bigint, p_output_tokens bigint, p_usage_estimated boolean, p_delivered_tokens integer, p_cost_micro_usd bigint, p_reason text, p_cached_input_tokens bigint, p_cache_write_tokens bigint, p_cache_write_1h_tokens bigint, p_reasoning_tokens bigint, OUT ended boolean, OUT charged bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
begin
  -- The lock is that of lock_accounts.
  perform pg_advisory_xact_lock(7106, hashtext(h.project_id)) from hold h where h.id = p_request_id;
  with released as (
    delete from hold h where h.id = p_request_id and not h.is_idempotent and (h.grant_interval is null or h.amount <= p_settled)
    returning h.*
  ), released_with_key as materialized (
    select r.*, least(p_settled, r.amount) as charge, k.used_on as latest_day, date_trunc('month', k.used_on::timestamp)::date as month_first,
      (r.created_at at time zone 'UTC')::date as began_on
    from released r left join api_key k on k.id = r.key_id
  ), account as (
    update credit_account a set balance = a.balance + o.amount - o.charge, reserved = a.reserved - o.amount
    from released_with_key o where a.project_id = o.project_id
    returning a.balance + a.reserved as total
  ), key as (
    update api_key k set reserved = k.reserved - o.amount, spent = k.spent + o.charge, in_flight = k.in_flight - 1,
      day_spent = k.day_spent + case when o.began_on >= o.latest_day then o.charge else 0 end,
      day_reserved = k.day_reserved - case when o.began_on >= o.latest_day then o.amount else 0 end,
      month_spent = k.month_spent + case when o.began_on >= o.month_first then o.charge else 0 end,
      month_reserved = k.month_reserved - case when o.began_on >= o.month_first then o.amount else 0 end
    from released_with_key o where k.id = o.key_id
  )
  insert into ledger_entry (project_id, kind, credits, balance_after, key_id, request_id, model_id, channel_id, held, input_tokens, output_tokens,
                            usage_estimated, delivered_tokens, cost_micro_usd, reason, began_at,
                            cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens)
  select o.project_id, 'settle', -o.charge, a.total, o.key_id, o.id, o.model_id, p_channel_id, o.amount, p_input_tokens, p_output_tokens,
    p_usage_estimated, p_delivered_tokens, p_cost_micro_usd, p_reason, o.created_at,
    p_cached_input_tokens, p_cache_write_tokens, p_cache_write_1h_tokens, p_reasoning_tokens
  from released_with_key o cross join account a
  returning true, -credits into ended, charged;
  if ended is null then
    select f.* into ended, charged from finish_chats(
      array[p_request_id], array[p_settled], array[p_channel_id], array[p_input_tokens], array[p_output_tokens], array[p_usage_estimated],
      array[p_delivered_tokens], array[p_cost_micro_usd], array[first_attempt_id(p_request_id)], array['ok'], array[null]::text[],
      array[null]::int[], array[null]::text[], array[null]::int[], array[null]::text[], array[p_reason],
      array[p_cached_input_tokens], array[p_cache_write_tokens], array[p_cache_write_1h_tokens], array[p_reasoning_tokens]) f;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.finish_tasks(members jsonb)
 RETURNS TABLE(task_id text, finished boolean, status text, error_code text, delivery_id text)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  latest_day date := lock_tasks(array(select m->>'task_id' from jsonb_array_elements(members) m));
begin
  return query select * from end_tasks(members, latest_day);
end $function$;

CREATE OR REPLACE FUNCTION public.first_entry_since(p_at timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'auto'
AS $function$
declare
  -- Every entry up to `low` is earlier, and every entry from `high` on is not.
  low bigint := 0;
  high bigint := coalesce((select max(id) from ledger_entry), 0) + 1;
  middle bigint;
  probe record;
begin
  while high - low > 1 loop
    middle := low + (high - low) / 2;
    select e.id, e.created_at into probe from ledger_entry e where e.id >= middle and e.id < high order by e.id limit 1;
    if probe.created_at < p_at then
      low := probe.id;
    else
      high := middle;
    end if;
  end loop;
  return high;
end $function$;

CREATE OR REPLACE FUNCTION public.fold_traffic(p_lag_seconds double precision, p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
declare
  yesterday timestamptz := date_trunc('day', clock_timestamp(), 'UTC') - interval '1 day';
  since timestamptz := yesterday - interval '14 days';
  usage_since timestamptz := yesterday - interval '99 days';
  mark bigint;
  through bigint;
  found_entries int;
begin
  select through_entry_id into mark from traffic_mark for update skip locked;
  if not found then return 0; end if;
  select max(e.id), count(*) into through, found_entries
  from (select id, created_at from ledger_entry where id > mark order by id limit p_limit) e
  where e.created_at <= clock_timestamp() - make_interval(secs => p_lag_seconds);
  if found_entries = 0 then return 0; end if;
  insert into traffic as t
  select * from sum_traffic(mark, through, since, 'infinity')
  on conflict (slot, latency_class) do update set succeeded = t.succeeded + excluded.succeeded, failed = t.failed + excluded.failed,
    credits = t.credits + excluded.credits, cost_micro_usd = t.cost_micro_usd + excluded.cost_micro_usd,
    first_entry_id = least(t.first_entry_id, excluded.first_entry_id), last_entry_id = greatest(t.last_entry_id, excluded.last_entry_id);
  insert into traffic_unknown_cost as t
  select * from sum_unknown_costs(mark, through, since, 'infinity')
  on conflict (slot) do update set unknown_costs = t.unknown_costs + excluded.unknown_costs;
  insert into usage_half_hour as t (slot, project_id, key_id, model_id, successes, failures, credits_charged, input_tokens, output_tokens,
                                    cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens)
  select date_bin('30 minutes', e.created_at, 'epoch'), e.project_id, coalesce(e.key_id, ''), coalesce(e.model_id, ''), count(*) filter (where e.kind = 'settle'),
    count(*) filter (where e.kind = 'refund'), -sum(e.credits), coalesce(sum(e.input_tokens), 0), coalesce(sum(e.output_tokens), 0),
    coalesce(sum(e.cached_input_tokens), 0), coalesce(sum(e.cache_write_tokens), 0), coalesce(sum(e.cache_write_1h_tokens), 0), coalesce(sum(e.reasoning_tokens), 0)
  from (select * from ledger_entry where id > mark and id <= through offset 0) e
  where e.created_at >= usage_since and e.kind in ('settle', 'refund', 'adjust')
  group by 1, 2, 3, 4
  -- Rows that are read together are written together.
  order by 1, 2, 3, 4
  on conflict (slot, project_id, key_id, model_id) do update set successes = t.successes + excluded.successes,
    failures = t.failures + excluded.failures, credits_charged = t.credits_charged + excluded.credits_charged,
    input_tokens = t.input_tokens + excluded.input_tokens, output_tokens = t.output_tokens + excluded.output_tokens,
    cached_input_tokens = t.cached_input_tokens + excluded.cached_input_tokens, cache_write_tokens = t.cache_write_tokens + excluded.cache_write_tokens,
    cache_write_1h_tokens = t.cache_write_1h_tokens + excluded.cache_write_1h_tokens, reasoning_tokens = t.reasoning_tokens + excluded.reasoning_tokens;
  update traffic_mark set through_entry_id = through;
  delete from traffic where slot < since;
  delete from traffic_unknown_cost where slot < since;
  with fine as (
    delete from traffic where slot < yesterday and slot <> date_trunc('hour', slot, 'UTC') returning *
  )
  insert into traffic as t
  select date_trunc('hour', slot, 'UTC'), latency_class, sum(succeeded), sum(failed), sum(credits), sum(cost_micro_usd), min(first_entry_id),
    max(last_entry_id)
  from fine group by 1, 2 order by 1, 2
  on conflict (slot, latency_class) do update set succeeded = t.succeeded + excluded.succeeded, failed = t.failed + excluded.failed,
    credits = t.credits + excluded.credits, cost_micro_usd = t.cost_micro_usd + excluded.cost_micro_usd,
    first_entry_id = least(t.first_entry_id, excluded.first_entry_id), last_entry_id = greatest(t.last_entry_id, excluded.last_entry_id);
  delete from usage_half_hour where slot < usage_since;
  return found_entries;
end $function$;

CREATE OR REPLACE FUNCTION public.fold_usage(p_lag_seconds double precision, p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
declare
  since timestamptz := date_trunc('day', clock_timestamp(), 'UTC') - interval '100 days';
  mark bigint;
  through bigint;
  found_entries int;
begin
  select coalesce(through_entry_id, -1) into mark from usage_mark for update skip locked;
  if not found then return 0; end if;
  if mark = -1 then mark := first_entry_since(since) - 1; end if;
  select max(e.id), count(*) into through, found_entries
  from (select id, created_at from ledger_entry where id > mark order by id limit p_limit) e
  where e.created_at <= clock_timestamp() - make_interval(secs => p_lag_seconds);
  if found_entries = 0 then return 0; end if;
  insert into usage_slot as t (slot, project_id, key_id, model_id, channel_id, successes, failures, refusals, left_charged, left_refunded,
                               credits_charged, cost_micro_usd, unknown_costs, input_tokens, output_tokens, cached_input_tokens, cache_write_tokens,
                               cache_write_1h_tokens, reasoning_tokens)
  select date_bin('30 minutes', f.at, 'epoch'), f.project_id, f.key_id, f.model_id, f.channel_id, sum(f.successes), sum(f.failures),
    sum(f.refusals), sum(f.left_charged), sum(f.left_refunded), sum(f.credits_charged), sum(f.cost_micro_usd),
    sum(f.unknown_costs), sum(f.input_tokens), sum(f.output_tokens), sum(f.cached_input_tokens), sum(f.cache_write_tokens), sum(f.cache_write_1h_tokens), sum(f.reasoning_tokens)
  from spend_facts(mark, through) f where f.at >= since
  group by 1, 2, 3, 4, 5
  -- Rows that are read together are written together.
  order by 1, 2, 3, 4, 5
  on conflict (slot, project_id, key_id, model_id, channel_id) do update set successes = t.successes + excluded.successes,
    failures = t.failures + excluded.failures, refusals = t.refusals + excluded.refusals,
    left_charged = t.left_charged + excluded.left_charged, left_refunded = t.left_refunded + excluded.left_refunded,
    unknown_costs = t.unknown_costs + excluded.unknown_costs, credits_charged = t.credits_charged + excluded.credits_charged,
    cost_micro_usd = t.cost_micro_usd + excluded.cost_micro_usd, input_tokens = t.input_tokens + excluded.input_tokens,
    output_tokens = t.output_tokens + excluded.output_tokens, cached_input_tokens = t.cached_input_tokens + excluded.cached_input_tokens,
    cache_write_tokens = t.cache_write_tokens + excluded.cache_write_tokens,
    cache_write_1h_tokens = t.cache_write_1h_tokens + excluded.cache_write_1h_tokens, reasoning_tokens = t.reasoning_tokens + excluded.reasoning_tokens;
  update usage_mark set through_entry_id = through;
  delete from usage_slot where slot < since;
  return found_entries;
end $function$;

CREATE OR REPLACE FUNCTION public.forget_metadata(p_ids text[])
 RETURNS void
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
begin
  delete from task_metadata m using (
    select metadata_pair(t.project_id, e.key, e.value) as pair, t.created_at, t.id
    from task t cross join lateral jsonb_each_text(t.metadata) e where t.id = any (p_ids) and t.metadata is not null) gone
  where m.pair = gone.pair and m.created_at = gone.created_at and m.task_id = gone.id;
end $function$;

CREATE OR REPLACE FUNCTION public.left_of_grants(p_project_id text, p_through integer DEFAULT NULL::integer)
 RETURNS TABLE(id bigint, ends_at timestamp with time zone, has_ended boolean, remaining bigint)
 LANGUAGE plpgsql
 STABLE
AS $function$
#variable_conflict use_column
declare
  ids bigint[];
  lefts bigint[];
  firsts int[];
  lasts int[];
  period record;
  paid bigint;
begin
  select array_agg(g.id order by g.ends_at, g.id), array_agg(g.amount - g.absorbed - g.spent order by g.ends_at, g.id),
    array_agg(g.first_interval order by g.ends_at, g.id), array_agg(g.last_interval order by g.ends_at, g.id)
  into ids, lefts, firsts, lasts
  from credit_grant g where g.project_id = p_project_id and not g.is_closed;
  if ids is null then return; end if;
  for period in
    select i.n, i.used from grant_interval i where i.project_id = p_project_id and (p_through is null or i.n <= p_through)
    union all
    select a.grant_interval, a.grant_mark - a.balance from credit_account a where a.project_id = p_project_id and p_through is null
    order by 1
  loop
    for g in 1..cardinality(ids) loop
      if firsts[g] <= period.n and (lasts[g] is null or lasts[g] >= period.n) then
        paid := least(lefts[g], period.used);
        lefts[g] := lefts[g] - paid;
        period.used := period.used - paid;
      end if;
    end loop;
  end loop;
  return query
    select g.id, g.ends_at, g.last_interval is not null, x.remaining - g.expired
    from unnest(ids, lefts) as x (id, remaining) join credit_grant g on g.id = x.id order by g.ends_at, g.id;
end $function$;

CREATE OR REPLACE FUNCTION public.lock_tasks(p_ids text[])
 RETURNS date
 LANGUAGE plpgsql
AS $function$
begin
  perform lock_accounts(array(select t.project_id from task t where t.id = any (p_ids)));
  perform from task t where t.id = any (p_ids) order by t.id for no key update;
  return (select max(k.used_on) from api_key k where k.id = any (array(select t.key_id from task t where t.id = any (p_ids))));
end $function$;

CREATE OR REPLACE FUNCTION public.next_chat_attempts(members jsonb)
 RETURNS TABLE(ord integer, begun boolean)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
begin
  insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, model_id, started_at,
                       outcome, error_class, status, detail, retry_at, ended_at)
  select x.ended_id, h.id, 1, h.channel_id, h.channel_name, x.ended_id, h.expires_at, h.model_id, h.created_at,
    x.outcome, x.error_class, x.status, x.detail, case when x.is_same then clock_timestamp() end, clock_timestamp()
  from jsonb_to_recordset(members) as x (
    request_id text, ended_id text, outcome text, error_class text, status int, detail text, is_same boolean)
  -- offset 0 keeps this a look-up for each member, however large the table is when the statement is planned.
  cross join lateral (select * from hold where hold.id = x.request_id and first_attempt_id(hold.id) = x.ended_id offset 0) h
  on conflict do nothing;
  update attempt a set outcome = x.outcome, error_class = x.error_class, status = x.status, detail = x.detail,
    retry_at = case when x.is_same then clock_timestamp() end, ended_at = clock_timestamp()
  from jsonb_to_recordset(members) as x (ended_id text, outcome text, error_class text, status int, detail text, is_same boolean)
  where a.id = x.ended_id and a.outcome is null
    and a.id = any (array(select ended_id from jsonb_to_recordset(members) as y (ended_id text)));
  return query
    with given as materialized (
      select * from jsonb_to_recordset(members) as x (
        ord int, attempt_id text, request_id text, n int, channel_id text, channel_name text)
    ), fresh as (
      insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, model_id)
      select g.attempt_id, g.request_id, g.n, g.channel_id, g.channel_name, g.attempt_id, held.expires_at, held.model_id
      from given g cross join lateral (
        select h.expires_at, h.model_id from hold h where h.id = g.request_id offset 0
      ) held
      on conflict do nothing
      returning id
    )
    select g.ord, exists (select from fresh f where f.id = g.attempt_id)
      -- A scalar subquery is never turned into a hash of the whole table, as "exists" can be.
      or (select true from attempt a where a.id = g.attempt_id) is not null
    from given g order by g.ord;
end $function$;

CREATE OR REPLACE FUNCTION public.note_balance_alerts(p_project_id text)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  written int;
begin
  update balance_alert b set is_below = false from project p
  where p.id = p_project_id and b.project_id = p.id and b.is_below and b.threshold <> all (coalesce(p.alert_at, '{}'));
  with present as materialized (
    select x.threshold, alert_credits(p.id, x.threshold) as credits, a.balance, a.reserved, p.alert_url, p.alert_mail
    from project p join credit_account a on a.project_id = p.id cross join unnest(p.alert_at) as x (threshold)
    where p.id = p_project_id
  ), noted as (
    insert into balance_alert as b (project_id, threshold, is_below, crossings)
    select p_project_id, c.threshold, c.is_below, c.is_below::int
    from (select distinct threshold, coalesce(balance + reserved <= credits, false) as is_below from present) c
    on conflict (project_id, threshold) do update set is_below = excluded.is_below, crossings = b.crossings + excluded.crossings
      where b.is_below <> excluded.is_below
    returning b.threshold, b.is_below, b.crossings
  )
  insert into balance_event (id, project_id, threshold, threshold_credits, balance, reserved, url, hook_state, mail_to, mail_state, next_try_at)
  select 'evt_' || left(encode(sha256(convert_to(concat_ws(' ', p_project_id, c.threshold, n.crossings), 'UTF8')), 'hex'), 32),
    p_project_id, c.threshold, c.credits, c.balance, c.reserved,
    c.alert_url, case when c.alert_url is not null then 'pending' end, c.alert_mail, case when c.alert_mail is not null then 'pending' end,
    case when c.alert_url is not null or c.alert_mail is not null then clock_timestamp() end
  from present c join noted n on n.threshold = c.threshold and n.is_below
  on conflict (id) do nothing;
  get diagnostics written = row_count;
  return written;
end $function$;

CREATE OR REPLACE FUNCTION public.note_channel_failure(p_channel_id text, p_model_id text, p_reason text, p_age_seconds double precision, p_trip boolean, p_failures_max integer, p_step_seconds double precision, p_max_seconds double precision)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  h channel_health;
begin
  insert into channel_health (channel_id, model_id, failures, reason)
  select c.id, p_model_id, 1, p_reason from channel c where c.id = p_channel_id
  on conflict (channel_id, model_id) do update
    set failures = channel_health.failures + 1, reason = excluded.reason, updated_at = clock_timestamp()
    where channel_health.tripped_at is null
       or channel_health.tripped_at < clock_timestamp() - make_interval(secs => p_age_seconds)
  returning * into h;
  if not found or h.unavailable_until > clock_timestamp() then return false; end if;
  if not (p_trip or h.failures >= p_failures_max or h.trips > 0) then return false; end if;
  update channel_health set trips = h.trips + 1, failures = 0, tripped_at = clock_timestamp(), probe_until = null,
    unavailable_until = clock_timestamp() + make_interval(secs => least(p_max_seconds, p_step_seconds * (h.trips + 1)))
  where channel_id = p_channel_id and model_id = p_model_id;
  -- What was said against the channel before the trip must not count after it.
  update channel_witness set failed_at = null
  where channel_id = p_channel_id and model_id = p_model_id and failed_at is not null;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION public.note_channel_success(p_channel_id text, p_model_id text, p_age_seconds double precision)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  update channel_health set failures = 0, trips = 0, tripped_at = null, probe_until = null, probe_project_id = null, alarm = null, alarm_at = null,
    unavailable_until = case when trips > 0 or reason = 'unknown_model' then null else unavailable_until end,
    reason = case when trips > 0 or reason = 'unknown_model' then null else reason end, updated_at = clock_timestamp()
  where channel_id = p_channel_id and model_id in (p_model_id, '*') and (failures > 0 or trips > 0 or alarm is not null)
    and (tripped_at is null or tripped_at < clock_timestamp() - make_interval(secs => p_age_seconds))
    and (alarm_at is null or alarm_at < clock_timestamp() - make_interval(secs => p_age_seconds));
  return found;
end $function$;

CREATE OR REPLACE FUNCTION public.note_channel_use(p_channel_id text, p_model_id text, p_project_id text, p_failed boolean, p_window_seconds double precision, p_used_seconds double precision)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  others int;
  failing int;
begin
  insert into channel_witness (channel_id, model_id, project_id, failed_at)
  select c.id, p_model_id, p_project_id, case when p_failed then clock_timestamp() end from channel c where c.id = p_channel_id
  on conflict (channel_id, model_id, project_id) do update
    set used_at = excluded.used_at,
        failed_at = case when p_failed is null then channel_witness.failed_at else excluded.failed_at end;
  if p_failed is not true then return false; end if;
  select count(*), count(*) filter (where w.failed_at > clock_timestamp() - make_interval(secs => p_window_seconds))
  into others, failing
  from channel_witness w
  where w.channel_id = p_channel_id and w.model_id = p_model_id and w.project_id <> p_project_id
    and w.used_at > clock_timestamp() - make_interval(secs => p_used_seconds);
  return others = 0 or failing > 0;
end $function$;

CREATE OR REPLACE FUNCTION public.note_mapping_success(p_channel_id text, p_model_id text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  insert into channel_mapping_state as s (channel_id, model_id, succeeded_at)
  select c.id, p_model_id, clock_timestamp() from channel c where c.id = p_channel_id
  on conflict (channel_id, model_id) do update
    set succeeded_at = excluded.succeeded_at, state = null, since = null, reason = null;
  if exists (select from channel_health h where h.channel_id = p_channel_id and h.model_id = p_model_id and h.alarm = 'unlisted') then
    update channel_health h set alarm = null, alarm_at = null, updated_at = clock_timestamp()
    where h.channel_id = p_channel_id and h.model_id = p_model_id and h.alarm = 'unlisted';
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.note_model_list(p_channel_id text, p_model_ids text[], p_reasons text[], p_is_complete boolean, p_success_seconds double precision)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  marked text[];
  cleared text[];
begin
  with lacking as (
    select l.model_id, l.reason from unnest(p_model_ids, p_reasons) as l (model_id, reason) where p_is_complete
  ), changed as (
    insert into channel_mapping_state as s (channel_id, model_id, state, since, reason)
    select c.id, l.model_id, 'unlisted', clock_timestamp(), l.reason
    from lacking l join channel c on c.id = p_channel_id and c.list_check
    on conflict (channel_id, model_id) do update set state = excluded.state, since = excluded.since, reason = excluded.reason
      where s.state is null
        and (s.succeeded_at is null or s.succeeded_at < clock_timestamp() - make_interval(secs => p_success_seconds))
    returning s.model_id
  )
  select coalesce(array_agg(changed.model_id), '{}') into marked from changed;
  with changed as (
    update channel_mapping_state s set state = null, since = null, reason = null
    where s.channel_id = p_channel_id and s.state = 'unlisted' and s.model_id <> all (p_model_ids)
    returning s.model_id
  )
  select coalesce(array_agg(changed.model_id), '{}') into cleared from changed;
  if cardinality(marked) > 0 then
    insert into channel_health as h (channel_id, model_id, alarm, alarm_at)
    select p_channel_id, m.model_id, 'unlisted', clock_timestamp() from unnest(marked) as m (model_id)
    on conflict (channel_id, model_id) do update
      set alarm = excluded.alarm, alarm_at = excluded.alarm_at, updated_at = clock_timestamp();
  end if;
  if cardinality(cleared) > 0 then
    update channel_health h set alarm = null, alarm_at = null, updated_at = clock_timestamp()
    where h.channel_id = p_channel_id and h.alarm = 'unlisted' and h.model_id = any (cleared);
  end if;
  return jsonb_build_object('marked', marked, 'cleared', cleared);
end $function$;

CREATE OR REPLACE FUNCTION public.notify_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('tollgate_change', tg_table_name);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.notify_tasks(p_ids text[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('tollgate_change', 'task ' || string_agg(id, ' '))
  from unnest(p_ids) with ordinality given (id, ord)
  group by (ord - 1) / 200;
end $function$;

CREATE OR REPLACE FUNCTION public.purge_chat_attempts(p_seconds double precision, p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  purged int;
begin
  delete from attempt where id in (
    select a.id from attempt a
    where a.started_at < clock_timestamp() - make_interval(secs => p_seconds) and is_summarised(a.started_at)
      and not exists (select from task t where t.id = a.request_id)
      and not exists (select from hold h where h.id = a.request_id)
    limit p_limit for update skip locked);
  get diagnostics purged = row_count;
  return purged;
end $function$;

CREATE OR REPLACE FUNCTION public.purge_rejected_tasks(p_seconds double precision, p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  due text[];
  purged int;
begin
  select array_agg(id) into due from (
    select id from task where admission = 'rejected' and completed_at < clock_timestamp() - make_interval(secs => p_seconds)
    order by completed_at limit p_limit for update skip locked) over;
  perform forget_metadata(due);
  delete from task where id = any (due);
  get diagnostics purged = row_count;
  return purged;
end $function$;

CREATE OR REPLACE FUNCTION public.purge_tasks(p_seconds double precision, p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  due text[];
  purged int;
begin
  select array_agg(id) into due from (
    select t.id from task t
    where t.completed_at < clock_timestamp() - make_interval(secs => p_seconds) and t.admission <> 'rejected'
      and not exists (select from delivery d where d.task_id = t.id and d.state = 'pending')
      and not exists (select from attempt a where a.request_id = t.id and not is_summarised(a.started_at))
    order by t.completed_at limit p_limit for update skip locked) over;
  if due is null then return 0; end if;
  delete from delivery_attempt where delivery_id in (select id from delivery where task_id = any (due));
  delete from delivery where task_id = any (due);
  delete from attempt where request_id = any (due);
  perform forget_metadata(due);
  delete from task where id = any (due);
  get diagnostics purged = row_count;
  perform notify_tasks(due);
  return purged;
end $function$;

CREATE OR REPLACE FUNCTION public.raise_channel_alarm(p_channel_id text, p_model_id text, p_alarm text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  insert into channel_health (channel_id, model_id, alarm, alarm_at)
  select c.id, p_model_id, p_alarm, clock_timestamp() from channel c where c.id = p_channel_id
  on conflict (channel_id, model_id) do update set alarm = excluded.alarm, alarm_at = excluded.alarm_at, updated_at = clock_timestamp()
    where channel_health.alarm is distinct from excluded.alarm;
  return found;
end $function$;

CREATE OR REPLACE FUNCTION public.rebuild_summary(p_day date, p_credit_value bigint, p_lag_seconds double precision, p_freeze_days integer)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  first timestamptz := p_day::timestamp at time zone 'UTC';
  past timestamptz := (p_day + 1)::timestamp at time zone 'UTC';
  this_month text := to_char(p_day, 'YYYY-MM');
  month_first date := date_trunc('month', p_day)::date;
  month_past date := (date_trunc('month', p_day) + interval '1 month')::date;
  until timestamptz;
  through bigint;
  over boolean;
  month_over boolean;
begin
  perform pg_advisory_xact_lock(7107, hashtext('monthly_summary'));
  if exists (select from summary_day where day = p_day and frozen_at is not null) then return 'frozen_before'; end if;
  over := clock_timestamp() >= past + make_interval(days => p_freeze_days);
  until := clock_timestamp() - make_interval(secs => p_lag_seconds);
  select coalesce(max(id), 0) into through from ledger_entry where created_at <= until;

  delete from daily_summary where day = p_day;
  insert into summary_day (day, through_entry_id, built_at, frozen_at)
  values (p_day, through, clock_timestamp(), case when over then clock_timestamp() end)
  on conflict (day) do update set through_entry_id = excluded.through_entry_id, built_at = excluded.built_at,
    frozen_at = excluded.frozen_at;

  insert into daily_summary (day, project_id, key_id, model_id, channel_id, successes, failures, refusals, left_charged, left_refunded,
                             credits_charged, cost_micro_usd, unknown_costs, input_tokens, output_tokens,
                             cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens)
  select p_day, project_id, key_id, model_id, channel_id, sum(successes), sum(failures), sum(refusals), sum(left_charged), sum(left_refunded),
         sum(credits), sum(cost), sum(unknown_costs), sum(input_tokens), sum(output_tokens),
         sum(cached_input_tokens), sum(cache_write_tokens), sum(cache_write_1h_tokens), sum(reasoning_tokens)
  from (
    select e.project_id, coalesce(e.key_id, '') as key_id, coalesce(e.model_id, '') as model_id,
      coalesce(e.channel_id,
               case when e.kind = 'refund' then (select a.channel_id from attempt a where a.request_id = e.request_id order by a.n desc limit 1) end,
               '') as channel_id,
      (e.kind = 'settle')::int as successes, (e.kind = 'refund')::int as failures, (e.kind = 'refund' and is_refusal(e.reason))::int as refusals,
      (e.kind = 'settle' and has_left(e.reason))::int as left_charged, (e.kind = 'refund' and has_left(e.reason))::int as left_refunded,
      -e.credits as credits, 0::bigint as cost, 0 as unknown_costs,
      case when e.kind = 'settle' then coalesce(e.input_tokens, 0) else 0 end as input_tokens,
      case when e.kind = 'settle' then coalesce(e.output_tokens, 0) else 0 end as output_tokens,
      coalesce(e.cached_input_tokens, 0) as cached_input_tokens, coalesce(e.cache_write_tokens, 0) as cache_write_tokens,
      coalesce(e.cache_write_1h_tokens, 0) as cache_write_1h_tokens, coalesce(e.reasoning_tokens, 0) as reasoning_tokens
    from ledger_entry e
    where e.created_at >= first and e.created_at < past and e.id <= through and e.kind in ('settle', 'refund', 'adjust')
    union all
    -- A chat ends within minutes, so an hour more holds every chat that began on this day.
    select e.project_id, e.key_id, e.model_id, e.channel_id, 0, 0, 0, 0, 0, 0, e.cost_micro_usd, 0, 0, 0, 0, 0, 0, 0
    from ledger_entry e
    where e.created_at >= first and e.created_at < past + interval '1 hour' and e.began_at >= first and e.began_at < past
      and e.cost_micro_usd <> 0 and (over or e.created_at <= until)
    union all
    select r.project_id, r.key_id, r.model_id, a.channel_id, 0, 0, 0, 0, 0, 0, a.bought, a.is_unknown::int, 0, 0, 0, 0, 0, 0
    from (
      select request_id, channel_id, bought_cost(outcome, operation, cost_micro_usd) as bought,
        has_unknown_cost(request_id, outcome, error_class, operation, cost_micro_usd) as is_unknown
      from attempt where started_at >= first and started_at < past) a
    cross join lateral (select * from reservation where reservation.id = a.request_id offset 0) r
    where (a.bought <> 0 or a.is_unknown) and (r.ended_at <= until or (over and (a.bought <> 0 or r.ended_at is not null)))
  ) facts
  group by 2, 3, 4, 5
  -- Rows that are read together are written together.
  order by 2, 3, 4, 5;

  select count(*) = month_past - month_first into month_over
  from summary_day where day >= month_first and day < month_past and frozen_at is not null;
  delete from monthly_summary where month = this_month;
  insert into summary_month (month, credit_value_micro_usd, built_at, frozen_at)
  values (this_month, p_credit_value, clock_timestamp(), case when month_over then clock_timestamp() end)
  on conflict (month) do update set built_at = excluded.built_at, credit_value_micro_usd = excluded.credit_value_micro_usd,
    frozen_at = excluded.frozen_at;
  insert into monthly_summary (month, project_id, model_id, channel_id, requests, successes, failures, left_charged, left_refunded,
                               credits_charged, cost_micro_usd, unknown_costs, margin_micro_usd, input_tokens, output_tokens,
                               cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens)
  select this_month, project_id, model_id, channel_id, sum(successes + failures), sum(successes), sum(failures),
         sum(left_charged), sum(left_refunded), sum(credits_charged), sum(cost_micro_usd), sum(unknown_costs),
         sum(credits_charged) * p_credit_value - sum(cost_micro_usd), sum(input_tokens),
         sum(output_tokens), sum(cached_input_tokens), sum(cache_write_tokens), sum(cache_write_1h_tokens), sum(reasoning_tokens)
  from daily_summary where day >= month_first and day < month_past
  group by 2, 3, 4;
  return case when month_over then 'frozen' else 'rebuilt' end;
end $function$;

CREATE OR REPLACE FUNCTION public.recent_requests(p_key_id text)
 RETURNS integer
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
begin
  -- counts[n] is n - 1 seconds older than the window's own second.
  return coalesce((
    select sum(c.n) from rate_window w cross join unnest(w.counts) with ordinality as c (n, slot)
    where w.key_id = p_key_id and w.second - (c.slot - 1) > floor(extract(epoch from clock_timestamp())) - 61), 0);
end $function$;

CREATE OR REPLACE FUNCTION public.redeliver(p_task_id text, p_delivery_id text, p_event_id text, p_cooldown_seconds double precision, p_project_max integer)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  t task;
begin
  select * into t from task where id = p_task_id for no key update;
  if not found then return 'no_callback'; end if;
  if t.expires_at <= clock_timestamp() then return 'erased'; end if;
  if t.callback_url is null then return 'no_callback'; end if;
  if t.completed_at is null then return 'not_ended'; end if;
  if exists (
    select from delivery where task_id = p_task_id and workflow_id is not null
      and created_at > clock_timestamp() - make_interval(secs => p_cooldown_seconds)
  ) then return 'too_soon'; end if;
  if p_project_max <= (
    select count(*) from (
      select from delivery where project_id = t.project_id and ended_at is null and workflow_id is not null limit p_project_max
    ) running
  ) then return 'too_many'; end if;
  update delivery set state = 'replaced', ended_at = clock_timestamp(), next_attempt_at = null, lease_token = null, lease_until = null
  where task_id = p_task_id and state = 'pending';
  insert into delivery (id, task_id, project_id, event_id, url, next_attempt_at, workflow_id)
  values (p_delivery_id, t.id, t.project_id, p_event_id, t.callback_url, clock_timestamp(), p_delivery_id);
  perform notify_tasks(array[p_task_id]);
  return 'started';
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'entries of % are only ever added', tg_table_name using errcode = '55000';
end $function$;

CREATE OR REPLACE FUNCTION public.reserve_tasks(ids text[], by_workflow boolean, in_flight_max_per_project integer)
 RETURNS TABLE(task_id text, admitted boolean, refusal_code text, remaining_ms double precision, status text)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  t record;
  code text;
  -- The accounts and keys by their places, and what this call has held of each so far.
  projects text[] := '{}';
  keys text[] := '{}';
  held_by_project bigint[] := '{}';
  held_by_key bigint[] := '{}';
  begun_by_project int[] := '{}';
  begun_by_key int[] := '{}';
  -- What was left of grants that had ended when this call began to decide.
  ended_by_project bigint[] := '{}';
  today date := (clock_timestamp() at time zone 'UTC')::date;
  -- As in admit_chats.
  decided_at timestamptz;
  began timestamptz;
  -- Today, or the later day on which one of the keys was used.
  latest_day date := today;
  month_first date;
  p int;
  k int;
  reserved_ids text[] := '{}';
  seen_ids text[] := '{}';
  rejected_ids text[] := '{}';
  codes text[] := '{}';
begin
  -- Not "exists (... and admission = 'open')": the planner would read task_open_idx for it, with all of its dead entries.
  if 'open' = any (array(select task.admission from task where id = any (ids))) then
    perform lock_accounts(array(select task.project_id from task where task.id = any (ids)));
  end if;
  decided_at := clock_timestamp();
  perform from task where id = any (ids) order by id for no key update;

  for t in
    select stored.id, stored.project_id, stored.key_id, stored.admission, stored.refusal_code, stored.status, stored.completed_at,
      stored.credits_quoted, stored.deadline_at, stored.created_at, a.balance + a.overdraft as balance, a.grant_due_at <= decided_at as any_ended, a.in_flight, k.room, k.used_on,
      k.in_flight_max - k.in_flight as places, pr.status = 'active' as is_active, k.revoked_at is not null as is_revoked, k.expires_at
    from unnest(ids) with ordinality as asked (id, ord)
    cross join lateral (select * from task where task.id = asked.id offset 0) stored
    left join lateral (select * from credit_account where project_id = stored.project_id and stored.admission = 'open' offset 0) a on true
    left join lateral (select *, key_room(api_key, today) as room from api_key where id = stored.key_id and stored.admission = 'open' offset 0) k on true
    left join lateral (select * from project where id = stored.project_id and stored.admission = 'open' offset 0) pr on true
    order by asked.ord
  loop
    task_id := t.id;
    admitted := t.admission = 'reserved';
    refusal_code := t.refusal_code;
    status := t.status;
    remaining_ms := extract(epoch from t.deadline_at - clock_timestamp()) * 1000;

    if t.admission = 'open' then
      p := array_position(projects, t.project_id);
      if p is null then
        projects := projects || t.project_id;
        held_by_project := held_by_project || 0::bigint;
        begun_by_project := begun_by_project || 0;
        ended_by_project := ended_by_project || case when t.any_ended then expire_grants(t.project_id, decided_at) else 0 end;
        p := cardinality(projects);
      end if;
      k := array_position(keys, t.key_id);
      if k is null then
        keys := keys || t.key_id;
        held_by_key := held_by_key || 0::bigint;
        begun_by_key := begun_by_key || 0;
        k := cardinality(keys);
      end if;
      code := case
        when t.is_active is not true or t.is_revoked or t.expires_at <= clock_timestamp() then 'invalid_api_key'
        when remaining_ms <= 0 then 'service_unavailable'
        when t.created_at < clock_timestamp() - interval '6 seconds' and not exists (select from idempotency i where i.task_id = t.id)
          then 'service_unavailable'
        when t.in_flight + begun_by_project[p] >= in_flight_max_per_project or t.places <= begun_by_key[k]
          then 'concurrency_limit_exceeded'
        when t.balance - ended_by_project[p] - held_by_project[p] < t.credits_quoted then 'insufficient_credits'
        when t.room - held_by_key[k] < t.credits_quoted then 'key_budget_exceeded'
      end;
      if code is null then
        held_by_project[p] := held_by_project[p] + t.credits_quoted;
        begun_by_project[p] := begun_by_project[p] + 1;
        held_by_key[k] := held_by_key[k] + t.credits_quoted;
        begun_by_key[k] := begun_by_key[k] + 1;
        latest_day := greatest(latest_day, t.used_on);
        reserved_ids := reserved_ids || t.id;
        admitted := true;
      else
        rejected_ids := rejected_ids || t.id;
        codes := codes || code;
        refusal_code := code;
        status := 'failed';
      end if;
    elsif by_workflow and t.admission = 'reserved' and t.completed_at is null then
      seen_ids := seen_ids || t.id;
    end if;
    return next;
  end loop;

  if reserved_ids <> '{}' then
    -- As in admit_chats.
    began := within_day(latest_day, decided_at);
    month_first := date_trunc('month', latest_day::timestamp)::date;
    with accounts as (
      update credit_account a set balance = a.balance - u.held, reserved = a.reserved + u.held, in_flight = a.in_flight + u.begun
      from unnest(projects, held_by_project, begun_by_project) as u (id, held, begun)
      where a.project_id = u.id and a.project_id = any (projects) and u.begun > 0
    ), used as (
      update api_key k set reserved = k.reserved + u.held, in_flight = k.in_flight + u.begun, used_on = latest_day,
        day_spent = in_period(k.day_spent, k.used_on, latest_day),
        day_reserved = in_period(k.day_reserved, k.used_on, latest_day) + u.held,
        month_spent = in_period(k.month_spent, k.used_on, month_first),
        month_reserved = in_period(k.month_reserved, k.used_on, month_first) + u.held,
        last_used_at = case when k.last_used_at > clock_timestamp() - interval '1 minute' then k.last_used_at else clock_timestamp() end
      from unnest(keys, held_by_key, begun_by_key) as u (id, held, begun)
      where k.id = u.id and k.id = any (keys) and u.begun > 0
    ), decided as (
      update task set admission = 'reserved', credits_reserved = task.credits_quoted, last_seen_at = clock_timestamp(),
        workflow_started_at = case when by_workflow then clock_timestamp() end
      where task.id = any (reserved_ids)
      returning task.id, task.project_id, task.key_id, task.model_id, task.credits_quoted, task.deadline_at
    )
    insert into hold (id, project_id, key_id, kind, model_id, amount, expires_at, created_at)
    select d.id, d.project_id, d.key_id, 'media', d.model_id, d.credits_quoted, d.deadline_at, began from decided d;
  end if;
  if rejected_ids <> '{}' then
    update task set admission = 'rejected', refusal_code = u.code, status = 'failed', completed_at = clock_timestamp(), input = null
    from unnest(rejected_ids, codes) as u (id, code) where task.id = u.id and task.id = any (rejected_ids);
    delete from idempotency i where i.task_id = any (rejected_ids);
  end if;
  if seen_ids <> '{}' then
    update task set workflow_started_at = coalesce(task.workflow_started_at, clock_timestamp()), last_seen_at = clock_timestamp()
    where task.id = any (seen_ids);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.return_chat(p_request_id text)
 RETURNS bigint
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  replayed boolean;
begin
  perform lock_accounts(array[r.project_id]) from reservation r where r.id = p_request_id;
  -- Locked, so that a replay either has marked the row by now or no longer finds it.
  select i.replayed_at is not null into replayed from idempotency i where i.request_id = p_request_id for update;
  if replayed then return 0; end if;
  delete from idempotency i where i.request_id = p_request_id;
  return (select a.given from adjust_credits(p_request_id, null, 'not_delivered') a);
end $function$;

CREATE OR REPLACE FUNCTION public.return_to_grants(p_returns jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  returned record;
begin
  for returned in
    select x.project_id, x.n, sum(x.back)::bigint as back from jsonb_to_recordset(p_returns) as x (project_id text, n int, back bigint) group by 1, 2
  loop
    update grant_interval i set used = i.used - returned.back where i.project_id = returned.project_id and i.n = returned.n;
    update credit_account a set grant_mark = a.grant_mark + returned.back
    where a.project_id = returned.project_id and a.grant_mark is not null;
  end loop;
  perform take_ended_grants(x.project_id) from (select distinct r ->> 'project_id' as project_id from jsonb_array_elements(p_returns) r) x;
end $function$;

CREATE OR REPLACE FUNCTION public.start_attempt(p_id text, p_task_id text, p_channel_id text, p_fence text, p_image_submit_seconds double precision, p_video_submit_seconds double precision, p_probe_seconds double precision, p_adapter text, p_input_keys text[])
 RETURNS TABLE(task_id text, project_id text, request_id text, type text, model_id text, status text, input jsonb, snapshot jsonb, remaining_ms double precision, cancel_requested boolean, begun jsonb, started boolean)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
declare
  t task;
  a attempt;
  may_begin boolean;
  mapping jsonb;
begin
  select * into t from task where task.id = p_task_id and task.admission = 'reserved' for no key update;
  if not found then return; end if;
  select * into a from attempt where attempt.request_id = p_task_id and attempt.channel_id = p_channel_id order by n desc limit 1;
  may_begin := not found or coalesce(a.outcome = 'transient' and a.retry_at <= clock_timestamp(), false);
  started := a.id is not null and a.id = p_id and a.fence = p_fence and a.outcome is null and a.operation is null;
  mapping := t.snapshot -> 'upstream' -> p_adapter;
  if may_begin and mapping is not null and t.completed_at is null and t.deadline_at > clock_timestamp()
     and not coalesce(t.input ?| p_input_keys, true) then
    select b.fresh into started from begin_attempt(
      p_id, p_task_id, p_channel_id, p_fence,
      case t.type when 'image' then p_image_submit_seconds else p_video_submit_seconds end,
      (mapping ->> 'cost_micro_usd')::bigint, p_probe_seconds, p_adapter) b;
  elsif not may_begin and not started then
    begun := jsonb_build_object(
      'outcome', a.outcome, 'code', a.code, 'ageMs', extract(epoch from clock_timestamp() - a.started_at) * 1000);
  end if;
  task_id := t.id;
  project_id := t.project_id;
  request_id := t.request_id;
  type := t.type;
  model_id := t.model_id;
  status := t.status;
  input := t.input;
  snapshot := t.snapshot;
  remaining_ms := extract(epoch from t.deadline_at - clock_timestamp()) * 1000;
  cancel_requested := t.cancel_requested_at is not null;
  started := coalesce(started, false);
  return next;
end $function$;

CREATE OR REPLACE FUNCTION public.take_ended_grants(p_project_id text)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  ended record;
  taken bigint := 0;
  total bigint;
begin
  select a.balance + a.reserved into total from credit_account a where a.project_id = p_project_id;
  for ended in
    select g.id, g.reference, x.remaining from left_of_grants(p_project_id) x join credit_grant g on g.id = x.id
    where x.has_ended and x.remaining > 0 order by g.ends_at, g.id
  loop
    taken := taken + ended.remaining;
    insert into ledger_entry (project_id, kind, credits, balance_after, reference)
    values (p_project_id, 'expiry', -ended.remaining, total - taken, ended.reference);
    update credit_grant set expired = expired + ended.remaining where id = ended.id;
  end loop;
  if taken > 0 then
    update credit_account a set balance = a.balance - taken, grant_mark = a.grant_mark - taken where a.project_id = p_project_id;
  end if;
  return taken;
end $function$;

CREATE OR REPLACE FUNCTION public.write_ledger_checkpoint(p_lag_seconds double precision, p_kept integer)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  until timestamptz;
  day date;
  month_first date;
  earlier_day date;
  earlier bigint;
  since bigint := 0;
  through bigint;
  made bigint;
begin
  perform pg_advisory_xact_lock(7107, hashtext('ledger_checkpoint'));
  until := clock_timestamp() - make_interval(secs => p_lag_seconds);
  day := (until at time zone 'UTC')::date;
  month_first := date_trunc('month', day::timestamp)::date;
  select id, through_entry_id, (covers_until at time zone 'UTC')::date into earlier, since, earlier_day from ledger_checkpoint order by id desc limit 1;
  since := coalesce(since, 0);
  select max(id) into through from ledger_entry where created_at <= until;
  if through is null or day < earlier_day then return null; end if;
  through := least(through, (select min(id) - 1 from ledger_entry where id > since and began_at >= (day + 1)::timestamp at time zone 'UTC'));
  if through <= since then return null; end if;
  insert into ledger_checkpoint (through_entry_id, covers_until) values (through, until) returning id into made;
  insert into ledger_checkpoint_account (checkpoint_id, project_id, credits, deducted)
  select made, project_id, sum(credits), sum(deducted) from (
    select project_id, credits, deducted from ledger_checkpoint_account where checkpoint_id = earlier
    union all
    select project_id, credits, case kind when 'deduct' then -credits else 0 end
    from ledger_entry where id > since and id <= through) sums group by project_id;
  insert into ledger_checkpoint_key (checkpoint_id, key_id, spent, day_spent, month_spent)
  select made, key_id, sum(spent), sum(day_spent), sum(month_spent) from (
    select key_id, spent, in_period(day_spent, earlier_day, day) as day_spent, in_period(month_spent, earlier_day, month_first) as month_spent
    from ledger_checkpoint_key where checkpoint_id = earlier
    union all
    select key_id, -credits, in_period(-credits, (began_at at time zone 'UTC')::date, day),
      in_period(-credits, (began_at at time zone 'UTC')::date, month_first)
    from ledger_entry
    where id > since and id <= through and kind in ('settle', 'adjust') and key_id is not null) sums group by key_id;
  delete from ledger_checkpoint where id not in (select id from ledger_checkpoint order by id desc limit p_kept);
  return made;
end $function$;

CREATE OR REPLACE FUNCTION public.alert_credits(p_project_id text, p_threshold text)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select case when p_threshold like '%\%' then (
    -- "offset 0" keeps the planner to the index of top-ups, which are few.
    select ceil(topup.credits * rtrim(p_threshold, '%')::numeric / 100)::bigint
    from (select e.id, e.credits from ledger_entry e where e.project_id = p_project_id and e.kind = 'topup' offset 0) topup
    order by topup.id desc limit 1)
  else p_threshold::bigint end
$function$;

CREATE OR REPLACE FUNCTION public.api_detail_partition(p_day date)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select 'api_detail_' || to_char(p_day, 'YYYYMMDD');
$function$;

CREATE OR REPLACE FUNCTION public.bought_cost(p_outcome text, p_operation jsonb, p_cost_micro_usd bigint)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when p_outcome in ('ok', 'unknown') or (p_operation is not null and (p_outcome is null or p_outcome = 'canceled'))
    then p_cost_micro_usd else 0 end;
$function$;

CREATE OR REPLACE FUNCTION public.channel_limit_wait(p_subject_id text, p_rpm integer, p_tpm integer, p_parallel integer, p_running bigint, p_tokens bigint, p_second bigint)
 RETURNS integer
 LANGUAGE sql
AS $function$
  with used as (
    select u.second, sum(u.requests) over w as requests, sum(u.tokens) over w as tokens, sum(u.requests) over () as all_requests,
      sum(u.tokens) over () as all_tokens
    from channel_use u where u.subject_id = p_subject_id and u.second > p_second - 61
    window w as (order by u.second)
  )
  select greatest(
    -- When a running call ends is unknown, so wait one second.
    case when p_running >= p_parallel then 1 else 0 end,
    coalesce((select min(u.second) + 61 - p_second from used u
              where u.all_requests >= p_rpm and u.requests >= u.all_requests + 1 - p_rpm), 0),
    coalesce((select min(u.second) + 61 - p_second from used u
              where u.all_tokens > 0 and u.all_tokens + p_tokens > p_tpm
                and u.tokens >= least(u.all_tokens, u.all_tokens + p_tokens - p_tpm)), 0))::int;
$function$;

CREATE OR REPLACE FUNCTION public.first_attempt_id(request_id text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select 'att_' || substr(request_id, 5);
$function$;

CREATE OR REPLACE FUNCTION public.has_left(p_reason text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(p_reason in ('client_left', 'canceled'), false);
$function$;

CREATE OR REPLACE FUNCTION public.has_unknown_cost(p_request_id text, p_outcome text, p_error_class text, p_operation jsonb, p_cost_micro_usd bigint)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when p_request_id like 'task\_%' then p_outcome is null and p_operation is null and p_cost_micro_usd <> 0
    else p_cost_micro_usd = 0 and (coalesce(p_outcome, 'unknown') = 'unknown'
      or coalesce(p_outcome = 'transient' and p_error_class in ('interrupted', 'deadline', 'unreadable', 'job_lost', 'output'), false)) end;
$function$;

CREATE OR REPLACE FUNCTION public.hit_rates(p_keys text[], p_rpms integer[], p_rate_places integer[], p_sender bigint, p_batch bigint, p_again boolean)
 RETURNS TABLE(admitted boolean, remaining integer, reset_after integer, retry_after integer)
 LANGUAGE sql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
  with counted as (
    select limited.keys, limited.rpms, rate.* from (
      select array_agg(key_id) as keys, array_agg(rpm) as rpms, array_agg(asked) as asked from (
        select key_id, max(rpm) as rpm, count(*)::int as asked from unnest(p_keys, p_rpms) as hit (key_id, rpm) group by key_id) by_key
    ) as limited, count_rates(keys, rpms, asked, p_sender, p_batch, p_again) as rate
  )
  select place <= granted[k], greatest(0, rpms[k] - used[k] - least(place, granted[k])), reset_after[k],
         case when place > granted[k] then reset_after[k] end
  from unnest(p_keys, p_rate_places) with ordinality as hit (key_id, place, ord) cross join counted
  cross join lateral (select array_position(keys, hit.key_id)) as found (k) order by ord;
$function$;

CREATE OR REPLACE FUNCTION public.in_period(p_credits bigint, p_used_on date, p_first_day date)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when p_used_on >= p_first_day then p_credits else 0 end
$function$;

CREATE OR REPLACE FUNCTION public.is_refusal(p_reason text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(p_reason in ('request_refused', 'content_policy_violation', 'context_length_exceeded'), false);
$function$;

CREATE OR REPLACE FUNCTION public.is_summarised(p_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select from summary_month where month = to_char(p_at at time zone 'UTC', 'YYYY-MM') and frozen_at is not null);
$function$;

CREATE OR REPLACE FUNCTION public.key_room(k api_key, p_day date)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select least(
    k.budget - k.spent - k.reserved,
    k.budget_daily - in_period(k.day_spent + k.day_reserved, k.used_on, p_day),
    k.budget_monthly - in_period(k.month_spent + k.month_reserved, k.used_on, date_trunc('month', p_day::timestamp)::date))
$function$;

CREATE OR REPLACE FUNCTION public.latency_class(p_ms double precision)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
AS $function$ select floor(ln(greatest(p_ms, 1)) / ln(1.05::float8))::int $function$;

CREATE OR REPLACE FUNCTION public.lock_accounts(projects text[])
 RETURNS void
 LANGUAGE sql
AS $function$
  -- Two accounts may share a number. Sorted by it, so that no two callers wait for each other.
  select pg_advisory_xact_lock(7106, number) from (select distinct hashtext(project_id) as number from unnest(projects) project_id order by 1) sorted;
$function$;

CREATE OR REPLACE FUNCTION public.metadata_pair(p_project_id text, p_name text, p_value text)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select ('x' || left(md5(p_project_id || ' ' || length(p_name)::text || ' ' || p_name || p_value), 16))::bit(64)::bigint
$function$;

CREATE OR REPLACE FUNCTION public.now_within(p_day date)
 RETURNS timestamp with time zone
 LANGUAGE sql
AS $function$
  select greatest(p_day::timestamp at time zone 'UTC',
                  least(clock_timestamp(), (p_day + 1)::timestamp at time zone 'UTC' - interval '1 microsecond'))
$function$;

CREATE OR REPLACE FUNCTION public.rest_channel(p_channel_id text, p_model_id text, p_seconds double precision, p_reason text)
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into channel_health (channel_id, model_id, unavailable_until, reason)
  select c.id, p_model_id, clock_timestamp() + make_interval(secs => p_seconds), p_reason from channel c where c.id = p_channel_id
  on conflict (channel_id, model_id) do update
    set unavailable_until = greatest(channel_health.unavailable_until, excluded.unavailable_until), reason = excluded.reason,
        updated_at = clock_timestamp();
$function$;

CREATE OR REPLACE FUNCTION public.running_channel_calls(p_channel_id text)
 RETURNS SETOF channel_call
 LANGUAGE sql
 STABLE
AS $function$
  select k.* from channel_call k
  where k.channel_id = p_channel_id
    and case when k.expires_at is null then exists (select from attempt a where a.id = k.id and a.outcome is null)
        else k.expires_at > clock_timestamp() end;
$function$;

CREATE OR REPLACE FUNCTION public.spend_facts(p_after bigint, p_through bigint)
 RETURNS TABLE(at timestamp with time zone, project_id text, key_id text, model_id text, channel_id text, successes integer, failures integer, refusals integer, left_charged integer, left_refunded integer, credits_charged bigint, cost_micro_usd bigint, unknown_costs integer, input_tokens bigint, output_tokens bigint, cached_input_tokens bigint, cache_write_tokens bigint, cache_write_1h_tokens bigint, reasoning_tokens bigint)
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
  with entry as materialized (
    -- In this order, so that the planner reads them by the primary key however many it expects.
    select * from (select * from ledger_entry where id > p_after and id <= p_through order by id offset 0) e
    where e.kind in ('settle', 'refund', 'adjust')
  )
  select e.created_at, e.project_id, coalesce(e.key_id, ''), coalesce(e.model_id, ''),
    coalesce(e.channel_id,
             case when e.kind = 'refund' then (select a.channel_id from attempt a where a.request_id = e.request_id order by a.n desc limit 1) end,
             ''),
    (e.kind = 'settle')::int, (e.kind = 'refund')::int, (e.kind = 'refund' and is_refusal(e.reason))::int,
    (e.kind = 'settle' and has_left(e.reason))::int, (e.kind = 'refund' and has_left(e.reason))::int, -e.credits, 0, 0,
    case when e.kind = 'settle' then coalesce(e.input_tokens, 0) else 0 end, case when e.kind = 'settle' then coalesce(e.output_tokens, 0) else 0 end,
    coalesce(e.cached_input_tokens, 0), coalesce(e.cache_write_tokens, 0), coalesce(e.cache_write_1h_tokens, 0), coalesce(e.reasoning_tokens, 0)
  from entry e
  union all
  select e.began_at, e.project_id, coalesce(e.key_id, ''), coalesce(e.model_id, ''), coalesce(e.channel_id, ''), 0, 0, 0, 0, 0, 0, e.cost_micro_usd,
    0, 0, 0, 0, 0, 0, 0
  from entry e where e.cost_micro_usd <> 0
  union all
  select a.started_at, e.project_id, coalesce(e.key_id, ''), coalesce(e.model_id, ''), a.channel_id, 0, 0, 0, 0, 0, 0, a.bought, a.is_unknown::int,
    0, 0, 0, 0, 0, 0
  from entry e cross join lateral (
    select started_at, channel_id, bought_cost(outcome, operation, cost_micro_usd) as bought,
      has_unknown_cost(request_id, outcome, error_class, operation, cost_micro_usd) as is_unknown
    from attempt where attempt.request_id = e.request_id offset 0) a
  where e.kind <> 'adjust' and e.cost_micro_usd is null and (a.bought <> 0 or a.is_unknown)
$function$;

CREATE OR REPLACE FUNCTION public.sum_traffic(p_after bigint, p_through bigint, p_from timestamp with time zone, p_before timestamp with time zone)
 RETURNS TABLE(slot timestamp with time zone, latency_class integer, succeeded bigint, failed bigint, credits bigint, cost_micro_usd bigint, first_entry_id bigint, last_entry_id bigint)
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
  select date_bin('5 minutes', e.created_at, 'epoch'::timestamptz),
    case
      when e.reason in ('client_left', 'canceled') then -3
      when e.kind = 'settle' and e.request_id like 'task\_%' then -1000 - latency_class(extract(epoch from e.created_at - e.began_at)::float8 * 1000)
      when e.kind = 'settle' then latency_class(extract(epoch from e.created_at - e.began_at)::float8 * 1000)
      when e.kind = 'refund' and is_refusal(e.reason) then -2
      else -1 end,
    count(*) filter (where e.kind = 'settle' and e.reason is distinct from 'client_left'),
    count(*) filter (where e.kind = 'refund' or (e.kind = 'settle' and e.reason = 'client_left')), -sum(e.credits)::bigint,
    sum(case when e.kind = 'adjust' then 0 else coalesce(e.cost_micro_usd, (
      select sum(bought_cost(a.outcome, a.operation, a.cost_micro_usd)) from attempt a where a.request_id = e.request_id), 0) end)::bigint,
    min(e.id), max(e.id)
  -- "offset 0" keeps the planner from reading all entries of the range of time.
  from (select * from ledger_entry where id > p_after and id <= p_through offset 0) e
  where e.created_at >= p_from and e.created_at < p_before and e.kind in ('settle', 'refund', 'adjust')
  group by 1, 2
$function$;

CREATE OR REPLACE FUNCTION public.sum_unknown_costs(p_after bigint, p_through bigint, p_from timestamp with time zone, p_before timestamp with time zone)
 RETURNS TABLE(slot timestamp with time zone, unknown_costs bigint)
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
  select date_bin('5 minutes', e.created_at, 'epoch'::timestamptz), count(*)
  -- "offset 0" as in sum_traffic.
  from (select * from ledger_entry where id > p_after and id <= p_through offset 0) e
  cross join lateral (select * from attempt where attempt.request_id = e.request_id offset 0) a
  where e.created_at >= p_from and e.created_at < p_before and e.kind in ('settle', 'refund') and e.cost_micro_usd is null
    and has_unknown_cost(a.request_id, a.outcome, a.error_class, a.operation, a.cost_micro_usd)
  group by 1
$function$;

CREATE OR REPLACE FUNCTION public.within_day(p_day date, p_at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select greatest(p_day::timestamp at time zone 'UTC',
                  least(p_at, ((p_day + 1)::timestamp - interval '1 microsecond') at time zone 'UTC'))
$function$;

CREATE TRIGGER alarm_silence_changed AFTER INSERT OR DELETE OR UPDATE ON public.alarm_silence FOR EACH STATEMENT EXECUTE FUNCTION notify_change();

CREATE TRIGGER api_key_changed AFTER UPDATE OF scopes, ip_ranges, models, rpm, in_flight_max, budget, budget_daily, budget_monthly, expires_at, revoked_at ON public.api_key FOR EACH STATEMENT EXECUTE FUNCTION notify_change();

CREATE TRIGGER api_key_secret_changed AFTER INSERT OR DELETE OR UPDATE OF key_id, expires_at ON public.api_key_secret FOR EACH STATEMENT EXECUTE FUNCTION notify_change();

CREATE TRIGGER audit_entry_append_only BEFORE DELETE OR UPDATE ON public.audit_entry FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER audit_entry_never_emptied BEFORE TRUNCATE ON public.audit_entry FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER channel_changed AFTER INSERT OR DELETE OR UPDATE ON public.channel FOR EACH STATEMENT EXECUTE FUNCTION notify_change();

CREATE TRIGGER channel_credential_changed AFTER INSERT OR DELETE OR UPDATE ON public.channel_credential FOR EACH STATEMENT EXECUTE FUNCTION notify_change();

CREATE TRIGGER channel_health_changed AFTER INSERT OR DELETE OR UPDATE ON public.channel_health FOR EACH STATEMENT EXECUTE FUNCTION notify_change();

CREATE TRIGGER channel_mapping_state_added AFTER INSERT ON public.channel_mapping_state FOR EACH ROW WHEN ((new.state IS NOT NULL)) EXECUTE FUNCTION notify_change();

CREATE TRIGGER channel_mapping_state_changed AFTER UPDATE ON public.channel_mapping_state FOR EACH ROW WHEN ((old.state IS DISTINCT FROM new.state)) EXECUTE FUNCTION notify_change();

CREATE TRIGGER channel_mapping_state_removed AFTER DELETE ON public.channel_mapping_state FOR EACH ROW WHEN ((old.state IS NOT NULL)) EXECUTE FUNCTION notify_change();

CREATE TRIGGER ledger_entry_append_only BEFORE DELETE OR UPDATE ON public.ledger_entry FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER ledger_entry_never_emptied BEFORE TRUNCATE ON public.ledger_entry FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER model_changed AFTER INSERT OR DELETE OR UPDATE ON public.model FOR EACH STATEMENT EXECUTE FUNCTION notify_change();

CREATE TRIGGER plan_changed AFTER UPDATE ON public.plan FOR EACH STATEMENT EXECUTE FUNCTION notify_change();

CREATE TRIGGER project_changed AFTER UPDATE OF status ON public.project FOR EACH STATEMENT EXECUTE FUNCTION notify_change();

CREATE TRIGGER project_plan_changed AFTER UPDATE OF plan_id ON public.project FOR EACH STATEMENT EXECUTE FUNCTION notify_change();
