import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { redeliveryWorkflow, taskQueues } from '../../../src/domain/tasks/workflow-contract.ts';
import { mediaRoutes } from '../../support/api-client.ts';
import { commandLine } from '../../support/command-line.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';
import { rowsOf, run } from '../../db/books.ts';
import { awayFromMidnight } from '../../support/away-from-midnight.ts';

// A test moves rows back by three minutes, and entries of two days have sums of their own.
await awayFromMidnight({ secondsInto: 240, secondsLeft: 600 });

let gateway: Gateway;
let project: TestProject;
const { done, tollgate, refused } = commandLine(() => gateway.env);

beforeAll(async () => {
  gateway = await startGateway({ workers: 0, temporalClient: true });
  project = await gateway.project({ credits: 100_000 });
});
afterAll(() => gateway?.stop());

const picture = (prompt: string, more: object = {}) => ({ model: 'aurora-image-1', prompt, ...more });
const inboxAt = (name: string) => `${gateway.sandboxUrl}/_sandbox/inbox/${name}`;
const received = async (name: string): Promise<unknown[]> =>
  z.array(z.unknown()).parse(await (await fetch(`${inboxAt(name)}/received`)).json());
const accept = (prompt: string, more?: object) =>
  gateway.accept(project.apiKey, mediaRoutes.image, picture(prompt, more));
/** The worker has written this line to its log. */
const says = (worker: string, text: string) =>
  eventually(() => Promise.resolve(readFileSync(join(gateway.logFolder, `${worker}.log`), 'utf8').includes(text)), {
    what: `the line "${text}" of ${worker}`,
  });

describe('a worker with TOLLGATE_QUIET', () => {
  it('submits and calls back nothing until the release, which first shows what will happen', async () => {
    const { name } = await gateway.startWorker({ TOLLGATE_QUIET: '1' });
    await says(name, 'submits, polls and calls back nothing');
    const taskId = await accept('quiet at first', { callback_url: inboxAt('quiet') });
    const checked = await done('restore', 'check');
    expect(checked).toMatchObject({ books: { ok: true }, tasks: { in_flight: 1, polled: 0 }, files: { unknown: [] } });

    // The sweeps of the worker, which run each second, start nothing.
    await run(gateway.database, `update task set last_seen_at = last_seen_at - interval '1 hour'`);
    await run(gateway.database, `update restore_mark set marked_at = clock_timestamp()`);
    const shown = await done('restore', 'release', '--dry-run');
    expect(shown).toMatchObject({ released: false, tasks: { poll: [], submit: [taskId], unknown: [] } });
    expect(await gateway.hits('quiet at first')).toEqual([]);
    expect(await received('quiet')).toEqual([]);

    expect(await done('restore', 'release')).toMatchObject({ released: true, tasks: { submit: [taskId] } });
    expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({ status: 'succeeded' });
    await eventually(async () => (await received('quiet')).length === 1, { what: 'the callback' });
    expect(await gateway.hits('quiet at first', 'submit')).toHaveLength(1);
    await gateway.kill(name, 'SIGTERM');
  });

  it('works after the release, also when it starts again', async () => {
    const { name } = await gateway.startWorker({ TOLLGATE_QUIET: '1' });
    const taskId = await accept('loud again');
    expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({ status: 'succeeded' });
    expect(await refused('restore', 'release')).toContain('is not marked as restored');
    await gateway.kill(name, 'SIGTERM');
  });
});

describe('tollgate restore', () => {
  it('judges the books by the newest row: a sound backup balances however old it is', async () => {
    await accept('held for long');
    // What a backup of some time ago looks like: every row is older, and the hold and the task have expired since.
    const back = `interval '3 minutes'`;
    const expired = `clock_timestamp() - interval '30 seconds'`;
    await run(gateway.database, `update hold set created_at = created_at - ${back}, expires_at = ${expired}`);
    await run(gateway.database, `update task set created_at = created_at - ${back}, deadline_at = ${expired}`);
    await run(gateway.database, 'alter table ledger_entry disable trigger user');
    await run(
      gateway.database,
      `update ledger_entry set created_at = created_at - ${back}, began_at = began_at - ${back}`,
    );
    await run(gateway.database, 'alter table ledger_entry enable trigger user');
    await run(gateway.database, 'delete from job_run');
    expect((await gateway.verifyLedger()).invariants['C5']).toMatchObject({ breaches: 0 });
    const { restored_through: through } = await done('restore', 'check');
    expect(Date.parse(String(through))).toBeLessThan(Date.now() - 2 * 60_000);
  });

  it('finds a task past its deadline by the time that the gateway was away, which the release adds to it', async () => {
    const { name } = await gateway.startWorker();
    const shown = await done('restore', 'release');
    const [taskId = ''] = z.object({ submit: z.array(z.string()) }).parse(shown['tasks']).submit;
    expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({ status: 'succeeded' });
    await gateway.kill(name, 'SIGTERM');
  });

  it('lists the files that no row knows, and deletes them with --sweep', async () => {
    const stray = join(gateway.env['FILES_LOCAL_DIR'] ?? '', 'outputs', 'stray.png');
    await mkdir(join(stray, '..'), { recursive: true });
    await writeFile(stray, 'not known');
    const stored = await rowsOf<{ storageKey: string }>(gateway.database, 'select storage_key from file');
    expect(stored.length).toBeGreaterThan(0);
    expect(await done('restore', 'check')).toMatchObject({ files: { unknown: ['outputs/stray.png'], deleted: [] } });
    expect(existsSync(stray)).toBe(true);
    expect(await done('restore', 'check', '--sweep')).toMatchObject({ files: { deleted: ['outputs/stray.png'] } });
    expect(existsSync(stray)).toBe(false);
    for (const { storageKey } of stored) expect(existsSync(join(stray, '../..', storageKey))).toBe(true);
    await done('restore', 'release');
  });

  it('exits 1 if the books do not balance, and names the invariant', async () => {
    await run(gateway.database, 'update credit_account set reserved = reserved + 1');
    const { code, printed } = await tollgate('restore', 'check');
    await run(gateway.database, 'update credit_account set reserved = reserved - 1');
    expect({ code, ok: z.object({ ok: z.boolean() }).parse(printed['books']).ok }).toEqual({ code: 1, ok: false });
    await done('restore', 'release');
  });
});

describe('a Temporal that is ahead of the database', () => {
  it('has its closed workflow started again if the task is open', async () => {
    const taskId = await accept('its workflow has closed');
    // No worker runs. A workflow under the id of the task that has nothing to do stands for one that ended it.
    const { workflow } = gateway.temporal.client;
    const limits = { deliveryTurnsMax: 1, deliveryTryMs: 1_000 };
    const startOther = async (): Promise<boolean> => {
      const former = workflow.getHandle(taskId);
      await former.terminate().catch(() => undefined);
      const other = workflow.start(redeliveryWorkflow, {
        workflowId: taskId,
        taskQueue: taskQueues.tasks,
        args: [{ deliveryId: 'dlv_none', projectId: project.projectId, limits }],
      });
      // The API server may start its own in between.
      return other.then(
        () => true,
        (error: unknown) => {
          if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
          throw error;
        },
      );
    };
    await eventually(startOther, { what: 'the start of another workflow' });
    await run(gateway.database, 'update task set workflow_started_at = clock_timestamp() where id = $1', [taskId]);
    const { name } = await gateway.startWorker();
    expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({ status: 'succeeded' });
    await says(name, 'a workflow has closed although its task is open');
    await gateway.kill(name, 'SIGTERM');
  });

  it('has no attempt made again that a stopped worker had begun and the database has lost', async () => {
    const { name } = await gateway.startWorker();
    const taskId = await accept('begun and lost [[fail=never]]');
    await eventually(async () => (await gateway.hits('begun and lost', 'poll')).length > 0, { what: 'a poll' });
    await run(gateway.database, 'delete from attempt where request_id = $1', [taskId]);
    await gateway.kill(name, 'SIGTERM');
    const next = await gateway.startWorker();
    expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({
      status: 'failed',
      error: { code: 'upstream_outcome_unknown' },
      credits: { charged: 0, refunded: 4 },
    });
    expect(await gateway.hits('begun and lost', 'submit')).toHaveLength(1);
    await gateway.kill(next.name, 'SIGTERM');
  });

  it('ends the workflow of a task that the database does not have', async () => {
    const { workflow } = gateway.temporal.client;
    const workflowId = 'task_00000000000000000000000000';
    const input = { taskId: workflowId, projectId: project.projectId, type: 'image' };
    const handle = await workflow.start('mediaTask', { workflowId, taskQueue: taskQueues.tasks, args: [input] });
    const { name } = await gateway.startWorker();
    expect(await handle.result()).toBe('rejected');
    await gateway.kill(name, 'SIGTERM');
  });
});
