-- What a call cost in micro-USD: its price, if its provider may have billed it. Nothing was bought by what was refused, and by what ended before
-- the provider had taken it.
create or replace function bought_cost(p_outcome text, p_operation jsonb, p_cost_micro_usd bigint) returns bigint
language sql immutable
as $$
  select case when p_outcome in ('ok', 'unknown') or (p_operation is not null and (p_outcome is null or p_outcome = 'canceled'))
    then p_cost_micro_usd else 0 end;
$$;
