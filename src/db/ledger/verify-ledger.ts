import { partList, tokenColumns } from '../../domain/catalog/token-counts.ts';
import { lastCheckpoint, type Checkpoint } from './checkpoints.ts';
import type { Database } from '../database.ts';
import { newestRowSql } from '../restore/restore-marks.ts';
import { longTransaction } from '../long-transaction.ts';

export interface InvariantResult {
  /** The sentence that is true if there is no breach. */
  promise: string;
  breaches: number;
  /** Ids of up to ten accounts, keys, reservations or tasks that break the invariant. */
  examples: string[];
}

export interface LedgerReport {
  ok: boolean;
  /** The checkpoint whose sums were trusted; null if all entries were added up. */
  since: { checkpoint_id: number; through_entry_id: number; covers_until: string } | null;
  invariants: Record<string, InvariantResult>;
}

/**
 * Verifies the ledger by adding up its entries, in one REPEATABLE READ transaction. With `full: false` it adds only the entries since
 * the last checkpoint to the sums of that checkpoint. An expired hold may wait `graceSeconds` for the sweep.
 */
export async function verifyLedger(
  database: Database,
  graceSeconds: number,
  { full = true }: { full?: boolean } = {},
): Promise<LedgerReport> {
  return longTransaction(
    database,
    async (query) => {
      const checkpoint = full ? null : await lastCheckpoint(query);
      const report: LedgerReport = { ok: true, since: sinceOf(checkpoint), invariants: {} };
      const values = [
        graceSeconds,
        checkpoint?.id ?? 0,
        checkpoint?.throughEntryId ?? 0,
        checkpoint?.coversUntil ?? new Date(0),
      ];
      for (const [name, { promise, offenders }] of Object.entries(invariants)) {
        const rows = await query<{ breaches: number; examples: string[] | null }>(
          `verify-${name}-${checkpoint ? 'since' : 'full'}`,
          // `parameters` declares the types of the parameters, because not every invariant uses all of them.
          `with parameters as (select $1::float8, $2::bigint, $3::bigint, $4::timestamptz),
           offender as (${offenders(checkpoint ? sinceCheckpoint : allOfTime)})
           select count(*)::float8 as breaches, (array_agg(id))[1:10] as examples from offender`,
          values,
        );
        const breaches = rows[0]?.breaches ?? 0;
        report.invariants[name] = { promise, breaches, examples: rows[0]?.examples ?? [] };
        if (breaches > 0) report.ok = false;
      }
      return report;
    },
    'begin isolation level repeatable read read only',
  );
}

const sinceOf = (checkpoint: Checkpoint | null): LedgerReport['since'] =>
  checkpoint && {
    checkpoint_id: checkpoint.id,
    through_entry_id: checkpoint.throughEntryId,
    covers_until: checkpoint.coversUntil.toISOString(),
  };

/** The rows that are checked. Parameters: $1 grace in seconds, $2 checkpoint, $3 its last entry, $4 the end of its time range. */
interface CheckedRows {
  /** The spent credits of each key, as (key_id, spent, day_spent, month_spent). */
  spent: string;
  /** Ids of the requests to check that have ended. */
  ended: string;
  /** A condition on `ledger_entry`: the entries to check one by one. */
  entries: string;
  /** Ids of the tasks to check. */
  tasks: string;
  /** A condition on `summary_day s`: the days whose summary is compared with the ledger. */
  days: string;
}

/** The first day of a day's month. */
const monthStartOf = (day: string): string => `date_trunc('month', (${day})::timestamp)::date`;
const dayOf = (time: string): string => `(${time} at time zone 'UTC')::date`;
const checkpointDay = dayOf('$4::timestamptz');

/** What the entries took from their keys, in all and in the last day and month that each key was used in. */
const takings = (condition: string): string =>
  `select e.key_id, -e.credits as spent, in_period(-e.credits, ${dayOf('e.began_at')}, k.used_on) as day_spent,
     in_period(-e.credits, ${dayOf('e.began_at')}, ${monthStartOf('k.used_on')}) as month_spent
   from ledger_entry e join api_key k on k.id = e.key_id where ${condition} and e.kind in ('settle', 'adjust')`;
const sumsOfTakings = 'sum(spent) as spent, sum(day_spent) as day_spent, sum(month_spent) as month_spent';

const allOfTime: CheckedRows = {
  spent: `select key_id, ${sumsOfTakings} from (${takings('true')}) takings group by 1`,
  ended: `select request_id as id from ledger_entry where kind in ('settle', 'refund')`,
  entries: 'true',
  tasks: 'select id from task',
  days: 'true',
};

/** Everything that ended or got an entry since the checkpoint. What is held now is checked every time. Each part has its index. */
const sinceCheckpoint: CheckedRows = {
  spent: `select key_id, ${sumsOfTakings} from (
            select c.key_id, c.spent, in_period(c.day_spent, ${checkpointDay}, k.used_on) as day_spent,
              in_period(c.month_spent, ${checkpointDay}, ${monthStartOf('k.used_on')}) as month_spent
            from ledger_checkpoint_key c join api_key k on k.id = c.key_id where c.checkpoint_id = $2
            union all
            ${takings('e.id > $3')}) takings group by 1`,
  ended: `select request_id as id from ledger_entry where id > $3 and kind in ('settle', 'refund')`,
  entries: 'id > $3',
  tasks: `select id from task where completed_at is null and admission <> 'rejected'
            union select id from task where completed_at >= $4`,
  // A day that was frozen before the checkpoint was compared for the last time then.
  days: 's.frozen_at is null or s.frozen_at >= $4',
};

/** Each query lists the rows that break the invariant. */
const invariants: Record<string, { promise: string; offenders: (scope: CheckedRows) => string }> = {
  C1: {
    promise: 'Per project, balance and reserved together equal the sum of its entries.',
    offenders: () => `select a.project_id as id from credit_account a
      left join (select project_id, sum(credits) as credits from (
                   select project_id, credits from ledger_checkpoint_account where checkpoint_id = $2
                   union all
                   select project_id, credits from ledger_entry where id > $3) sums group by 1) e using (project_id)
      where a.balance + a.reserved <> coalesce(e.credits, 0)`,
  },
  C2: {
    promise:
      'Per account and key, reserved equals its holds. Per key, spent equals the settled credits less the adjustments, in all and in its last day and month.',
    offenders: ({ spent }) => `select a.project_id as id from credit_account a
      left join (select project_id, sum(amount) as held, count(*) filter (where kind = 'media') as tasks
                 from hold group by 1) h using (project_id)
      where a.reserved <> coalesce(h.held, 0) or a.in_flight <> coalesce(h.tasks, 0)
      union all
      select k.id from api_key k
      left join (select key_id, sum(amount) as held, count(*) as begun,
                   sum(in_period(amount, ${dayOf('created_at')}, used_on)) as day_held,
                   sum(in_period(amount, ${dayOf('created_at')}, ${monthStartOf('used_on')})) as month_held
                 from (select hold.*, own.used_on from hold join api_key own on own.id = hold.key_id) held group by 1) h on h.key_id = k.id
      left join (${spent}) s on s.key_id = k.id
      where k.reserved <> coalesce(h.held, 0) or k.spent <> coalesce(s.spent, 0) or k.in_flight <> coalesce(h.begun, 0)
        or k.day_reserved <> coalesce(h.day_held, 0) or k.month_reserved <> coalesce(h.month_held, 0)
        -- A day or month before that of the checkpoint was compared then, or decides nothing any more.
        or (k.day_spent <> coalesce(s.day_spent, 0) and k.used_on >= ${checkpointDay})
        or (k.month_spent <> coalesce(s.month_spent, 0) and k.used_on >= ${monthStartOf(checkpointDay)})`,
  },
  C3: {
    promise:
      'No reserved sum is negative. A balance is below zero only by what was deducted and by an overdraft. Each entry has the balance after it, and took no more than there was.',
    // An overdraft may have been larger at the time of an entry than it is now, never larger than overdraft_max.
    offenders:
      () => `select project_id as id from credit_account where balance + deducted + overdraft_max < 0 or reserved < 0
      union all select id from api_key where least(spent, reserved, day_spent, day_reserved, month_spent, month_reserved) < 0
      union all select a.project_id from credit_account a
      left join (select project_id, sum(deducted) as deducted from (
                   select project_id, deducted from ledger_checkpoint_account where checkpoint_id = $2
                   union all
                   select project_id, -credits from ledger_entry where id > $3 and kind = 'deduct') sums group by 1) d using (project_id)
      where a.deducted <> coalesce(d.deducted, 0)
      union all select distinct running.project_id from (
        select project_id, balance_after, sum(credits) over so_far as credits, sum(deducted) over so_far as deducted from (
          select project_id, 0::bigint as id, credits, credits as balance_after, deducted from ledger_checkpoint_account where checkpoint_id = $2
          union all
          select project_id, id, credits, balance_after, case kind when 'deduct' then -credits else 0 end from ledger_entry where id > $3) entries
        window so_far as (partition by project_id order by id)) running
      left join credit_account a on a.project_id = running.project_id
      where credits + running.deducted + coalesce(a.overdraft_max, 0) < 0 or credits <> balance_after`,
  },
  C4: {
    promise: 'Each request is either held, or has ended with exactly one settle or refund entry of at most its hold.',
    // That there is at most one entry of the two kinds is what the unique index ledger_entry_end_idx is for.
    offenders: ({ ended }) => `select h.id from hold h
        join ledger_entry e on e.request_id = h.id and e.kind in ('settle', 'refund')
      union all
      select e.request_id from (${ended}) scope join ledger_entry e on e.request_id = scope.id and e.kind in ('settle', 'refund')
      where e.held is null or e.held <= 0 or -e.credits not between 0 and case e.kind when 'settle' then e.held else 0 end
         or not exists (select from credit_account a where a.project_id = e.project_id)
      union all
      select 'ledger_entry_end_idx is missing' where not exists (
        select from pg_index where indexrelid = to_regclass('ledger_entry_end_idx') and indisunique and indisvalid)`,
  },
  C5: {
    promise: 'No hold outlives its expiry by more than one sweep.',
    // By the newest row: time has stood still for a database that was restored, and until its release no sweep runs. A row that is newer than the
    // clock was written before the clock was set back.
    offenders: () => `select id from hold where expires_at < least(clock_timestamp(), coalesce(
      (select restored_through from restore_mark where released_at is null), ${newestRowSql})) - make_interval(secs => $1)`,
  },
  C6: {
    promise:
      'An admitted task has succeeded if and only if it is settled, and has failed or is canceled if and only if it is refunded.',
    offenders: ({ tasks, ended }) => `select t.id
      from (${tasks} union ${ended} union select id from hold) scope join task t using (id)
      left join lateral (select * from reservation where reservation.id = t.id offset 0) r on true
      where t.admission = 'reserved' and (r.id is null
        or (t.status = 'succeeded') <> (r.state = 'settled')
        or (t.status in ('failed', 'canceled')) <> (r.state = 'refunded')
        or t.credits_charged <> coalesce(r.settled_amount, 0)
        or t.credits_refunded <> case when r.state = 'refunded' then r.amount else 0 end)
      union all
      select t.id from (${ended} union select id from hold) scope join task t using (id) where t.admission <> 'reserved'`,
  },
  C7: {
    promise:
      'Each daily summary equals the sum of the ledger entries of its day, and each monthly summary the sum of its days.',
    // An open day has the entries up to the last entry when it was built, and a frozen day has all entries. The ledger does not
    // know the channel of a failure, so failures are compared per model.
    offenders: ({ days }) => `select concat_ws(' ', at, project_id, key_id, model_id, channel_id) as id from (
        with built as materialized (
          select *, s.day::timestamp at time zone 'UTC' as first_at, (s.day + 1)::timestamp at time zone 'UTC' as past_at
          from summary_day s where ${days}
        ), entered as materialized (
          select b.day, e.project_id, coalesce(e.key_id, '') as key_id, coalesce(e.model_id, '') as model_id,
            coalesce(e.channel_id, '') as channel_id, e.kind, -e.credits as credits,
            case when e.kind = 'settle' then coalesce(e.input_tokens, 0) else 0 end as input_tokens,
            case when e.kind = 'settle' then coalesce(e.output_tokens, 0) else 0 end as output_tokens,
            ${partList((column) => `e.${column}`)}
          from ledger_entry e join built b on b.day = (e.created_at at time zone 'UTC')::date
          where e.created_at >= (select min(first_at) from built) and e.created_at < (select max(past_at) from built)
            and e.kind in ('settle', 'refund', 'adjust') and (e.id <= b.through_entry_id or b.frozen_at is not null)
        ), taken as (
          select day, project_id, key_id, model_id, channel_id, count(*) filter (where kind = 'settle') as successes,
            sum(credits) as credits, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
            ${partList((column) => `sum(${column}) as ${column}`)}
          from entered where kind <> 'refund' group by 1, 2, 3, 4, 5
        ), failed as (
          select day, project_id, key_id, model_id, count(*) as failures from entered where kind = 'refund' group by 1, 2, 3, 4
        ), summed as (
          select d.* from daily_summary d join built using (day)
        ), summed_failures as (
          select day, project_id, key_id, model_id, sum(failures) as failures from summed group by 1, 2, 3, 4
        ), month_of_days as (
          select to_char(day, 'YYYY-MM') as month, project_id, model_id, channel_id, sum(successes) as successes,
            sum(failures) as failures, sum(credits_charged) as credits, sum(cost_micro_usd) as cost,
            sum(unknown_costs) as unknown_costs, sum(left_charged) as left_charged, sum(left_refunded) as left_refunded,
            sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
            ${partList((column) => `sum(${column}) as ${column}`)}
          from daily_summary group by 1, 2, 3, 4
        )
        select day::text as at, project_id, key_id, model_id, channel_id
        from summed full join taken using (day, project_id, key_id, model_id, channel_id)
        where coalesce(summed.successes, 0) <> coalesce(taken.successes, 0) or coalesce(summed.credits_charged, 0) <> coalesce(taken.credits, 0)
           or ${tokenColumns.map((column) => `coalesce(summed.${column}, 0) <> coalesce(taken.${column}, 0)`).join(' or ')}
        union
        select day::text, project_id, key_id, model_id, null
        from summed_failures full join failed using (day, project_id, key_id, model_id)
        where coalesce(summed_failures.failures, 0) <> coalesce(failed.failures, 0)
        union
        select month, project_id, null, model_id, channel_id
        from monthly_summary m full join month_of_days d using (month, project_id, model_id, channel_id)
        where (m.successes, m.failures, m.credits_charged, m.cost_micro_usd, m.input_tokens, m.output_tokens,
               ${partList((column) => `m.${column}`)}, m.unknown_costs, m.left_charged, m.left_refunded)
          is distinct from (d.successes, d.failures, d.credits, d.cost, d.input_tokens, d.output_tokens, ${partList((column) => `d.${column}`)},
                d.unknown_costs, d.left_charged, d.left_refunded)
        union
        select month, project_id, null, model_id, channel_id from monthly_summary m join summary_month built using (month)
        where m.requests <> m.successes + m.failures or m.cost_micro_usd < 0
           or m.margin_micro_usd <> m.credits_charged * built.credit_value_micro_usd - m.cost_micro_usd
        union
        -- Days are built in order, so a day before the last built one must have a summary.
        select missing.day::text, null, null, null, null from (
          select distinct (created_at at time zone 'UTC')::date as day from ledger_entry
          where id > $3 and kind in ('settle', 'refund', 'adjust')) missing
        where missing.day < (select max(day) from summary_day)
          and not exists (select from summary_day s where s.day = missing.day)
        union
        select distinct to_char(day, 'YYYY-MM'), null, null, null, null from summary_day s
        where not exists (select from summary_month m where m.month = to_char(s.day, 'YYYY-MM'))
      ) wrong`,
  },
  C11: {
    promise:
      'Each grant was spent, taken by a deduction or left its account, in all no more than its amount, and nothing is left of a grant that was ended.',
    offenders: () => `select project_id || ' ' || reference as id from credit_grant
        where absorbed + spent + expired > amount or (is_closed and absorbed + spent + expired <> amount)
      union all
      select g.project_id || ' ' || g.reference from credit_grant g
      left join ledger_entry e on e.project_id = g.project_id and e.reference = g.reference and e.kind = 'topup'
      where e.credits is distinct from g.amount
      union all
      -- Since a checkpoint, only what left since is known.
      select project_id || ' ' || reference from credit_grant g
      full join (select project_id, reference, -sum(credits) as expired from ledger_entry where id > $3 and kind = 'expiry' group by 1, 2) e
        using (project_id, reference)
      where coalesce(e.expired, 0) > coalesce(g.expired, 0) or ($2 = 0 and coalesce(e.expired, 0) < coalesce(g.expired, 0))
      union all
      select g.project_id || ' ' || g.reference from credit_grant g
      cross join lateral (select * from left_of_grants(g.project_id) x where x.id = g.id) x
      where not g.is_closed and (x.remaining < 0 or (x.has_ended and x.remaining > 0))
      union all
      select a.project_id from credit_account a
      left join (select project_id, sum(amount) as held from hold where grant_interval is null group by 1) h using (project_id)
      where a.grant_mark - a.balance < coalesce(h.held, 0)
      union all
      select i.project_id from grant_interval i
      left join (select project_id, grant_interval as n, sum(amount) as held from hold group by 1, 2) h using (project_id, n)
      where i.used < coalesce(h.held, 0)`,
  },
  C10: {
    promise:
      'Each chat is charged at least the fewest tokens that what its client received can have, and a refunded one delivered nothing.',
    // A charge is given back by an entry of its own, which leaves the settlement as it is.
    offenders: ({ entries }) => `select request_id as id from ledger_entry
      where ${entries} and kind in ('settle', 'refund') and delivered_tokens > case when credits < 0 then coalesce(output_tokens, 0) else 0 end`,
  },
};
