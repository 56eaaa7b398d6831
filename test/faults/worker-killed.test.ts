import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../src/domain/json.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import {
  countAttempts,
  endsOf,
  eventually,
  expectBooksInOrder,
  expectOneSubmitPerAttempt,
  imageCredits,
  insist,
} from './crowd.ts';

let gateway: Gateway;
/** The projects whose job was being polled, and whose submit was in flight, when the worker was killed. */
let polling: { projectId: string };
let submitting: { projectId: string };
let providerRefsBefore: unknown[];

beforeAll(async () => {
  gateway = await startGateway({ env: { ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS: '3' } });
  const accepted = async (prompt: string, key: string): Promise<{ projectId: string }> => {
    const { projectId, apiKey } = await gateway.project({ credits: 100 });
    await insist(gateway, apiKey, { prompt, key });
    return { projectId };
  };
  polling = await accepted('killed while polling [[latency=4000]]', 'polling');
  await attemptsReach(polling, 1, 'a.operation is not null');
  providerRefsBefore = await providerRefsOf(polling);
  await gateway.kill('sandbox', 'SIGSTOP');
  try {
    submitting = await accepted('killed while submitting', 'submitting');
    await attemptsReach(submitting, 1, 'a.operation is null');
    await gateway.kill('worker-1');
  } finally {
    await gateway.kill('sandbox', 'SIGCONT');
  }
  await gateway.startWorker();
});
afterAll(() => gateway.stop());

const attemptsReach = ({ projectId }: { projectId: string }, count: number, condition: string) =>
  eventually(60, async () => {
    const n = await countAttempts(gateway, projectId, condition);
    return n >= count || `${n} of ${count} attempts where ${condition}`;
  });

const providerRefsOf = ({ projectId }: { projectId: string }) =>
  gateway.database.query(
    '',
    'select a.id, a.operation from attempt a join task t on t.id = a.request_id where t.project_id = $1',
    [projectId],
  );

describe('a worker that is killed', () => {
  it('during a poll leaves its job to the next worker, which continues the same job with one submit and one charge', async () => {
    const { projectId } = polling;
    expect(await endsOf(gateway, projectId)).toMatchObject([{ status: 'succeeded', creditsCharged: imageCredits }]);
    expect(providerRefsBefore).toHaveLength(1);
    expect(await providerRefsOf(polling)).toEqual(providerRefsBefore);
    expect(await expectOneSubmitPerAttempt(gateway, 'killed while polling')).toBe(1);
    await expectBooksInOrder(gateway, { projectId, credits: 100 });
  });

  it('during a submit never causes a second submit, and the task ends with an unknown outcome and a refund', async () => {
    const { projectId } = submitting;
    const [task, ...others] = await endsOf(gateway, projectId);
    expect(others).toEqual([]);
    expect(task).toMatchObject({
      status: 'failed',
      errorCode: 'upstream_outcome_unknown',
      creditsCharged: 0,
      creditsRefunded: imageCredits,
    });
    expect(await expectOneSubmitPerAttempt(gateway, 'killed while submitting')).toBeLessThanOrEqual(1);
    expect(await gateway.database.query('', 'select outcome_unknown from task where id = $1', [task?.id])).toEqual([
      { outcomeUnknown: true },
    ]);
    await expectBooksInOrder(gateway, { projectId, credits: 100 });
  });
});

describe('creates while no worker runs', () => {
  it('get 503 overloaded once the oldest task has waited for as long as the new one may take, until a worker runs', async () => {
    // A slow machine asks many times.
    const credits = 10_000;
    const { projectId, apiKey } = await gateway.project({ credits });
    const ask = (more: JsonObject = {}) =>
      gateway.create(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: 'no worker runs', ...more });
    const askInAHurry = () => ask({ deadline_seconds: 60 });
    await gateway.kill('worker-2', 'SIGSTOP');
    try {
      const waiting = await ask();
      expect(waiting.status).toBe(202);
      const late = await gateway.database.query(
        '',
        `update task set created_at = created_at - interval '61 s'
         where id = $1 and workflow_started_at is null returning id`,
        [waiting.taskId],
      );
      expect(late).toHaveLength(1);
      await eventually(60, async () => {
        const { status, headers, body } = await askInAHurry();
        if (status !== 503) return `still ${status}`;
        expect(body).toMatchObject({ error: { code: 'overloaded' } });
        expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
        return true;
      });
      // A task that may take longer is still started in time.
      expect((await ask()).status).toBe(202);
    } finally {
      await gateway.kill('worker-2', 'SIGCONT');
    }
    const ends = await endsOf(gateway, projectId);
    expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(['succeeded']));
    await eventually(60, async () => (await askInAHurry()).status === 202 || 'still overloaded');
    await endsOf(gateway, projectId);
    await expectBooksInOrder(gateway, { projectId, credits });
  });
});
