import type { Database } from '../database.ts';
import { unixSeconds } from '../unix-seconds.ts';

/** That the credits of a project have fallen to a threshold, with what is still to be sent. */
export interface BalanceEvent {
  id: string;
  projectId: string;
  projectName: string;
  /** As the operator wrote it: credits, or a percent of the last top-up. */
  threshold: string;
  thresholdCredits: number;
  balance: number;
  reserved: number;
  /** Unix seconds. */
  createdAt: number;
  /** Null if the webhook has ended or there is none. */
  url: string | null;
  hookTries: number;
  /** Null if the mail has ended or there is none. */
  mailTo: string[] | null;
  mailTries: number;
}

/** Projects that are looked at in one run. The next run continues with those that still differ. */
const projectsMax = 10_000;

/** Notes every threshold that the credits of a project have fallen to or risen above since the last call. Returns how many events that were. */
export async function noteBalanceAlerts(database: Database): Promise<number> {
  const changed = await database.query<{ projectId: string }>(
    'list-crossed-thresholds',
    `select distinct p.id as project_id from project p join credit_account a on a.project_id = p.id
     cross join unnest(p.alert_at) as x (threshold)
     left join balance_alert b on b.project_id = p.id and b.threshold = x.threshold
     where coalesce(a.balance + a.reserved <= alert_credits(p.id, x.threshold), false) <> coalesce(b.is_below, false)
     limit $1`,
    [projectsMax],
  );
  let events = 0;
  for (const { projectId } of changed) {
    events += await database.transaction('begin', async (_query, inside) => {
      await inside.query('lock-account', 'select lock_accounts(array[$1])', [projectId]);
      return inside.value<number>('note_balance_alerts', [projectId]);
    });
  }
  return events;
}

/** Claims events that are due, for `leaseSeconds`. A process that dies delays them by that time. */
export const claimBalanceEvents = (
  database: Database,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
): Promise<BalanceEvent[]> =>
  database.query<BalanceEvent>(
    'claim-balance-events',
    `with due as (
       select id from balance_event where next_try_at <= clock_timestamp() order by next_try_at limit $1 for no key update skip locked
     )
     update balance_event e set next_try_at = clock_timestamp() + make_interval(secs => $2)
     from due, project p where e.id = due.id and p.id = e.project_id
     returning e.id, e.project_id, p.name as project_name, e.threshold, e.threshold_credits, e.balance, e.reserved,
       ${unixSeconds('e.created_at')} as created_at, case when e.hook_state = 'pending' then e.url end as url, e.hook_tries,
       case when e.mail_state = 'pending' then e.mail_to end as mail_to, e.mail_tries`,
    [limit, leaseSeconds],
  );

/** How a try has ended: null if there was none. `delaySeconds` is null when nothing is left to be tried. */
export interface BalanceTry {
  id: string;
  hook: { state: string; status: number | null } | null;
  mail: { state: string } | null;
  delaySeconds: number | null;
}

export async function endBalanceTry(database: Database, { id, hook, mail, delaySeconds }: BalanceTry): Promise<void> {
  await database.query(
    'end-balance-try',
    `update balance_event set
       hook_state = coalesce($2, hook_state), hook_status = coalesce($3::int, hook_status), hook_tries = hook_tries + case when $2 is null then 0 else 1 end,
       mail_state = coalesce($4, mail_state), mail_tries = mail_tries + case when $4 is null then 0 else 1 end,
       next_try_at = clock_timestamp() + make_interval(secs => $5)
     where id = $1`,
    [id, hook?.state ?? null, hook?.status ?? null, mail?.state ?? null, delaySeconds],
  );
}

/** Deletes events whose sending has ended, `days` after they happened. */
export async function purgeBalanceEvents(database: Database, days: number): Promise<void> {
  await database.query(
    'purge-balance-events',
    `delete from balance_event where next_try_at is null and created_at < clock_timestamp() - make_interval(days => $1)`,
    [days],
  );
}
