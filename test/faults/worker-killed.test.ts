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
/** Whose job was being polled, and whose submit was on its way, when their worker died. */
let polling: { projectId: string };
let submitting: { projectId: string };
let operationsBefore: unknown[];

beforeAll(async () => {
  gateway = await startGateway({ env: { ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS: '3', SUBMIT_TIMEOUT_SECONDS: '4' } });
  const accepted = async (prompt: string, key: string): Promise<{ projectId: string }> => {
    const { projectId, apiKey } = await gateway.project({ credits: 100 });
    await insist(gateway, apiKey, { prompt, key });
    return { projectId };
  };
  polling = await accepted('killed while polling [[latency=4000]]', 'polling');
  await attemptsReach(polling, 1, 'a.operation is not null');
  operationsBefore = await operationsOf(polling);
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
  eventually(20, async () => {
    const n = await countAttempts(gateway, projectId, condition);
    return n >= count || `${n} of ${count} attempts where ${condition}`;
  });

const operationsOf = ({ projectId }: { projectId: string }) =>
  gateway.database.query(
    {
      name: '',
      text: 'select a.id, a.operation from attempt a join task t on t.id = a.request_id where t.project_id = $1',
    },
    [projectId],
  );

describe('a worker that is killed', () => {
  it('while it polls leaves its job to the next one, which goes on with the same job: one submit, one charge', async () => {
    const { projectId } = polling;
    expect(await endsOf(gateway, projectId)).toMatchObject([{ status: 'succeeded', credits_charged: imageCredits }]);
    expect(operationsBefore).toHaveLength(1);
    expect(await operationsOf(polling)).toEqual(operationsBefore);
    expect(await expectOneSubmitPerAttempt(gateway, 'killed while polling')).toBe(1);
    await expectBooksInOrder(gateway, { projectId, credits: 100 });
  });

  it('while a submit is on its way never lets it be sent again: the outcome is unknown and the credits go back', async () => {
    const { projectId } = submitting;
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
