-- API details, summaries, and the traffic of the last days.

-- One row per answered request, without any content. Rows may be lost: nothing is billed or summed up from here. A row is found by its
-- time, which is little later than that in the id of the request. An index of ids would cost each request more than its row.
create table api_detail (
  at timestamptz not null,
  request_id text not null,
  method text not null,
  route text not null,
  key_id text,
  model_id text,
  status int not null,
  ms int not null,
  credits bigint,
  attempts int
) partition by range (at);
create index api_detail_at_idx on api_detail using brin (at) with (pages_per_range = 32, autosummarize = on);

-- The days that no role but the owner can drop. `migrate` writes them from the configuration.
create table retention_floor (
  id int primary key default 1 check (id = 1),
  api_detail_days int not null check (api_detail_days > 0)
);
insert into retention_floor (api_detail_days) values (30);

-- A day is rebuilt every night until two days after it. Then it is frozen.
create table summary_day (
  day date primary key,
  -- The summary holds the day's entries up to this one.
  through_entry_id bigint not null,
  built_at timestamptz not null,
  frozen_at timestamptz
);

create table daily_summary (
  day date not null references summary_day (day),
  project_id text not null,
  -- Empty for an adjustment that is about no key or no model; channel_id is also empty for a failure without any attempt.
  key_id text not null,
  model_id text not null,
  channel_id text not null,
  successes bigint not null,
  failures bigint not null,
  credits_charged bigint not null,
  cost_micro_usd bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  primary key (day, project_id, key_id, model_id, channel_id)
);

create table summary_month (
  month text primary key check (month ~ '^[0-9]{4}-[0-9]{2}$'),
  -- The value of a credit that the margins were computed with.
  credit_value_micro_usd bigint not null,
  built_at timestamptz not null,
  frozen_at timestamptz
);

-- The sums of the month's days.
create table monthly_summary (
  month text not null references summary_month (month),
  project_id text not null,
  model_id text not null,
  channel_id text not null,
  requests bigint not null,
  successes bigint not null,
  failures bigint not null,
  credits_charged bigint not null,
  cost_micro_usd bigint not null,
  margin_micro_usd bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  primary key (month, project_id, model_id, channel_id)
);

-- What the entries of the ledger since the beginning of yesterday (UTC) came to, up to the one in traffic_mark, for the overview. The
-- entries after that one are few, and are added when the overview is read.
create table traffic (
  -- Five minutes each.
  slot timestamptz not null,
  -- Of the requests that succeeded: latency_class of their time. -1 for all other entries.
  latency_class int not null,
  succeeded bigint not null,
  failed bigint not null,
  credits bigint not null,
  cost_micro_usd bigint not null,
  -- A part of a slot is added up from its entries.
  first_entry_id bigint not null,
  last_entry_id bigint not null,
  primary key (slot, latency_class)
);

-- The same entries by the half hour, for usage of what no closed day has: in India a day begins at half past. Kept for a hundred days, more
-- than a range of usage has.
create table usage_half_hour (
  slot timestamptz not null,
  project_id text not null,
  -- Empty as in daily_summary.
  key_id text not null,
  model_id text not null,
  successes bigint not null,
  failures bigint not null,
  credits_charged bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  primary key (slot, project_id, key_id, model_id)
);

create table traffic_mark (
  id int primary key default 1 check (id = 1),
  through_entry_id bigint not null
);
insert into traffic_mark (through_entry_id) values (0);
