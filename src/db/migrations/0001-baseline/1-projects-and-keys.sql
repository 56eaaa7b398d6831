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

-- spent, reserved and in_flight change with every request: free space on the page keeps those updates heap-only.
create table api_key (
  id text primary key,
  project_id text not null references project (id),
  name text not null default '',
  models text[],
  rpm int check (rpm > 0),
  in_flight_max int check (in_flight_max > 0),
  budget bigint check (budget >= 0),
  spent bigint not null default 0 check (spent >= 0),
  reserved bigint not null default 0 check (reserved >= 0),
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

-- Requests per key and second. Unlogged: a crash of the database loses one rate-limit window, which is accepted.
create unlogged table rate_slot (
  key_id text not null,
  slot bigint not null,
  n int not null,
  -- Hashes of the ids of the counted requests, so that a request that is asked again is not counted again.
  requests bigint[] not null default '{}',
  primary key (key_id, slot)
) with (fillfactor = 50);

-- Caches of all processes listen to these.
create trigger project_changed after update of status on project
  for each statement execute function notify_change();
create trigger api_key_changed after update of models, rpm, in_flight_max, budget, expires_at, revoked_at on api_key
  for each statement execute function notify_change();
create trigger api_key_secret_changed after insert or update or delete on api_key_secret
  for each statement execute function notify_change();
