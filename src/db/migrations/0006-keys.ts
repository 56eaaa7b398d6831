import { Migration } from '@mikro-orm/migrations';

/**
 * Keys: credits given back to a settled request, chats in a key's in-flight limit, and chat's verbs again, whose cost no
 * longer grows with the number of keys in a batch or of rows in a table.
 */
export class Migration0006Keys extends Migration {
  override name = '0006-keys';

  override up(): void {
    for (const sql of [adjustments, adjustCredits, hitRates, admitChats, endChats, countHeldChats, planByIndex])
      this.addSql(sql);
  }
}

/** One per request and reason: an operator who is not sure whether a command went through gives it again. */
const adjustments = `
create unique index ledger_entry_adjust_idx on ledger_entry (reservation_id, reason)
  where kind = 'adjust' and reservation_id is not null;
`;

/**
 * Gives back what a settled request was charged, or p_amount of it. Its own entry, now; the reservation stays what it was.
 * Verdicts: given, given_before (same reason, same amount), reason_reused, nothing_left, too_many, not_settled, not_found.
 */
const adjustCredits = `
create function adjust_credits(p_reservation_id text, p_amount bigint, p_reason text)
returns table (verdict text, project_id text, given bigint, charged bigint, given_in_all bigint, balance bigint)
language plpgsql as $$
#variable_conflict use_column
declare
  r reservation;
  before bigint;
begin
  given := 0;
  select * into r from reservation where id = p_reservation_id;
  if not found then
    verdict := 'not_found';
    return next;
    return;
  end if;
  perform lock_money(array[r.project_id], array[r.key_id]);
  select * into r from reservation where id = p_reservation_id for no key update;
  project_id := r.project_id;
  charged := r.settled_amount;
  select coalesce(sum(e.d_balance), 0) into given_in_all from ledger_entry e
  where e.reservation_id = r.id and e.kind = 'adjust';
  select e.d_balance into before from ledger_entry e
  where e.reservation_id = r.id and e.kind = 'adjust' and e.reason = p_reason;
  verdict := case
    when r.state <> 'settled' then 'not_settled'
    when before = coalesce(p_amount, before) then 'given_before'
    when before is not null then 'reason_reused'
    when given_in_all >= r.settled_amount then 'nothing_left'
    when p_amount > r.settled_amount - given_in_all then 'too_many'
    else 'given'
  end;
  if verdict = 'given' then
    given := coalesce(p_amount, r.settled_amount - given_in_all);
    if given <= 0 then raise exception 'credits are given back, never taken' using errcode = '22023'; end if;
    update credit_account a set balance = a.balance + given where a.project_id = r.project_id;
    update api_key k set spent = k.spent - given where k.id = r.key_id;
    insert into ledger_entry (project_id, key_id, reservation_id, kind, d_balance, d_reserved, reason)
    values (r.project_id, r.key_id, r.id, 'adjust', given, 0, p_reason);
    given_in_all := given_in_all + given;
  end if;
  select a.balance into balance from credit_account a where a.project_id = r.project_id;
  return next;
end $$;
`;

/**
 * Counts requests of keys with a limit, in the order given: at most rpm are admitted in any 60 seconds, as 61 slots of one
 * second by the database clock, which never go back. All keys of a batch in one statement; locks in the order of their hash.
 */
const hitRates = `
create or replace function hit_rates(keys text[], rpms int[])
returns table (ord int, admitted boolean, remaining int, reset_after int, retry_after int) language plpgsql as $$
#variable_conflict use_column
declare
  second bigint;
begin
  perform pg_advisory_xact_lock(7105, hashes.hash)
  from (select distinct hashtext(key_id) as hash from unnest(keys) as key_id order by 1) hashes;
  second := floor(extract(epoch from clock_timestamp()))::bigint;
  return query
    with wanted as materialized (
      select g.key_id, max(g.rpm) as rpm, count(*)::int as asked
      from unnest(keys, rpms) as g (key_id, rpm) group by g.key_id
    ), granted as materialized (
      select w.key_id, w.rpm, latest.slot as current_slot, counted.used, coalesce(counted.oldest, latest.slot) as oldest,
             greatest(0, least(w.asked, w.rpm - counted.used))::int as free
      from wanted w
      cross join lateral (
        select greatest(second, coalesce(max(r.slot), second)) as slot from rate_slot r where r.key_id = w.key_id
      ) latest
      cross join lateral (
        select coalesce(sum(r.n), 0) as used, min(r.slot) as oldest from rate_slot r
        where r.key_id = w.key_id and r.slot > latest.slot - 61
      ) counted
    ), gone as (
      delete from rate_slot r using granted g where r.key_id = g.key_id and r.slot <= g.current_slot - 61
    ), added as (
      insert into rate_slot (key_id, slot, n) select g.key_id, g.current_slot, g.free from granted g where g.free > 0
      on conflict (key_id, slot) do update set n = rate_slot.n + excluded.n
    )
    select asked.ord::int, asked.place <= g.free, greatest(0, g.rpm - g.used - least(asked.place, g.free))::int,
           greatest(1, g.oldest + 61 - second)::int,
           case when asked.place > g.free then greatest(1, g.oldest + 61 - second)::int end
    from (
      select a.key_id, a.ord, row_number() over (partition by a.key_id order by a.ord) as place
      from unnest(keys) with ordinality as a (key_id, ord)
    ) asked join granted g on g.key_id = asked.key_id order by asked.ord;
end $$;
`;

/**
 * Admits chats in the order given: rate, key (revoked, expired, allowlist), idempotency key, places in flight, balance, budget;
 * then hold and first attempt row. Verdicts equal those of members run one after another, and a refused member consumes
 * nothing but its rate. Called again for an admitted request it says so again. Balances are read once and written once per
 * account and key.
 */
const admitChats = `
create or replace function admit_chats(members jsonb)
returns table (ord int, verdict text, original_request_id text, rate_remaining int, rate_reset int, retry_after int)
language plpgsql as $$
#variable_conflict use_column
declare
  m record;
  ids text[];
  known text[];
  project_ids text[];
  balances bigint[];
  held_by_project bigint[];
  key_ids text[];
  rooms bigint[];
  held_by_key bigint[];
  places int[];
  begun_by_key int[];
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
  select array_agg(x.request_id), array_agg(distinct x.project_id), array_agg(distinct x.key_id) into ids, project_ids, key_ids
  from jsonb_to_recordset(members) as x (request_id text, project_id text, key_id text);
  -- A request that was admitted before is asked for again after a lost connection: its rate is counted already.
  known := array(select r.id from reservation r where r.id = any (ids));
  select array_agg(x.key_id order by x.ord), array_agg(x.rpm order by x.ord), array_agg(x.ord order by x.ord)
  into rated_keys, rated_rpms, rated_ords
  from jsonb_to_recordset(members) as x (ord int, request_id text, key_id text, rpm int)
  where x.rpm is not null and x.request_id <> all (known);
  if rated_ords is not null then
    select array_agg(rated_ords[h.ord]), array_agg(h.admitted), array_agg(h.remaining), array_agg(h.reset_after), array_agg(h.retry_after)
    into rate_ords, rate_admitted, rate_remainings, rate_resets, rate_retries
    from hit_rates(rated_keys, rated_rpms) h;
  end if;

  perform lock_money(project_ids, key_ids);
  -- Looked for again: another call may have admitted one of them before we had the locks.
  known := array(select r.id from reservation r where r.id = any (ids));
  select array_agg(a.project_id), array_agg(a.balance), array_agg(0::bigint) into project_ids, balances, held_by_project
  from credit_account a where a.project_id = any (project_ids);
  select array_agg(key.id), array_agg(case when key.budget is null then null else key.budget - key.spent - key.reserved end),
         array_agg(key.in_flight_max - key.in_flight), array_agg(0::bigint), array_agg(0),
         array_agg(case when key.revoked_at is not null or key.expires_at <= clock_timestamp() or pr.status <> 'active'
                        then 'no' else 'yes' end),
         array_agg(to_jsonb(key.models))
  into key_ids, rooms, places, held_by_key, begun_by_key, usable, allowlists
  from api_key key join project pr on pr.id = key.project_id where key.id = any (key_ids);

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
        when m.request_id = any (known) then 'again'
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
        when places[k] <= 0 then 'concurrency_limit_exceeded'
        when balances[p] < m.amount then 'insufficient_credits'
        when rooms[k] < m.amount then 'key_budget_exceeded'
        else 'admitted'
      end;
      if verdict = 'admitted' then
        balances[p] := balances[p] - m.amount;
        held_by_project[p] := held_by_project[p] + m.amount;
        rooms[k] := rooms[k] - m.amount;
        held_by_key[k] := held_by_key[k] + m.amount;
        places[k] := places[k] - 1;
        begun_by_key[k] := begun_by_key[k] + 1;
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
    update api_key key set reserved = key.reserved + u.held, in_flight = key.in_flight + u.begun,
      last_used_at = case when key.last_used_at > clock_timestamp() - interval '1 minute' then key.last_used_at else clock_timestamp() end
    from unnest(key_ids, held_by_key, begun_by_key) as u (id, held, begun) where key.id = u.id and u.begun > 0;
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

/**
 * Ends chats, each once: settles p of the hold (never more) or refunds it, gives its place in flight back, ends the last
 * attempt, and binds or frees the idempotency key. Whoever commits first decides; a member that had ended before says so and
 * changes nothing.
 */
const endChats = `
create or replace function end_chats(members jsonb) returns table (ord int, ended boolean, charged bigint) language plpgsql as $$
#variable_conflict use_column
begin
  perform lock_money(array_agg(distinct r.project_id), array_agg(distinct r.key_id)) from reservation r
  where r.id = any (array(select x.request_id from jsonb_to_recordset(members) as x (request_id text)));
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
      update api_key k set reserved = k.reserved - s.held, spent = k.spent + s.charged, in_flight = k.in_flight - s.chats
      from (select key_id, sum(amount) as held, sum(charged) as charged, count(*) as chats from ended group by 1) s
      where k.id = s.key_id
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

/** Chats that are held while this runs: from here on a key's in_flight counts them too. */
const countHeldChats = `
lock table api_key in exclusive mode;
update api_key k set in_flight = held.n
from (select key_id, count(*) as n from reservation where state = 'held' group by 1) held
where held.key_id = k.id and k.in_flight <> held.n;
`;

/**
 * A batch has a hundred members at most; while the tables are small the planner would rather read all of them than look a
 * hundred rows up, and such a plan stays while they grow.
 */
const planByIndex = `
alter function hit_rates(text[], int[]) set enable_seqscan = off;
alter function admit_chats(jsonb) set enable_seqscan = off;
alter function next_chat_attempts(jsonb) set enable_seqscan = off;
alter function end_chats(jsonb) set enable_seqscan = off;
`;
