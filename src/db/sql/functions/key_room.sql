-- The credits that the budgets of a key leave on p_day (UTC); null without a budget.
create or replace function key_room(k api_key, p_day date) returns bigint
language sql immutable parallel safe
as $$
  select least(
    k.budget - k.spent - k.reserved,
    k.budget_daily - in_period(k.day_spent + k.day_reserved, k.used_on, p_day),
    k.budget_monthly - in_period(k.month_spent + k.month_reserved, k.used_on, date_trunc('month', p_day::timestamp)::date))
$$;
