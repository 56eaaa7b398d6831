-- Claims one try of a callback delivery that is pending, due and not leased, by the clock of the database. If claimed is
-- false, wait_ms is the time until the next claim can succeed. An expired lease can be taken over: whether the earlier try
-- arrived is unknown.
create or replace function claim_delivery(p_id text, p_token text, p_lease_seconds float8)
returns table (claimed boolean, state text, wait_ms float8, claimed_at float8)
language plpgsql
as $$
#variable_conflict use_column
declare
  d delivery;
begin
  select * into d from delivery where id = p_id for update;
  if not found then return; end if;
  state := d.state;
  claimed := d.state = 'pending' and d.next_attempt_at <= clock_timestamp()
    and (d.lease_until is null or d.lease_until <= clock_timestamp());
  wait_ms := greatest(0, extract(epoch from greatest(d.next_attempt_at, coalesce(d.lease_until, d.next_attempt_at)) - clock_timestamp()) * 1000);
  claimed_at := extract(epoch from clock_timestamp());
  if claimed then
    update delivery set lease_until = clock_timestamp() + make_interval(secs => p_lease_seconds), lease_token = p_token
    where id = p_id;
  end if;
  return next;
end $$;
