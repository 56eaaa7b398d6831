import { verifyLedger } from '../../db/ledger/verify-ledger.ts';
import { countRestoredWork } from '../../db/restore/restored-work.ts';
import { findRestoreMark, markRestored } from '../../db/restore/restore-marks.ts';
import { planRelease } from '../../services/restore/release-plan.ts';
import { releaseRestore } from '../../services/restore/release-restore.ts';
import { deleteUnknownFiles, listUnknownFiles } from '../../services/restore/unknown-files.ts';
import { OperatorError } from '../../services/operator-error.ts';
import { RestoreCheckSchema, RestoreReleaseSchema } from '../schemas/restore.ts';
import { action, flag, group } from '../define-action.ts';
import { table } from '../plain-text.ts';

/** `tollgate restore …`: what follows the restore of the database from a backup. */
export const restoreActions = group('after a restore of the database', () => ({ check, release }));

/** How many unknown files the text names. `--json` has all. */
const namedMax = 20;

const check = action({
  summary: 'mark the database as restored, so that workers are quiet, and check books, tasks, callbacks and files',
  input: { sweep: flag().describe('delete the files that no row knows') },
  route: { local: 'belongs to a restore on the machine of the database' },
  answer: RestoreCheckSchema,
  needs: 'worker',
  async run(deps, { sweep }) {
    const mark = await markRestored(deps.db);
    const books = await verifyLedger(deps.db, 2 * deps.config.sweeps.intervalSeconds);
    const work = await countRestoredWork(deps.db);
    const unknown = await listUnknownFiles(deps);
    const deleted = sweep ? await deleteUnknownFiles(deps, unknown) : [];
    const breached = Object.entries(books.invariants).filter(([, { breaches }]) => breaches > 0);
    const rows = [
      { part: 'books', state: books.ok ? 'balance' : `do NOT balance: ${breached.map(([name]) => name).join(', ')}` },
      {
        part: 'tasks in flight',
        state: `${work.tasks}, of which ${work.polled} have a provider job, or a submit that was under way`,
      },
      { part: 'callbacks pending', state: String(work.callbacks) },
      { part: 'chats held', state: `${work.chats}: they are refunded when their holds expire` },
      { part: 'files without a row', state: `${unknown.length}, of which ${deleted.length} were deleted` },
    ];
    const more = unknown.length > namedMax ? [`… and ${unknown.length - namedMax} more (--json has all)`] : [];
    const text = [
      `The newest row is of ${mark.restoredThrough.toISOString()}. Workers submit, poll and call back nothing until \`tollgate restore release\`.`,
      table(rows),
      ...(unknown.length > 0 ? [[...unknown.slice(0, namedMax), ...more].map((key) => `  ${key}`).join('\n')] : []),
    ];
    return {
      document: {
        restored_through: mark.restoredThrough.toISOString(),
        quiet_since: mark.markedAt.toISOString(),
        books,
        tasks: { in_flight: work.tasks, polled: work.polled },
        callbacks: { pending: work.callbacks },
        chats: { held: work.chats },
        files: { unknown, deleted },
      },
      text: text.join('\n\n'),
      refused: !books.ok,
    };
  },
});

const release = action({
  summary: 'show what becomes of the restored tasks and callbacks, then let the workers work',
  input: {
    dryRun: flag().describe('only show it'),
    resubmit: flag().describe(
      'submit tasks that may have been submitted after the restore point, if Temporal is empty',
    ),
  },
  route: { local: 'belongs to a restore on the machine of the database' },
  answer: RestoreReleaseSchema,
  needs: 'worker',
  async run(deps, { dryRun, resubmit }) {
    const mark = await findRestoreMark(deps.db);
    if (!mark) throw new OperatorError('The database is not marked as restored, so no worker is quiet.');
    const plan = await planRelease(deps, mark, resubmit);
    const { callbacks } = await countRestoredWork(deps.db);
    if (!dryRun) await releaseRestore(deps, mark, plan);
    const rows = [
      { what: 'tasks whose provider job is polled on', count: plan.poll.length },
      { what: 'tasks that are submitted', count: plan.submit.length },
      { what: 'tasks that may have been submitted: unknown outcome, refunded', count: plan.unknown.length },
      { what: 'callbacks that are sent, each under the webhook-id that it had', count: callbacks },
    ];
    const history = plan.temporal === 'known' ? 'Temporal knows the workflows.' : 'Temporal is empty.';
    const end = dryRun ? 'Nothing was changed: this was a dry run.' : 'Released: the workers work within a second.';
    const ids = (tasks: readonly { taskId: string }[]) => tasks.map(({ taskId }) => taskId);
    return {
      document: {
        restored_through: mark.restoredThrough.toISOString(),
        released: !dryRun,
        temporal: plan.temporal,
        tasks: { poll: ids(plan.poll), submit: ids(plan.submit), unknown: ids(plan.unknown) },
        callbacks: { pending: callbacks },
      },
      text: [`Restored through ${mark.restoredThrough.toISOString()}. ${history}`, table(rows), end].join('\n\n'),
    };
  },
});
