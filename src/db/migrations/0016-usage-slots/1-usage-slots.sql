-- What operators read of usage: by channel too, with the cost and with the refusals, beside usage_half_hour, which clients read and which has
-- fewer rows. Slots of half an hour as there, kept for a hundred days.
create table usage_slot (
  slot timestamptz not null,
  project_id text not null,
  -- Empty as in daily_summary.
  key_id text not null,
  model_id text not null,
  channel_id text not null,
  successes bigint not null,
  failures bigint not null,
  -- The failures that the provider refused as invalid or by its content policy.
  refusals bigint not null,
  credits_charged bigint not null,
  cost_micro_usd bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cached_input_tokens bigint not null,
  cache_write_tokens bigint not null,
  cache_write_1h_tokens bigint not null,
  reasoning_tokens bigint not null,
  primary key (slot, project_id, key_id, model_id, channel_id)
);

-- The entry of the ledger up to which usage_slot has all; null before the first call of fold_usage.
create table usage_mark (
  id int primary key default 1 check (id = 1),
  through_entry_id bigint
);
insert into usage_mark default values;

-- Zero where an earlier release built the day.
alter table daily_summary add column refusals bigint not null default 0;
