import { Migration } from '@mikro-orm/migrations';

/** Chat: rate, allowlist, budget, hold and first attempt in one call; settlement the same way; exact requests per minute. */
export class Migration0005Chat extends Migration {
  override name = '0005-chat';

  override up(): void {
    for (const sql of [tables, hitRates, admitChats, nextChatAttempts, endChats, expireChats]) this.addSql(sql);
  }
}

const tables = `
-- Its loss in a database crash costs one window, by choice.
create unlogged table rate_slot (
  key_id text not null,
  slot bigint not null,
  n int not null,
  primary key (key_id, slot)
) with (fillfactor = 50);

alter table reservation add column input_tokens bigint;
alter table reservation add column output_tokens bigint;
-- The upstream told no usage: the tokens are our estimate.
alter table reservation add column usage_estimated boolean not null default false;

alter table attempt add column model_id text;
alter table idempotency add column bound_at timestamptz;
create index idempotency_request_idx on idempotency (request_id);
`;

/**
 * Counts requests of keys with a limit, in the order given: at most rpm are admitted in any 60 seconds, as 61 slots of one
 * second by the database clock, which never go back. Members: key_id, rpm. The order of locks is by key.
 */
const hitRates = `
create function hit_rates(keys text[], rpms int[])
returns table (ord int, admitted boolean, remaining int, reset_after int, retry_after int) language plpgsql as $$
#variable_conflict use_column
declare
  wanted record;
  second bigint;
  current_slot bigint;
  used bigint;
  oldest bigint;
  free int;
begin
  for wanted in
    select g.key_id, max(g.rpm) as rpm, count(*)::int as asked, array_agg(g.ord order by g.ord) as ords
    from unnest(keys, rpms) with ordinality as g (key_id, rpm, ord) group by g.key_id order by g.key_id
  loop
    perform pg_advisory_xact_lock(7105, hashtext(wanted.key_id));
    second := floor(extract(epoch from clock_timestamp()))::bigint;
    select greatest(second, coalesce(max(slot), second)) into current_slot from rate_slot where key_id = wanted.key_id;
    delete from rate_slot where key_id = wanted.key_id and slot <= current_slot - 61;
    select coalesce(sum(n), 0), min(slot) into used, oldest from rate_slot where key_id = wanted.key_id;
    free := greatest(0, least(wanted.asked, wanted.rpm - used));
    if free > 0 then
      insert into rate_slot (key_id, slot, n) values (wanted.key_id, current_slot, free)
      on conflict (key_id, slot) do update set n = rate_slot.n + excluded.n;
    end if;
    oldest := coalesce(oldest, current_slot);
    for i in 1..wanted.asked loop
      ord := wanted.ords[i];
      admitted := i <= free;
      remaining := greatest(0, wanted.rpm - used - least(i, free))::int;
      reset_after := greatest(1, oldest + 61 - second)::int;
      retry_after := case when not admitted then reset_after end;
      return next;
    end loop;
  end loop;
end $$;
`;

/**
 * Admits chats in the order given: rate, key (revoked, expired, allowlist), idempotency key, balance, budget; then hold and
 * first attempt row. Verdicts equal those of members run one after another, and a refused member consumes nothing but its
 * rate. Called again for an admitted request it says so again. Balances are read once and written once per account and key.
 */
const admitChats = `
create function admit_chats(members jsonb)
returns table (ord int, verdict text, original_request_id text, rate_remaining int, rate_reset int, retry_after int)
language plpgsql as $$
#variable_conflict use_column
declare
  m record;
  project_ids text[];
  balances bigint[];
  held_by_project bigint[];
  key_ids text[];
  rooms bigint[];
  held_by_key bigint[];
  usable text[];
  allowlists jsonb[];
  admitted_ords int[] := '{}';
  rated_keys text[];
  rated_rpms int[];
  rated_ords int[];
  rate_ords int[];
  rate_admitted boolean[];
  rate_remainings int[];
  rate_resets int[];
  rate_retries int[];
  r int;
  p int;
  k int;
  earlier record;
begin
  -- A request that was admitted before is asked for again after a lost connection: its rate is counted already.
  select array_agg(x.key_id order by x.ord), array_agg(x.rpm order by x.ord), array_agg(x.ord order by x.ord)
  into rated_keys, rated_rpms, rated_ords
  from jsonb_to_recordset(members) as x (ord int, request_id text, key_id text, rpm int, counted boolean)
  where x.rpm is not null and not coalesce(x.counted, false)
    and not exists (select from reservation r where r.id = x.request_id);
  if rated_ords is not null then
    select array_agg(rated_ords[h.ord]), array_agg(h.admitted), array_agg(h.remaining), array_agg(h.reset_after), array_agg(h.retry_after)
    into rate_ords, rate_admitted, rate_remainings, rate_resets, rate_retries
    from hit_rates(rated_keys, rated_rpms) h;
  end if;

  perform lock_money(
    (select array_agg(distinct x.project_id) from jsonb_to_recordset(members) as x (project_id text)),
    (select array_agg(distinct x.key_id) from jsonb_to_recordset(members) as x (key_id text)));
  select array_agg(a.project_id), array_agg(a.balance), array_agg(0::bigint) into project_ids, balances, held_by_project
  from credit_account a where a.project_id in (select x.project_id from jsonb_to_recordset(members) as x (project_id text));
  select array_agg(key.id), array_agg(case when key.budget is null then null else key.budget - key.spent - key.reserved end),
         array_agg(0::bigint),
         array_agg(case when key.revoked_at is not null or key.expires_at <= clock_timestamp() or pr.status <> 'active'
                        then 'no' else 'yes' end),
         array_agg(to_jsonb(key.models))
  into key_ids, rooms, held_by_key, usable, allowlists
  from api_key key join project pr on pr.id = key.project_id
  where key.id in (select x.key_id from jsonb_to_recordset(members) as x (key_id text));

  for m in
    select * from jsonb_to_recordset(members) as x (
      ord int, request_id text, project_id text, key_id text, model_id text, amount bigint,
      route text, idempotency_key text, fingerprint text, idempotency_seconds float8) order by x.ord
  loop
    ord := m.ord;
    original_request_id := null;
    verdict := null;
    rate_remaining := null;
    rate_reset := null;
    retry_after := null;
    r := array_position(rate_ords, m.ord);
    if r is not null then
      rate_remaining := rate_remainings[r];
      rate_reset := rate_resets[r];
      retry_after := rate_retries[r];
      verdict := case when not rate_admitted[r] then 'rate_limit_exceeded' end;
    end if;
    p := array_position(project_ids, m.project_id);
    k := array_position(key_ids, m.key_id);
    if verdict is null then
      verdict := case
        when exists (select from reservation held where held.id = m.request_id) then 'again'
        when p is null or k is null or usable[k] = 'no' then 'invalid_api_key'
        when jsonb_typeof(allowlists[k]) = 'array' and not allowlists[k] ? m.model_id then 'model_not_allowed'
      end;
    end if;
    if verdict is null and m.idempotency_key is not null then
      delete from idempotency i where i.project_id = m.project_id and i.route = m.route and i.key = m.idempotency_key
        and i.expires_at <= clock_timestamp();
      insert into idempotency (project_id, route, key, fingerprint, request_id, expires_at)
      values (m.project_id, m.route, m.idempotency_key, m.fingerprint, m.request_id,
              clock_timestamp() + make_interval(secs => m.idempotency_seconds))
      on conflict do nothing;
      if not found then
        select i.fingerprint, i.request_id, i.status into earlier from idempotency i
        where i.project_id = m.project_id and i.route = m.route and i.key = m.idempotency_key;
        if found then
          original_request_id := earlier.request_id;
          verdict := case
            when earlier.fingerprint <> m.fingerprint then 'idempotency_key_reused'
            when earlier.status is null then 'idempotency_in_progress'
            else 'replay'
          end;
        else
          verdict := 'idempotency_in_progress';
        end if;
      end if;
    end if;
    if verdict is null then
      verdict := case
        when balances[p] < m.amount then 'insufficient_credits'
        when rooms[k] < m.amount then 'key_budget_exceeded'
        else 'admitted'
      end;
      if verdict = 'admitted' then
        balances[p] := balances[p] - m.amount;
        held_by_project[p] := held_by_project[p] + m.amount;
        rooms[k] := rooms[k] - m.amount;
        held_by_key[k] := held_by_key[k] + m.amount;
        admitted_ords := admitted_ords || m.ord;
      elsif m.idempotency_key is not null then
        delete from idempotency i where i.project_id = m.project_id and i.route = m.route and i.key = m.idempotency_key
          and i.request_id = m.request_id;
      end if;
    elsif verdict = 'again' then
      verdict := 'admitted';
    end if;
    return next;
  end loop;

  if cardinality(admitted_ords) > 0 then
    update credit_account a set balance = a.balance - u.held, reserved = a.reserved + u.held
    from unnest(project_ids, held_by_project) as u (id, held) where a.project_id = u.id and u.held > 0;
    update api_key key set reserved = key.reserved + u.held,
      last_used_at = case when key.last_used_at > clock_timestamp() - interval '1 minute' then key.last_used_at else clock_timestamp() end
    from unnest(key_ids, held_by_key) as u (id, held) where key.id = u.id and u.held > 0;
    insert into reservation (id, project_id, key_id, kind, model_id, amount, expires_at)
    select x.request_id, x.project_id, x.key_id, 'chat', x.model_id, x.amount, clock_timestamp() + make_interval(secs => x.hold_seconds)
    from jsonb_to_recordset(members) as x (ord int, request_id text, project_id text, key_id text, model_id text, amount bigint, hold_seconds float8)
    where x.ord = any (admitted_ords);
    insert into ledger_entry (project_id, key_id, reservation_id, kind, d_balance, d_reserved)
    select x.project_id, x.key_id, x.request_id, 'hold', -x.amount, x.amount
    from jsonb_to_recordset(members) as x (ord int, request_id text, project_id text, key_id text, amount bigint)
    where x.ord = any (admitted_ords) order by x.ord;
    insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, model_id)
    select x.attempt_id, x.request_id, 1, x.channel_id, x.channel_name, x.attempt_id,
           clock_timestamp() + make_interval(secs => x.hold_seconds), x.model_id
    from jsonb_to_recordset(members) as x (ord int, request_id text, attempt_id text, channel_id text, channel_name text, model_id text, hold_seconds float8)
    where x.ord = any (admitted_ords);
  end if;
end $$;
`;

/** Ends one attempt of a chat and writes the next before its call. False: the hold is over, nothing may be called any more. */
const nextChatAttempts = `
create function next_chat_attempts(members jsonb) returns table (ord int, begun boolean) language plpgsql as $$
#variable_conflict use_column
begin
  update attempt a set outcome = x.outcome, error_class = x.error_class, status = x.status, detail = x.detail, ended_at = clock_timestamp()
  from jsonb_to_recordset(members) as x (ended_id text, outcome text, error_class text, status int, detail text)
  where a.id = x.ended_id and a.outcome is null;
  return query
    with fresh as (
      insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, model_id)
      select x.attempt_id, x.request_id, x.n, x.channel_id, x.channel_name, x.attempt_id, r.expires_at, r.model_id
      from jsonb_to_recordset(members) as x (attempt_id text, request_id text, n int, channel_id text, channel_name text)
      join reservation r on r.id = x.request_id and r.state = 'held'
      on conflict do nothing
      returning id
    )
    select x.ord, exists (select from fresh f where f.id = x.attempt_id) or exists (select from attempt a where a.id = x.attempt_id)
    from jsonb_to_recordset(members) as x (ord int, attempt_id text) order by x.ord;
end $$;
`;

/**
 * Ends chats, each once: settles p of the hold (never more) or refunds it, ends the last attempt, and binds or frees the
 * idempotency key. Whoever commits first decides; a member that had ended before says so and changes nothing.
 */
const endChats = `
create function end_chats(members jsonb) returns table (ord int, ended boolean, charged bigint) language plpgsql as $$
#variable_conflict use_column
begin
  perform lock_money(
    (select array_agg(distinct r.project_id) from reservation r where r.id in (select x.request_id from jsonb_to_recordset(members) as x (request_id text))),
    (select array_agg(distinct r.key_id) from reservation r where r.id in (select x.request_id from jsonb_to_recordset(members) as x (request_id text))));
  return query
    with given as materialized (
      select * from jsonb_to_recordset(members) as x (
        ord int, request_id text, settle bigint, channel_id text, input_tokens bigint, output_tokens bigint, usage_estimated boolean,
        attempt_id text, outcome text, error_class text, status int, detail text, cost_micro_usd bigint,
        answer_status int, answer_body text)
    ), ended as (
      update reservation r set
        state = case when g.settle is null then 'refunded' else 'settled' end,
        settled_amount = case when g.settle is not null then least(g.settle, r.amount) end,
        channel_id = g.channel_id, input_tokens = g.input_tokens, output_tokens = g.output_tokens,
        usage_estimated = coalesce(g.usage_estimated, false), ended_at = clock_timestamp()
      from given g where r.id = g.request_id and r.state = 'held'
      returning r.id, r.project_id, r.key_id, r.amount, coalesce(r.settled_amount, 0) as charged, r.state
    ), accounts as (
      update credit_account a set balance = a.balance + s.back, reserved = a.reserved - s.held
      from (select project_id, sum(amount - charged) as back, sum(amount) as held from ended group by 1) s
      where a.project_id = s.project_id
    ), keys as (
      update api_key k set reserved = k.reserved - s.held, spent = k.spent + s.charged
      from (select key_id, sum(amount) as held, sum(charged) as charged from ended group by 1) s where k.id = s.key_id
    ), entries as (
      insert into ledger_entry (project_id, key_id, reservation_id, kind, d_balance, d_reserved)
      select e.project_id, e.key_id, e.id, case e.state when 'settled' then 'settle' else 'refund' end, e.amount - e.charged, -e.amount
      from ended e
    ), attempts as (
      update attempt a set outcome = g.outcome, error_class = g.error_class, status = g.status, detail = g.detail,
        cost_micro_usd = coalesce(g.cost_micro_usd, 0), ended_at = clock_timestamp()
      from given g where a.id = g.attempt_id and a.outcome is null
    ), bound as (
      update idempotency i set status = g.answer_status, body = g.answer_body, bound_at = clock_timestamp()
      from given g join ended e on e.id = g.request_id
      where i.request_id = g.request_id and e.state = 'settled' and g.answer_status is not null
    ), freed as (
      delete from idempotency i using given g
      where i.request_id = g.request_id and (g.settle is null or g.answer_status is null)
        and exists (select from ended e where e.id = g.request_id)
    )
    select g.ord, e.id is not null, coalesce(e.charged, r.settled_amount, 0)
    from given g left join ended e on e.id = g.request_id left join reservation r on r.id = g.request_id order by g.ord;
end $$;
`;

/** Refunds chat holds whose expiry has passed: no answer was delivered. Returns how many. */
const expireChats = `
create function expire_chats(p_limit int) returns int language plpgsql as $$
declare
  members jsonb;
begin
  select jsonb_agg(jsonb_build_object('ord', n, 'request_id', id, 'attempt_id', attempt_id, 'outcome', 'unknown',
                                      'error_class', 'deadline', 'detail', 'the process that made this call is gone'))
  into members
  from (select row_number() over () as n, r.id,
               (select a.id from attempt a where a.request_id = r.id and a.outcome is null order by a.n desc limit 1) as attempt_id
        from reservation r where r.state = 'held' and r.kind = 'chat' and r.expires_at < clock_timestamp()
        order by r.expires_at limit p_limit) due;
  if members is null then return 0; end if;
  return (select count(*) filter (where ended) from end_chats(members));
end $$;
`;
