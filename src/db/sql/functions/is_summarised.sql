-- Whether the month of p_at is frozen in the summaries.
create or replace function is_summarised(p_at timestamptz) returns boolean
language sql stable
as $$
  select exists (select from summary_month where month = to_char(p_at at time zone 'UTC', 'YYYY-MM') and frozen_at is not null);
$$;
