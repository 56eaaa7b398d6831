/** The answers of the admin API, as `GET /api/admin/v1/openapi.json` describes them. Times are unix seconds. */

export type Role = 'viewer' | 'operator' | 'owner';

export interface Session {
  name: string;
  role: Role;
  expires_at: number;
}

export interface List<T> {
  object: 'list';
  data: T[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface Totals {
  requests: number;
  succeeded: number;
  failed: number;
  credits: number;
  cost_micro_usd: number;
  margin_micro_usd: number;
  p50_ms: number | null;
  p95_ms: number | null;
}

export interface Overview {
  at: number;
  /** Set if the day had more requests than are read: only those that ended later are counted. */
  counted_since: number | null;
  today: Totals;
  yesterday: Totals;
  hours: { at: number; requests: number; failed: number; credits: number; margin_micro_usd: number }[];
  alarms: Alarm[];
}

export interface Alarm {
  kind: string;
  subject: string;
  message: string;
  remedy: string;
  since: number | null;
}

export interface Project {
  project_id: string;
  name: string;
  status: 'active' | 'disabled';
  balance: number;
  reserved: number;
  created_at: number;
}

export interface Key {
  key_id: string;
  project_id: string;
  name: string;
  metadata: Record<string, string>;
  state: 'active' | 'expired' | 'revoked';
  prefix: string | null;
  last4: string | null;
  scopes: string[];
  ip_ranges: string[] | null;
  models: string[] | null;
  rpm: number | null;
  in_flight: number;
  in_flight_max: number | null;
  budget: number | null;
  spent: number;
  reserved: number;
  budget_daily: number | null;
  used_today: number;
  budget_monthly: number | null;
  used_this_month: number;
  expires_at: number | null;
  last_used_at: number | null;
}

export interface ChannelReason {
  kind: 'open' | 'half_open' | 'resting' | 'alarm' | 'not_drawn';
  model: string;
  reason: string | null;
  since: number | null;
  until: number | null;
  failures: number;
  opens: number;
}

export interface Channel {
  channel_id: string;
  name: string;
  adapter: string;
  base_url: string;
  groups: string[];
  priority: number;
  weight: number;
  enabled: boolean;
  list_check: boolean;
  state: 'ready' | 'disabled' | ChannelReason['kind'];
  reasons: ChannelReason[];
}

export interface TestedChannel {
  name: string;
  ok: boolean;
  offered: boolean;
  reason: string | null;
  status: number | null;
  detail: string | null;
  took_ms: number;
}

export interface TaskRow {
  task_id: string;
  project_id: string;
  type: 'image' | 'video';
  model: string;
  status: 'queued' | 'processing' | 'succeeded' | 'failed' | 'canceled';
  error_code: string | null;
  outcome_unknown: boolean;
  attempts: number;
  credits: { quoted: number; reserved: number; charged: number; refunded: number };
  created_at: number;
  started_at: number | null;
  completed_at: number | null;
  request_id: string;
}

export interface AttemptDetail {
  n: number;
  channel: string;
  outcome: string | null;
  error_class: string | null;
  status: number | null;
  detail: string | null;
  code: string | null;
  cost_micro_usd: number;
  started_at: number;
  submitted_at: number | null;
  ended_at: number | null;
  took_ms: number | null;
  next_poll_at: number | null;
}

export interface DeliveryTry {
  n: number;
  started_at: number;
  ended_at: number | null;
  status: number | null;
  error: string | null;
}

export interface Delivery {
  delivery_id: string;
  task_id: string;
  project_id: string;
  state: 'pending' | 'delivered' | 'exhausted' | 'gone' | 'blocked';
  attempts: number;
  last_status?: number | null;
  created_at: number;
  ended_at?: number | null;
  next_attempt_at?: number | null;
  next_at?: number | null;
  tries?: DeliveryTry[];
}

export interface LedgerEntry {
  entry_id: string;
  at: number;
  kind: 'topup' | 'settle' | 'refund' | 'adjust';
  credits: number;
  balance_after: number;
  task_id: string | null;
  request_id: string | null;
  key_id: string | null;
  reference: string | null;
}

export interface TaskDetail extends TaskRow {
  attempts_detail: AttemptDetail[];
  resolution: { outcome: string; reference: string } | null;
  deliveries: Delivery[];
  ledger: LedgerEntry[];
  /** The page of the task's workflow in the Temporal UI, if its address is known. */
  workflow_url?: string | null;
}

/** A task as its client sees it. */
export interface Task {
  task_id: string;
  type: 'image' | 'video';
  model: string;
  status: TaskRow['status'];
  progress: number | null;
  created_at: number;
  completed_at: number | null;
  input: Record<string, unknown> | null;
  output: Output[] | null;
  error: { code: string; message: string } | null;
  credits: TaskRow['credits'];
}

export interface Output {
  url: string;
  mime_type: string;
  width: number | null;
  height: number | null;
  duration: number | null;
  bytes: number;
}

export interface UsageRow {
  day: string | null;
  model: string | null;
  key_id: string | null;
  requests: number;
  succeeded: number;
  failed: number;
  credits: number;
  input_tokens: number;
  output_tokens: number;
}

export interface AuditEntry {
  id: number;
  at: number;
  actor: string;
  action: string;
  subject: string;
  detail: Record<string, unknown>;
}

export interface JobRun {
  run_id: string;
  name: string;
  state: string;
  trigger: string;
  started_at: number | null;
  ended_at: number | null;
  summary: Record<string, unknown> | null;
  error?: string | null;
}

export interface SummaryRow {
  project_id: string;
  model: string;
  channel: string | null;
  channel_id: string;
  requests: number;
  successes: number;
  failures: number;
  credits_charged: number;
  cost_micro_usd: number;
  margin_micro_usd: number;
  input_tokens: number;
  output_tokens: number;
}

export interface Summary {
  month: string;
  built_at: number;
  frozen_at: number | null;
  credit_value_micro_usd: number;
  data: SummaryRow[];
}

export interface Margin {
  request: 'cheapest' | 'dearest' | 'minimum';
  unit: string;
  family: string | null;
  asked: Record<string, unknown>;
  credits: number;
  price_micro_usd: number;
  cost_micro_usd: number;
  margin_micro_usd: number;
}

export interface CatalogCheck {
  ok: boolean;
  models: number;
  losses: number;
  data: { model: string; margins: Margin[]; losses: Margin[] }[];
  warnings: string[];
}

export interface Field {
  key: string;
  label: string;
  type: 'enum' | 'number' | 'boolean';
  options?: (string | number)[];
  min?: number;
  max?: number;
  step?: number;
  default?: string | number | boolean;
  description?: string;
}

/** A model of the client catalog. */
export interface Model {
  id: string;
  type: 'image' | 'video' | 'chat';
  owned_by: string;
  display_name: string;
  description: string | null;
  status: string;
  pricing: {
    unit: 'request' | 'tokens';
    credits_per_request: number;
    credits_per_1k_input_tokens: number;
    credits_per_1k_output_tokens: number;
    min_credits_per_request: number;
  };
  parameters: Record<string, unknown> & {
    fields?: Field[];
    examples?: { label: string; values: Record<string, unknown> }[];
    pricingRules?: { match: { key: string; value: string | number }; credits: number }[];
  };
}

/** A model with what clients do not see. */
export interface CatalogEntry extends Model {
  private: {
    public: boolean;
    groups: string[];
    retired?: string;
    aliases: Record<string, unknown>;
    upstream: Record<string, { model: string }>;
  };
}
