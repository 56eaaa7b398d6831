import type { Database } from './database.ts';

export interface InvariantResult {
  /** What holds when there is no breach. */
  promise: string;
  breaches: number;
  /** Ids of up to ten offenders. */
  examples: string[];
}

export interface LedgerReport {
  ok: boolean;
  invariants: Record<string, InvariantResult>;
}

/** Each query lists the offenders; none is the proof. `graceSeconds` is $1: one sweep beyond an expiry. */
const invariants: Record<string, { promise: string; offenders: string }> = {
  C1: {
    promise: 'Per project, balance and reserved each equal the sum of their entries.',
    offenders: `select a.project_id as id from credit_account a
      left join (select project_id, sum(d_balance) as b, sum(d_reserved) as r from ledger_entry group by 1) e using (project_id)
      where a.balance <> coalesce(e.b, 0) or a.reserved <> coalesce(e.r, 0) or $1::float8 < 0`,
  },
  C2: {
    promise:
      'Reserved equals the held reservations, per account and per key; spent equals what was settled, less what was given back.',
    offenders: `select a.project_id as id from credit_account a
      left join (select project_id, sum(amount) as held, count(*) filter (where kind = 'media') as tasks
                 from reservation where state = 'held' group by 1) r using (project_id)
      where a.reserved <> coalesce(r.held, 0) or a.in_flight <> coalesce(r.tasks, 0) or $1::float8 < 0
      union all
      select k.id from api_key k
      left join (select key_id, sum(amount) filter (where state = 'held') as held, sum(settled_amount) as settled,
                        count(*) filter (where kind = 'media' and state = 'held') as tasks
                 from reservation group by 1) r on r.key_id = k.id
      left join (select key_id, sum(d_balance) as adjusted from ledger_entry where kind = 'adjust' and key_id is not null group by 1) j
        on j.key_id = k.id
      where k.reserved <> coalesce(r.held, 0) or k.spent <> coalesce(r.settled, 0) - coalesce(j.adjusted, 0)
         or k.in_flight <> coalesce(r.tasks, 0)`,
  },
  C3: {
    promise: 'Nothing is negative, at any entry.',
    offenders: `select project_id as id from credit_account where balance < 0 or reserved < 0 or $1::float8 < 0
      union all select id from api_key where spent < 0 or reserved < 0
      union all select distinct project_id from (
        select project_id, sum(d_balance) over by_time as b, sum(d_reserved) over by_time as r from ledger_entry
        window by_time as (partition by project_id order by id)) running where b < 0 or r < 0`,
  },
  C4: {
    promise: 'Each reservation has one hold, and once over exactly one settle or refund of its own amount.',
    offenders: `select r.id from reservation r
      left join (select reservation_id,
                   count(*) filter (where kind = 'hold') as holds, count(*) filter (where kind = 'settle') as settles,
                   count(*) filter (where kind = 'refund') as refunds,
                   sum(d_reserved) filter (where kind in ('hold', 'settle', 'refund')) as open,
                   -sum(d_balance) filter (where kind in ('hold', 'settle', 'refund')) as taken
                 from ledger_entry where reservation_id is not null group by 1) e on e.reservation_id = r.id
      where e.holds is distinct from 1
         or e.settles <> (r.state = 'settled')::int or e.refunds <> (r.state = 'refunded')::int
         or e.open <> case when r.state = 'held' then r.amount else 0 end
         or e.taken <> case r.state when 'held' then r.amount when 'settled' then r.settled_amount else 0 end
         or $1::float8 < 0`,
  },
  C5: {
    promise: 'Nothing stays held past its expiry and one sweep.',
    offenders: `select id from reservation where state = 'held' and expires_at < clock_timestamp() - make_interval(secs => $1)`,
  },
  C6: {
    promise: 'Of admitted tasks, succeeded if and only if settled, failed or canceled if and only if refunded.',
    offenders: `select t.id from task t left join reservation r on r.id = t.id
      where t.admission = 'reserved' and (r.id is null or $1::float8 < 0
        or (t.status = 'succeeded') <> (r.state = 'settled')
        or (t.status in ('failed', 'canceled')) <> (r.state = 'refunded')
        or t.credits_charged <> coalesce(r.settled_amount, 0)
        or t.credits_refunded <> case when r.state = 'refunded' then r.amount else 0 end)
      union all
      select t.id from task t join reservation r on r.id = t.id where t.admission <> 'reserved'`,
  },
};

/**
 * Proves the books by adding them up, in one REPEATABLE READ transaction. `graceSeconds` is how long after its expiry a
 * hold may still wait for the sweep.
 */
export async function verifyLedger(database: Database, graceSeconds: number): Promise<LedgerReport> {
  return database.transaction('begin isolation level repeatable read read only', async (query) => {
    await query({ name: 'verify-limits', text: `select set_config('statement_timeout', '300000', true)` });
    const report: LedgerReport = { ok: true, invariants: {} };
    for (const [name, { promise, offenders }] of Object.entries(invariants)) {
      const rows = await query<{ breaches: number; examples: string[] | null }>(
        {
          name: `verify-${name}`,
          text: `with offender as (${offenders})
                 select count(*)::float8 as breaches, (array_agg(id))[1:10] as examples from offender`,
        },
        [graceSeconds],
      );
      const breaches = rows[0]?.breaches ?? 0;
      report.invariants[name] = { promise, breaches, examples: rows[0]?.examples ?? [] };
      if (breaches > 0) report.ok = false;
    }
    return report;
  });
}
