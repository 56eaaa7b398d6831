-- What counts against the limits of channels and of their credentials. Only channels with a limit have rows.

-- Requests and tokens of one second, of which the last 61 count. Unlogged: a crash of the database loses them, which is accepted.
create unlogged table channel_use (
  -- A channel or a credential.
  subject_id text not null,
  -- Unix seconds by the clock of the database.
  second bigint not null,
  requests int not null,
  tokens bigint not null,
  primary key (subject_id, second)
) with (fillfactor = 50);

-- The calls that run.
create table channel_call (
  -- The attempt. Until the attempt of a task has begun, an id of its own.
  id text primary key,
  channel_id text not null,
  credential_id text not null,
  -- Where it is counted in channel_use, and with how many tokens.
  second bigint not null,
  tokens bigint not null,
  -- The process that makes the call renews it. Null: the call runs until the attempt of its task has an outcome.
  expires_at timestamptz
);
create index channel_call_channel_idx on channel_call (channel_id);
