-- Who may use the admin API.

create table admin_token (
  id text primary key,
  name text not null,
  role text not null check (role in ('viewer', 'operator', 'owner')),
  digest bytea not null unique,
  pepper_id text not null,
  prefix text not null,
  last4 text not null,
  -- The actor in the audit log.
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);

-- Sessions of the console. One that has ended has no row.
create table admin_session (
  digest bytea primary key,
  token_id text not null references admin_token (id),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);
create index admin_session_expiry_idx on admin_session (expires_at);

-- What each Idempotency-Key of an admin token is bound to.
create table admin_request (
  token_id text not null references admin_token (id),
  key text not null,
  fingerprint text not null,
  begun_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  -- The sealed answer; null while the request runs, and for ever if its process ended before the answer.
  answer text,
  primary key (token_id, key)
);
create index admin_request_expiry_idx on admin_request (expires_at);
