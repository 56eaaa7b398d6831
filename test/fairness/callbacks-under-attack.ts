import { testConfig } from '../support/test-config.ts';
import { buildDeps } from '../../src/main/build-deps.ts';
import { newTask, taskEnd } from '../db/books.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import type { Gateway, TestProject } from '../support/gateway.ts';
import { answer, startReceiver, takeIt, type Receiver } from '../services/callbacks/receiver.ts';

/** One callback: the milliseconds from the end of its task to its first try, and from that to its second try. */
export interface CallbackTimes {
  first: number;
  retry: number;
}

/** A wait of one second between the tries, and a receiver that hangs holds a call for longer than a test takes. */
export const slowCallbacks = {
  CALLBACK_TIMEOUT_SECONDS: '600',
  CALLBACK_LEASE_SECONDS: '660',
  CALLBACK_LADDER_SECONDS: '1,1,1,1,1,1,1',
};

/**
 * The times of `samples` callbacks of one project, before and while another project has `attackers` callbacks for a receiver that
 * never answers. `held` is the number of calls that this receiver got.
 */
export async function callbacksUnderAttack(
  gateway: Gateway,
  { attackers, samples }: { attackers: number; samples: number },
): Promise<{ calm: CallbackTimes[]; attacked: CallbackTimes[]; held: number }> {
  const [hanging, quick] = await Promise.all([startReceiver(), startReceiver()]);
  try {
    const [attacker, victim] = [
      await gateway.project({ credits: 100_000 }),
      await gateway.project({ credits: 10_000 }),
    ];
    const measure = async (name: string): Promise<CallbackTimes[]> => {
      const times: CallbackTimes[] = [];
      await inLanes(sampleLanes, samples, async (n) => {
        times.push(await timeOne(gateway, victim, quick, `${name}-${n}`));
      });
      return times;
    };
    const calm = await measure('calm');
    const url = hanging.at('never', () => undefined);
    await endTasks(gateway, attacker, attackers, url);
    await eventually(() => areAttempted(gateway, attacker), {
      secondsMax: 60 + attackers,
      what: 'callbacks to the receiver that hangs',
    });
    // The others are claimed again and again, a second at a time, while they wait for a slot.
    await eventually(() => Promise.resolve(hanging.calls('never').length >= Math.min(attackers, callsOfOneHostMax)), {
      what: 'every slot of the receiver that hangs',
    });
    return { calm, attacked: await measure('attacked'), held: hanging.calls('never').length };
  } finally {
    await Promise.all([hanging.close(), quick.close()]);
  }
}

/** What one worker sends to one receiver at the same time. */
const callsOfOneHostMax = 16;
const sampleLanes = 4;
const startLanes = 16;

/**
 * Ends tasks with a callback and starts their workflows, which have only the callback left to do: a task that runs costs the machine
 * ten times as much as its callback.
 */
async function endTasks(gateway: Gateway, owner: TestProject, count: number, callbackUrl: string): Promise<void> {
  const { deps, close } = await buildDeps(testConfig({ ...gateway.env, LOG_LEVEL: 'silent' }), 'attack');
  try {
    const tasks = Array.from({ length: count }, () => newTask(owner, 1, { callbackUrl }));
    await Promise.all(tasks.map((task) => deps.ledger.createTask(task)));
    await Promise.all(tasks.map(({ taskId }) => deps.ledger.reserveTask(taskId, true)));
    await Promise.all(tasks.map(({ taskId }) => deps.ledger.finishTask(taskEnd(taskId, 'failed'))));
    await inLanes(startLanes, count, async (n) => {
      const task = tasks[n];
      const started = task && (await deps.workflows.start(task, 60_000));
      if (started !== 'started') throw new Error(`the workflow of a callback was not started: ${started}`);
    });
  } finally {
    await close();
  }
}

/** Whether each callback is being sent or was postponed, which moves its next try into the future. */
const areAttempted = async (gateway: Gateway, { projectId }: TestProject): Promise<boolean> =>
  !(await gateway.database.returnsRow(
    '',
    `select 1 from delivery where project_id = $1 and lease_until is null and next_attempt_at < created_at + interval '0.5 s' limit 1`,
    [projectId],
  ));

async function inLanes(lanes: number, times: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < times) await work(next++);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

async function timeOne(gateway: Gateway, owner: TestProject, receiver: Receiver, name: string): Promise<CallbackTimes> {
  const at: number[] = [];
  const url = receiver.at(name, (response, n, request) => {
    at.push(performance.now());
    (n === 1 ? answer(500) : takeIt)(response, n, request);
  });
  await gateway.poll(owner.apiKey, await create(gateway, owner, url));
  const endedAt = performance.now();
  await eventually(() => Promise.resolve(at.length === 2), { secondsMax: 60 });
  const [first = 0, second = 0] = at;
  return { first: first - endedAt, retry: second - first };
}

const create = (gateway: Gateway, { apiKey }: TestProject, callback_url: string): Promise<string> =>
  gateway.accept(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: 'a red fox', callback_url });
