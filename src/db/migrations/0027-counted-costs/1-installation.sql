-- From when on calls whose cost nobody knows, and clients that left, are counted: from the next day (UTC) where an earlier release has added up
-- usage, whose processes run on for a while. Null where none has.
alter table installation add column unknown_costs_from timestamptz;
-- A database without the row is of 0.2.0, whose credits are worth a cent.
insert into installation (credit_value_micro_usd, unknown_costs_from)
select 10000, (date_trunc('day', clock_timestamp() at time zone 'UTC') + interval '1 day') at time zone 'UTC'
where exists (select from ledger_entry)
on conflict (is_only) do update set unknown_costs_from = excluded.unknown_costs_from;
