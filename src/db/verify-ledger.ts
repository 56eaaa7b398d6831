import { lastCheckpoint, type Checkpoint } from './checkpoints.ts';
import type { Database } from './database.ts';
import { longTransaction } from './long-transaction.ts';

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
          // `given` declares the types of the parameters, because not every invariant uses all of them.
          `with given as (select $1::float8, $2::bigint, $3::bigint, $4::timestamptz),
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
interface Scope {
  /** The spent credits of each key, as (key_id, spent). */
  spent: string;
  /** Ids of the reservations to check. */
  reservations: string;
  /** Ids of the tasks to check. */
  tasks: string;
  /** The first month whose summary is checked. */
  firstMonth: string;
}

const allOfTime: Scope = {
  spent: `select key_id, sum(spent) as spent from (
            select key_id, settled_amount as spent from reservation where state = 'settled'
            union all
            select key_id, -d_balance from ledger_entry where kind = 'adjust' and key_id is not null) takings group by 1`,
  reservations: 'select id from reservation',
  tasks: 'select id from task',
  firstMonth: `''`,
};

/** Everything that is held now, or that began, ended or got an entry since the checkpoint. Each part of the query has its index. */
const sinceCheckpoint: Scope = {
  spent: `select key_id, sum(spent) as spent from (
            select key_id, spent from ledger_checkpoint_key where checkpoint_id = $2
            union all
            select key_id, -(d_balance + d_reserved) from ledger_entry
            where id > $3 and kind in ('settle', 'adjust') and key_id is not null) takings group by 1`,
  reservations: `select id from reservation where ended_at is null
            union select id from reservation where created_at >= $4 or ended_at >= $4
            union select reservation_id from ledger_entry where id > $3 and reservation_id is not null`,
  tasks: `select id from task where completed_at is null and admission <> 'rejected'
            union select id from task where completed_at >= $4`,
  firstMonth: `to_char($4 at time zone 'UTC', 'YYYY-MM')`,
};

/** Each query lists the rows that break the invariant. */
const invariants: Record<string, { promise: string; offenders: (scope: Scope) => string }> = {
  C1: {
    promise: 'Per project, balance and reserved each equal the sum of their entries.',
    offenders: () => `select a.project_id as id from credit_account a
      left join (select project_id, sum(b) as b, sum(r) as r from (
                   select project_id, d_balance as b, d_reserved as r from ledger_checkpoint_account where checkpoint_id = $2
                   union all
                   select project_id, d_balance, d_reserved from ledger_entry where id > $3) sums group by 1) e using (project_id)
      where a.balance <> coalesce(e.b, 0) or a.reserved <> coalesce(e.r, 0)`,
  },
  C2: {
    promise:
      'Per account and key, reserved equals the held reservations. Per key, spent equals the settled credits less the adjustments.',
    offenders: ({ spent }) => `select a.project_id as id from credit_account a
      left join (select project_id, sum(amount) as held, count(*) filter (where kind = 'media') as tasks
                 from reservation where ended_at is null group by 1) r using (project_id)
      where a.reserved <> coalesce(r.held, 0) or a.in_flight <> coalesce(r.tasks, 0)
      union all
      select k.id from api_key k
      left join (select key_id, sum(amount) as held, count(*) as begun
                 from reservation where ended_at is null group by 1) r on r.key_id = k.id
      left join (${spent}) s on s.key_id = k.id
      where k.reserved <> coalesce(r.held, 0) or k.spent <> coalesce(s.spent, 0) or k.in_flight <> coalesce(r.begun, 0)`,
  },
  C3: {
    promise: 'No balance and no reserved sum is negative, now or after any entry.',
    offenders: () => `select project_id as id from credit_account where balance < 0 or reserved < 0
      union all select id from api_key where spent < 0 or reserved < 0
      union all select distinct project_id from (
        select project_id, sum(b) over by_time as b, sum(r) over by_time as r from (
          select project_id, 0::bigint as id, d_balance as b, d_reserved as r from ledger_checkpoint_account where checkpoint_id = $2
          union all
          select project_id, id, d_balance, d_reserved from ledger_entry where id > $3) entries
        window by_time as (partition by project_id order by id)) running where b < 0 or r < 0`,
  },
  C4: {
    promise:
      'Each reservation has one hold entry and, once it has ended, exactly one settle or refund entry of its amount.',
    offenders: ({ reservations }) => `select r.id from (${reservations}) scope join reservation r using (id)
      left join (select reservation_id,
                   count(*) filter (where kind = 'hold') as holds, count(*) filter (where kind = 'settle') as settles,
                   count(*) filter (where kind = 'refund') as refunds,
                   sum(d_reserved) filter (where kind in ('hold', 'settle', 'refund')) as open,
                   -sum(d_balance) filter (where kind in ('hold', 'settle', 'refund')) as taken
                 from ledger_entry where reservation_id in (${reservations}) group by 1) e on e.reservation_id = r.id
      where e.holds is distinct from 1
         or e.settles <> (r.state = 'settled')::int or e.refunds <> (r.state = 'refunded')::int
         or e.open <> case when r.state = 'held' then r.amount else 0 end
         or e.taken <> case r.state when 'held' then r.amount when 'settled' then r.settled_amount else 0 end`,
  },
  C5: {
    promise: 'No hold outlives its expiry by more than one sweep.',
    offenders: () =>
      `select id from reservation where ended_at is null and expires_at < clock_timestamp() - make_interval(secs => $1)`,
  },
  C6: {
    promise:
      'An admitted task has succeeded if and only if it is settled, and has failed or is canceled if and only if it is refunded.',
    offenders: ({ tasks, reservations }) => `select t.id
      from (${tasks} union ${reservations}) scope join task t using (id) left join reservation r on r.id = t.id
      where t.admission = 'reserved' and (r.id is null
        or (t.status = 'succeeded') <> (r.state = 'settled')
        or (t.status in ('failed', 'canceled')) <> (r.state = 'refunded')
        or t.credits_charged <> coalesce(r.settled_amount, 0)
        or t.credits_refunded <> case when r.state = 'refunded' then r.amount else 0 end)
      union all
      select t.id from (${reservations}) scope join task t using (id) where t.admission <> 'reserved'`,
  },
  C7: {
    promise: 'Each monthly summary equals the sum of the ledger entries of its month.',
    // An open month has the entries up to the last entry when it was built, and a frozen month has all entries. The ledger does not
    // know the channel of a failure, so failures are compared per model.
    offenders: ({ firstMonth }) => `select concat_ws(' ', month, project_id, model_id, channel_id) as id from (
        with built as materialized (
          select *, (month || '-01')::timestamp at time zone 'UTC' as first_at,
                 ((month || '-01')::timestamp + interval '1 month') at time zone 'UTC' as past_at
          from summary_month where month >= ${firstMonth}
        ), entered as materialized (
          select b.month, e.project_id, coalesce(r.model_id, '') as model_id, coalesce(r.channel_id, '') as channel_id, e.kind,
            case when e.kind = 'refund' then 0 else -(e.d_balance + e.d_reserved) end as credits,
            case when e.kind = 'settle' then coalesce(r.input_tokens, 0) else 0 end as input_tokens,
            case when e.kind = 'settle' then coalesce(r.output_tokens, 0) else 0 end as output_tokens
          from built b
          join ledger_entry e on e.created_at >= b.first_at and e.created_at < b.past_at and e.kind in ('settle', 'refund', 'adjust')
            and (e.id <= b.through_entry_id or b.frozen_at is not null)
          left join reservation r on r.id = e.reservation_id
        ), taken as (
          select month, project_id, model_id, channel_id, count(*) filter (where kind = 'settle') as successes, sum(credits) as credits,
            sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens
          from entered where kind <> 'refund' group by 1, 2, 3, 4
        ), failed as (
          select month, project_id, model_id, count(*) as failures from entered where kind = 'refund' group by 1, 2, 3
        ), told as (
          select s.* from monthly_summary s join built using (month)
        ), told_failures as (
          select month, project_id, model_id, sum(failures) as failures from told group by 1, 2, 3
        )
        select month, project_id, model_id, channel_id from told full join taken using (month, project_id, model_id, channel_id)
        where coalesce(told.successes, 0) <> coalesce(taken.successes, 0) or coalesce(told.credits_charged, 0) <> coalesce(taken.credits, 0)
           or coalesce(told.input_tokens, 0) <> coalesce(taken.input_tokens, 0)
           or coalesce(told.output_tokens, 0) <> coalesce(taken.output_tokens, 0)
        union
        select month, project_id, model_id, null from told_failures full join failed using (month, project_id, model_id)
        where coalesce(told_failures.failures, 0) <> coalesce(failed.failures, 0)
        union
        select month, project_id, model_id, channel_id from told join built using (month)
        where told.requests <> told.successes + told.failures or told.cost_micro_usd < 0
           or told.margin_micro_usd <> told.credits_charged * built.credit_value_micro_usd - told.cost_micro_usd
        union
        -- Months are built in order, so a month before the last built one must have a summary.
        select missing.month, null, null, null from (
          select distinct to_char(created_at at time zone 'UTC', 'YYYY-MM') as month from ledger_entry
          where id > $3 and kind in ('settle', 'refund', 'adjust')) missing
        where missing.month < (select max(month) from summary_month)
          and not exists (select from summary_month s where s.month = missing.month)
      ) wrong`,
  },
};
