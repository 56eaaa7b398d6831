import type { Database } from '../database.ts';
import { backupColumns } from '../operators/backups.ts';

/** What the installation has in hand. Ages are seconds, 0 if there is nothing. */
export interface WorkInHand {
  chatHolds: number;
  chatCreditsHeld: number;
  mediaHolds: number;
  mediaCreditsHeld: number;
  /** Since the oldest hold of a chat expired without an end. */
  expiredChatAge: number;
  /** Since the oldest task without a verdict was created. */
  undecidedTaskAge: number;
  /** Since the oldest admitted task without a workflow was created. */
  unstartedTaskAge: number;
  /** Since the deadline of the oldest task that has not ended. */
  staleTaskAge: number;
  parkedJobs: number;
  /** Since the oldest poll of a parked job was due. */
  duePollAge: number;
  pendingDeliveries: number;
  /** Since the oldest try of a callback was due. */
  dueDeliveryAge: number;
  /** Since the newest backup that was recorded; null if none was. */
  backupAgeSeconds: number | null;
  /** Since the last WAL file was archived, while PostgreSQL fails to archive the next one; else 0. */
  walNotArchivedSeconds: number;
  /** The database is marked as restored, so that workers submit, poll and call back nothing. */
  isRestored: boolean;
}

const ageOf = (time: string): string => `coalesce(greatest(0, extract(epoch from now() - ${time})), 0)::float8`;

/** Reads holds, parked jobs and pending deliveries, of which there are as many as run, and the first entry of each index of waiting tasks. */
export async function readWorkInHand(database: Database): Promise<WorkInHand> {
  const [row] = await database.query<WorkInHand>(
    'work-in-hand',
    `select h.*, p.*, d.*, ${backupColumns},
       ${ageOf("(select min(created_at) from task where admission = 'open')")} as undecided_task_age,
       ${ageOf(
         `(select min(created_at) from task
           where admission = 'reserved' and workflow_started_at is null and completed_at is null)`,
       )} as unstarted_task_age,
       ${ageOf(
         "(select min(deadline_at) from task where completed_at is null and admission <> 'rejected')",
       )} as stale_task_age,
       exists (select from restore_mark where released_at is null) as is_restored
     from
       (select count(*) filter (where kind = 'chat') as chat_holds, count(*) filter (where kind = 'media') as media_holds,
          coalesce(sum(amount) filter (where kind = 'chat'), 0)::bigint as chat_credits_held,
          coalesce(sum(amount) filter (where kind = 'media'), 0)::bigint as media_credits_held,
          ${ageOf("min(expires_at) filter (where kind = 'chat')")} as expired_chat_age
        from hold) h,
       (select count(*) as parked_jobs, ${ageOf('min(next_poll_at)')} as due_poll_age
        from attempt where next_poll_at is not null) p,
       (select count(*) as pending_deliveries, ${ageOf('min(next_attempt_at)')} as due_delivery_age
        from delivery where ended_at is null) d`,
  );
  if (!row) throw new Error('a statement without a condition returned no row');
  return row;
}
