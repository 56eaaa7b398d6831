-- Counts a call against the limits of its channel, and of the first of p_credential_ids that is not at a limit of its own, which it
-- returns. Without one, it counts nothing and returns the seconds until one is free. One call of a channel is decided at a time, so the
-- limits are exact over all processes. Called again with the same id, it returns the same credential.
--
-- The commit does not wait for the disk: what a crash loses is a minute of counts.
create or replace function claim_channel_call(
  p_id text, p_channel_id text, p_credential_ids text[], p_tokens bigint, p_lease_seconds float8)
returns table (credential_id text, retry_after int)
language plpgsql
as $$
#variable_conflict use_column
declare
  this_second bigint;
  c channel;
  k record;
  least_wait int;
begin
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock(7108, hashtext(p_channel_id));
  select call.credential_id into credential_id from channel_call call where call.id = p_id;
  if found then
    return next;
    return;
  end if;
  -- The clock is read once the lock is held, so that seconds are counted in order.
  this_second := floor(extract(epoch from clock_timestamp()))::bigint;
  delete from channel_call call
  where call.channel_id = p_channel_id and call.id <> all (array(select r.id from running_channel_calls(p_channel_id) r));
  select * into c from channel where channel.id = p_channel_id;
  retry_after := channel_limit_wait(p_channel_id, c.rpm, c.tpm, c.parallel, (
    select count(*) from channel_call call where call.channel_id = p_channel_id), p_tokens, this_second);
  if retry_after = 0 then
    for k in
      select given.id, m.rpm, m.tpm, m.parallel,
        (select count(*) from channel_call call where call.channel_id = p_channel_id and call.credential_id = given.id) as running
      from unnest(p_credential_ids) with ordinality as given (id, n) left join channel_credential m on m.id = given.id order by given.n
    loop
      retry_after := channel_limit_wait(k.id, k.rpm, k.tpm, k.parallel, k.running, p_tokens, this_second);
      if retry_after = 0 then
        credential_id := k.id;
        exit;
      end if;
      least_wait := least(least_wait, retry_after);
    end loop;
    if credential_id is null then retry_after := coalesce(least_wait, 1); end if;
  end if;
  if credential_id is not null then
    retry_after := null;
    insert into channel_use as u (subject_id, second, requests, tokens)
    values (p_channel_id, this_second, 1, p_tokens), (credential_id, this_second, 1, p_tokens)
    on conflict (subject_id, second) do update set requests = u.requests + 1, tokens = u.tokens + excluded.tokens;
    delete from channel_use u where u.subject_id in (p_channel_id, credential_id) and u.second <= this_second - 61;
    insert into channel_call (id, channel_id, credential_id, second, tokens, expires_at)
    values (p_id, p_channel_id, credential_id, this_second, p_tokens, clock_timestamp() + make_interval(secs => p_lease_seconds));
  end if;
  return next;
end $$;
