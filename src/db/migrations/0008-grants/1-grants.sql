-- Credits that end: grants, and what tells how much of each is left. No request writes to them. What is left follows from the balance:
-- between two moments at which grants begin or end, the balance falls by what requests of that interval hold and were charged.

create table credit_grant (
  id bigint generated always as identity primary key,
  project_id text not null,
  -- Of the top-up.
  reference text not null,
  amount bigint not null check (amount > 0),
  created_at timestamptz not null default clock_timestamp(),
  ends_at timestamptz not null,
  -- It pays for the requests of these intervals; the last one is null until it has ended.
  first_interval int not null,
  last_interval int,
  -- What paid debts when it was added, or went by a deduction that the lasting credits did not cover.
  absorbed bigint not null default 0 check (absorbed >= 0),
  -- What it paid for in intervals whose requests have all ended. Those of later intervals are computed.
  spent bigint not null default 0 check (spent >= 0),
  -- What left the account at its end and after it.
  expired bigint not null default 0 check (expired >= 0),
  -- It has ended, and so have all requests that it may pay for.
  is_closed boolean not null default false,
  unique (project_id, reference),
  check (absorbed + spent + expired <= amount),
  check (not is_closed or last_interval is not null and absorbed + spent + expired = amount)
);
create index credit_grant_open_idx on credit_grant (project_id, ends_at) where not is_closed;

-- What the requests that began in an interval hold and were charged, of the intervals before the present one whose requests have not all ended.
create table grant_interval (
  project_id text not null,
  n int not null,
  used bigint not null check (used >= 0),
  primary key (project_id, n)
);

-- The present interval; null if the account never had a grant.
alter table credit_account add column grant_interval int;
-- What the balance would be if no request of the present interval had held anything; null without open grants.
alter table credit_account add column grant_mark bigint;
-- When the next grant ends. Whoever decides about a hold after it first takes away what is left of the grant.
alter table credit_account add column grant_due_at timestamptz;

-- The interval in which a hold began, written when that interval ends; null in the present one.
alter table hold add column grant_interval int;
