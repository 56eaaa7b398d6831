-- Accounts, holds, the ledger and its checkpoints.

create table credit_account (
  project_id text primary key references project (id),
  balance bigint not null default 0 check (balance >= 0),
  reserved bigint not null default 0 check (reserved >= 0),
  in_flight int not null default 0 check (in_flight >= 0)
) with (fillfactor = 50);

-- Credits that are held for requests which run: one row per request, written with the hold and deleted with its end. So the table
-- has only as many rows as requests run, however many have ended, and looking for expired holds may read all of it. It has no
-- foreign keys: whoever writes a row has locked its account.
create table hold (
  amount bigint not null check (amount > 0),
  expires_at timestamptz not null,
  created_at timestamptz not null default clock_timestamp(),
  -- The id of the task or of the chat's request.
  id text primary key,
  project_id text not null,
  key_id text not null,
  kind text not null check (kind in ('media', 'chat')),
  model_id text not null,
  -- The channel of the first call of a chat, which gets a row in attempt only if it does not succeed at once.
  channel_id text,
  channel_name text,
  -- The chat has an idempotency key, which its end binds or frees.
  is_idempotent boolean not null default false
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- Numbers and times are before texts, which costs the fewest bytes of padding.
create table ledger_entry (
  id bigint generated always as identity primary key,
  -- What the entry adds to the credits of the account, negative if it takes.
  credits bigint not null,
  -- The sum of the entries of the account up to this one, which is its balance and what it holds.
  balance_after bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  -- The time of the hold, also in an adjustment.
  began_at timestamptz,
  -- Held, of the end of a request, by settle or refund.
  held bigint,
  input_tokens bigint,
  output_tokens bigint,
  -- The cost of a chat whose first call succeeded. All other costs are in attempt.
  cost_micro_usd bigint,
  -- The upstream reported no usage: the tokens are an estimate of ours.
  usage_estimated boolean,
  project_id text not null,
  kind text not null check (kind in ('topup', 'settle', 'refund', 'adjust')),
  key_id text,
  request_id text,
  model_id text,
  channel_id text,
  -- Of a topup.
  reference text,
  -- Of an adjustment.
  reason text,
  check (case kind when 'settle' then credits between -held and 0 when 'refund' then credits = 0 and held > 0 else held is null end)
);
-- A request ends once.
create unique index ledger_entry_end_idx on ledger_entry (request_id) where kind in ('settle', 'refund');
create index ledger_entry_created_idx on ledger_entry
  using brin (created_at) with (pages_per_range = 32, autosummarize = on);
-- The entries of a project and of a key, for their clients. An account is locked while its entries are written, so they are in order.
create index ledger_entry_project_idx on ledger_entry (project_id, created_at, id);
create index ledger_entry_key_idx on ledger_entry (key_id, created_at, id) where key_id is not null;
create unique index ledger_entry_topup_idx on ledger_entry (project_id, reference) where kind = 'topup';
-- One adjustment per request and reason: an operator who is not sure whether a command succeeded can repeat it.
create unique index ledger_entry_adjust_idx on ledger_entry (request_id, reason) where kind = 'adjust';
create trigger ledger_entry_append_only before update or delete on ledger_entry
  for each row execute function refuse_change();
create trigger ledger_entry_never_emptied before truncate on ledger_entry
  for each statement execute function refuse_change();

-- Every request whose credits were ever held, in one form: held, settled or refunded.
create view reservation as
select id, project_id, key_id, model_id, channel_id, amount, 'held' as state, null::bigint as settled_amount, null::bigint as input_tokens,
  null::bigint as output_tokens, null::boolean as usage_estimated, expires_at, created_at, null::timestamptz as ended_at
from hold
union all
select request_id, project_id, key_id, model_id, channel_id, held, case kind when 'settle' then 'settled' else 'refunded' end,
  case kind when 'settle' then -credits end, input_tokens, output_tokens, usage_estimated, null, began_at, created_at
from ledger_entry where kind in ('settle', 'refund');

create table ledger_checkpoint (
  id bigint generated always as identity primary key,
  through_entry_id bigint not null,
  -- The entries of everything that ended before this time have ids up to through_entry_id.
  covers_until timestamptz not null,
  created_at timestamptz not null default clock_timestamp()
);

create table ledger_checkpoint_account (
  checkpoint_id bigint not null references ledger_checkpoint (id) on delete cascade,
  project_id text not null,
  credits bigint not null,
  primary key (checkpoint_id, project_id)
);

create table ledger_checkpoint_key (
  checkpoint_id bigint not null references ledger_checkpoint (id) on delete cascade,
  key_id text not null,
  spent bigint not null,
  -- Of the holds that began on the day of covers_until, and in its month.
  day_spent bigint not null,
  month_spent bigint not null,
  primary key (checkpoint_id, key_id)
);
