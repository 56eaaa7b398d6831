-- The tokens of chats by class, as they are billed: parts of input_tokens and of output_tokens. Null for everything but chats, and for what an
-- earlier release wrote.
alter table ledger_entry
  add column cached_input_tokens bigint,
  add column cache_write_tokens bigint,
  add column cache_write_1h_tokens bigint,
  add column reasoning_tokens bigint;

-- Zero where an earlier release wrote the entries.
alter table usage_half_hour
  add column cached_input_tokens bigint not null default 0,
  add column cache_write_tokens bigint not null default 0,
  add column cache_write_1h_tokens bigint not null default 0,
  add column reasoning_tokens bigint not null default 0;
alter table daily_summary
  add column cached_input_tokens bigint not null default 0,
  add column cache_write_tokens bigint not null default 0,
  add column cache_write_1h_tokens bigint not null default 0,
  add column reasoning_tokens bigint not null default 0;
alter table monthly_summary
  add column cached_input_tokens bigint not null default 0,
  add column cache_write_tokens bigint not null default 0,
  add column cache_write_1h_tokens bigint not null default 0,
  add column reasoning_tokens bigint not null default 0;
