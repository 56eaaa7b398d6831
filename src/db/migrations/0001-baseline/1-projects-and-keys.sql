-- Projects, their keys and the rate limits of keys.

create table project (
  id text primary key,
  name text not null,
  status text not null default 'active' check (status in ('active', 'disabled')),
  callback_secret text not null,
  callback_secret_previous text,
  callback_secret_previous_until timestamptz,
  created_at timestamptz not null default clock_timestamp()
);

-- What is spent, reserved and in flight changes with every request: free space on the page keeps those updates heap-only.
create table api_key (
  id text primary key,
  project_id text not null references project (id),
  name text not null default '',
  metadata jsonb not null default '{}',
  scopes text[] not null default '{chat,media,read}' check (scopes <@ '{chat,media,read}' and scopes <> '{}'),
  -- CIDRs; null for every address.
  ip_ranges text[],
  models text[],
  rpm int check (rpm > 0),
  in_flight_max int check (in_flight_max > 0),
  -- Of the key's life, and of each day and month (UTC).
  budget bigint check (budget >= 0),
  budget_daily bigint check (budget_daily >= 0),
  budget_monthly bigint check (budget_monthly >= 0),
  spent bigint not null default 0 check (spent >= 0),
  reserved bigint not null default 0 check (reserved >= 0),
  -- The same for the holds that began on the day used_on, and in its month. No hold began later, so an earlier period needs no
  -- counter: in_period has nothing for a later one.
  used_on date,
  day_spent bigint not null default 0 check (day_spent >= 0),
  day_reserved bigint not null default 0 check (day_reserved >= 0),
  month_spent bigint not null default 0 check (month_spent >= 0),
  month_reserved bigint not null default 0 check (month_reserved >= 0),
  in_flight int not null default 0 check (in_flight >= 0),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);
create index api_key_project_idx on api_key (project_id);

-- A key has several secrets while it is rotated.
create table api_key_secret (
  id text primary key,
  key_id text not null references api_key (id),
  digest bytea not null unique,
  pepper_id text not null,
  prefix text not null,
  last4 text not null,
  checksummed boolean not null default true,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz
);
create index api_key_secret_key_idx on api_key_secret (key_id);

-- The requests of each key with a rate limit in its last 61 seconds. Unlogged: a crash of the database loses them, which is accepted.
create unlogged table rate_window (
  key_id text primary key,
  -- The unix second of counts[1]; counts[n] is n - 1 seconds older.
  second bigint not null,
  -- The second of the oldest request that counts.
  oldest bigint not null,
  counts int[] not null,
  -- The sum of counts.
  total int not null,
  -- The last batch of each process that counted requests of this key, and how many it admitted: a batch that is sent again
  -- after a lost connection is not counted again.
  senders bigint[] not null default '{}',
  last_batches bigint[] not null default '{}',
  last_granted int[] not null default '{}'
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Caches of all processes listen to these.
create trigger project_changed after update of status on project
  for each statement execute function notify_change();
create trigger api_key_changed after update of scopes, ip_ranges, models, rpm, in_flight_max, budget, budget_daily, budget_monthly, expires_at, revoked_at on api_key
  for each statement execute function notify_change();
create trigger api_key_secret_changed after insert or update or delete on api_key_secret
  for each statement execute function notify_change();
