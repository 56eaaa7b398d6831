-- Several credentials of one channel, each with a cool-down and limits of its own.

-- The id of the credential in the channel's own row, its first one. Another one may move there when the first is removed.
alter table channel add column credential_id text not null
  default 'crd_0' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 25);
-- Since the channel first had more than one credential. Since then each attempt says which one it used.
alter table channel add column pooled_at timestamptz;
-- What the channel may be asked for: requests and tokens in a minute, calls at the same time. Null: as much as its clients want.
alter table channel add column rpm int check (rpm > 0);
alter table channel add column tpm int check (tpm > 0);
alter table channel add column parallel int check (parallel > 0);

create table channel_credential (
  id text primary key,
  channel_id text not null references channel (id) on delete cascade,
  -- Sealed. Null: it stands in the channel's own row.
  credential text,
  -- The last characters, by which operators know it. Null if they are not known.
  last4 text,
  -- It cools down until then.
  unavailable_until timestamptz,
  reason text,
  since timestamptz,
  -- What an operator has to look at; it stays until the next success.
  alarm text,
  alarm_at timestamptz,
  rpm int check (rpm > 0),
  tpm int check (tpm > 0),
  parallel int check (parallel > 0),
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create index channel_credential_channel_idx on channel_credential (channel_id);

create trigger channel_credential_changed after insert or update or delete on channel_credential
  for each statement execute function notify_change();

-- The credential that the attempt sends. Null in rows of earlier releases, whose channels had only one.
alter table attempt add column credential_id text;
