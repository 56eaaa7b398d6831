-- Calls whose cost nobody knows, and requests whose client left: charged for what came until then, or refunded. Zero where an earlier
-- release counted.
alter table usage_slot
  add column unknown_costs bigint not null default 0,
  add column left_charged bigint not null default 0,
  add column left_refunded bigint not null default 0;
alter table daily_summary
  add column unknown_costs bigint not null default 0,
  add column left_charged bigint not null default 0,
  add column left_refunded bigint not null default 0;
alter table monthly_summary
  add column unknown_costs bigint not null default 0,
  add column left_charged bigint not null default 0,
  add column left_refunded bigint not null default 0;

-- Beside traffic, of which the former release reads every column: the calls of the requests of each five minutes whose cost nobody knows.
create table traffic_unknown_cost (
  slot timestamptz primary key,
  unknown_costs bigint not null
);
