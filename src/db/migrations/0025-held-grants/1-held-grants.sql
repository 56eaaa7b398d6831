-- Redemption codes of other gateways that nobody has redeemed: credits that no project has yet.
create table held_grant (
  -- The name of the import, and the id there.
  source text not null,
  external_id text not null,
  -- The SHA-256 of the code, which is as good as money.
  code_digest bytea not null unique,
  name text not null,
  credits bigint not null check (credits > 0),
  -- Null: the credits last.
  ends_at timestamptz,
  -- The project that got them.
  project_id text references project (id),
  given_at timestamptz,
  primary key (source, external_id)
);
