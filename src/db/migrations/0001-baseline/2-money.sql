-- Accounts, reservations, the ledger and its checkpoints.

create table credit_account (
  project_id text primary key references project (id),
  balance bigint not null default 0 check (balance >= 0),
  reserved bigint not null default 0 check (reserved >= 0),
  in_flight int not null default 0 check (in_flight >= 0)
) with (fillfactor = 50);

create table reservation (
  id text primary key,
  project_id text not null references project (id),
  key_id text not null references api_key (id),
  kind text not null check (kind in ('media', 'chat')),
  model_id text not null,
  channel_id text,
  amount bigint not null check (amount > 0),
  state text not null default 'held' check (state in ('held', 'settled', 'refunded')),
  settled_amount bigint check (settled_amount between 0 and amount),
  input_tokens bigint,
  output_tokens bigint,
  -- The upstream reported no usage: the tokens are an estimate of ours.
  usage_estimated boolean not null default false,
  expires_at timestamptz not null,
  created_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  check ((state = 'held') = (ended_at is null)),
  check ((state = 'settled') = (settled_amount is not null))
) with (fillfactor = 70);
-- A statement that looks a row up by its id says `state`. Only sweeps say `ended_at is null`, which this index and
-- delivery_due_idx are for. The planner takes "not ended" for so rare that it prefers any index that can answer it to the
-- primary key, and such an index holds one dead entry for each row that has ended since the last vacuum. For the same reason
-- no BRIN index covers created_at and ended_at together: every range once held a row that had not ended, so all ranges match.
create index reservation_held_idx on reservation (expires_at) where ended_at is null;
create index reservation_created_idx on reservation
  using brin (created_at) with (pages_per_range = 32, autosummarize = on);
create index reservation_ended_idx on reservation
  using brin (ended_at) with (pages_per_range = 32, autosummarize = on) where ended_at is not null;

create table ledger_entry (
  id bigint generated always as identity primary key,
  project_id text not null references project (id),
  key_id text,
  reservation_id text,
  kind text not null check (kind in ('topup', 'hold', 'settle', 'refund', 'adjust')),
  d_balance bigint not null,
  d_reserved bigint not null,
  reference text,
  reason text,
  created_at timestamptz not null default clock_timestamp()
);
create index ledger_entry_reservation_idx on ledger_entry (reservation_id) where reservation_id is not null;
create index ledger_entry_created_idx on ledger_entry
  using brin (created_at) with (pages_per_range = 32, autosummarize = on);
create unique index ledger_entry_topup_idx on ledger_entry (project_id, reference) where kind = 'topup';
-- One adjustment per request and reason: an operator who is not sure whether a command succeeded can repeat it.
create unique index ledger_entry_adjust_idx on ledger_entry (reservation_id, reason)
  where kind = 'adjust' and reservation_id is not null;
create trigger ledger_entry_append_only before update or delete on ledger_entry
  for each row execute function refuse_change();
create trigger ledger_entry_never_emptied before truncate on ledger_entry
  for each statement execute function refuse_change();

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
  d_balance bigint not null,
  d_reserved bigint not null,
  primary key (checkpoint_id, project_id)
);

create table ledger_checkpoint_key (
  checkpoint_id bigint not null references ledger_checkpoint (id) on delete cascade,
  key_id text not null,
  spent bigint not null,
  primary key (checkpoint_id, key_id)
);
