import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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

beforeAll(async () => {
  gateway = await startGateway({ env: { ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS: '3', SUBMIT_TIMEOUT_SECONDS: '4' } });
});
afterAll(() => gateway.stop());

const attemptsReach = (projectId: string, count: number, condition: string) =>
  eventually(20, async () => {
    const n = await countAttempts(gateway, projectId, condition);
    return n >= count || `${n} of ${count} attempts where ${condition}`;
  });

describe('a worker that is killed', () => {
  it('while it polls leaves its job to the next one, which goes on with the same job: one submit, one charge', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 100 });
    await insist(gateway, apiKey, { prompt: 'killed while polling [[latency=4000]]', key: 'polling' });
    await attemptsReach(projectId, 1, 'a.operation is not null');
    const operations = () =>
      gateway.database.query(
        {
          name: '',
          text: 'select a.id, a.operation from attempt a join task t on t.id = a.request_id where t.project_id = $1',
        },
        [projectId],
      );
    const before = await operations();

    await gateway.kill('worker-1');
    await gateway.startWorker();

    expect(await endsOf(gateway, projectId)).toMatchObject([{ status: 'succeeded', credits_charged: imageCredits }]);
    expect(await operations()).toEqual(before);
    expect(await expectOneSubmitPerAttempt(gateway, 'killed while polling')).toBe(1);
    await expectBooksInOrder(gateway, { projectId, credits: 100 });
  });

  it('while a submit is on its way never lets it be sent again: the outcome is unknown and the credits go back', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 100 });
    await gateway.kill('sandbox', 'SIGSTOP');
    try {
      await insist(gateway, apiKey, { prompt: 'killed while submitting', key: 'submitting' });
      await attemptsReach(projectId, 1, 'a.operation is null');
      await gateway.kill('worker-2');
    } finally {
      await gateway.kill('sandbox', 'SIGCONT');
    }
    await gateway.startWorker();

    const [task, ...others] = await endsOf(gateway, projectId);
    expect(others).toEqual([]);
    expect(task).toMatchObject({
      status: 'failed',
      error_code: 'upstream_outcome_unknown',
      credits_charged: 0,
      credits_refunded: imageCredits,
    });
    expect(await expectOneSubmitPerAttempt(gateway, 'killed while submitting')).toBeLessThanOrEqual(1);
    expect(
      await gateway.database.query({ name: '', text: 'select outcome_unknown from task where id = $1' }, [task?.id]),
    ).toEqual([{ outcome_unknown: true }]);
    await expectBooksInOrder(gateway, { projectId, credits: 100 });
  });
});
