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

-- Who may sign in by OIDC: people whom an owner entered by the issuer and the subject of their ID tokens.
create table admin_operator (
  id text primary key,
  issuer text not null,
  subject text not null,
  name text not null,
  role text not null check (role in ('viewer', 'operator', 'owner')),
  -- The actor in the audit log.
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  last_used_at timestamptz,
  unique (issuer, subject)
);

-- Sessions of the console, each of a token or of an operator. One that has ended has no row.
create table admin_session (
  digest bytea primary key,
  token_id text references admin_token (id),
  operator_id text references admin_operator (id) on delete cascade,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  check (num_nonnulls(token_id, operator_id) = 1)
);
create index admin_session_expiry_idx on admin_session (expires_at);

-- The states of sign-ins by OIDC that have begun a session, until they would have expired. A state begins one session at most.
create table oidc_sign_in (
  state_sha256 text primary key,
  expires_at timestamptz not null
);

-- The key that an admin token or an operator has for the playground of the console, one for each project.
create table playground_key (
  project_id text not null references project (id),
  -- Of the admin token or the operator.
  principal_id text not null,
  key_id text not null references api_key (id),
  primary key (project_id, principal_id)
);

-- What each Idempotency-Key of an admin token or an operator is bound to.
create table admin_request (
  principal_id text not null,
  key text not null,
  fingerprint text not null,
  begun_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  -- The sealed answer; null while the request runs, and for ever if its process ended before the answer.
  answer text,
  primary key (principal_id, key)
);
create index admin_request_expiry_idx on admin_request (expires_at);
