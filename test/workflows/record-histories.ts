import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { testConfig } from '../support/test-config.ts';
import { findPendingDelivery } from '../../src/db/callbacks/deliveries.ts';
import { buildDeps } from '../../src/main/build-deps.ts';
import type { JsonValue } from '../../src/domain/json.ts';
import {
  answer,
  quickCallbacks,
  startReceiver,
  takeIt,
  type Behaviour,
  type Receiver,
} from '../services/callbacks/receiver.ts';
import { newTask } from '../db/books.ts';
import { hasEnded, mediaRoutes, type Task } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';

export const historiesFolder = new URL('histories/', import.meta.url);

/**
 * Runs every path of the workflows, or the named ones, against a whole gateway and writes its history, without any data of this
 * machine.
 */
export async function recordHistories(only: readonly string[] = []): Promise<void> {
  const receiver = await startReceiver();
  const gateway = await startGateway({
    temporalClient: true,
    env: {
      ...quickCallbacks,
      CREATE_WAIT_MS: '1500',
      VIDEO_DEADLINE_SECONDS: '4',
      SWEEP_SILENT_SECONDS: '3',
      POLL_INLINE_SECONDS: '5',
    },
  });
  try {
    await gateway.database.query('one-family', `update channel set enabled = (adapter = 'fal')`);
    // The first workflow of a worker is slow, and after a slow create the API server skips the update.
    const project = await gateway.project({ credits: 1_000 });
    const scene: Scene = { gateway, receiver, project };
    await create(scene, 'a fox').then(({ taskId }) => gateway.poll(project.apiKey, taskId));
    await sleep(3_000);

    await mkdir(historiesFolder, { recursive: true });
    for (const [name, path] of Object.entries(paths)) {
      if (only.length > 0 && !only.includes(name)) continue;
      const history = await recordOne(scene, path);
      await writeFile(new URL(`${name}.json`, historiesFolder), `${JSON.stringify(history, null, 2)}\n`);
      process.stdout.write(`${name}\n`);
    }
  } finally {
    await gateway.stop();
    await receiver.close();
  }
}

interface Scene {
  gateway: Gateway;
  receiver: Receiver;
  project: TestProject;
}

/** Runs one path and returns the id of the workflow whose history is recorded. */
type Path = (scene: Scene) => Promise<string>;

const paths: Record<string, Path> = {
  happy: (scene) => ended(scene, 'a fox', 'succeeded'),
  'with-callback': (scene) => ended(scene, 'a fox', 'succeeded', takeIt),
  'failed-callback': (scene) => ended(scene, 'a fox', 'succeeded', answer(500)),
  failover: (scene) =>
    ended(scene, 'a fox [[fail=transient on=sandbox-a]] [[fail=transient on=sandbox-b]]', 'succeeded'),
  'every-channel-failed': (scene) => ended(scene, 'a fox [[fail=late_fail latency=50]]', 'failed'),
  refused: (scene) => ended(scene, 'a fox [[fail=refused]]', 'failed'),
  unknown: (scene) => ended(scene, 'a fox [[fail=reset]]', 'failed'),

  async 'rejected-402'({ gateway }) {
    const { projectId, keyId } = await gateway.project({ credits: 4 });
    const { deps, close } = await buildDeps(testConfig({ ...gateway.env, LOG_LEVEL: 'silent' }), 'recorder');
    try {
      // Two created tasks, and a balance for one.
      const [first, second] = [newTask({ projectId, keyId }, 4), newTask({ projectId, keyId }, 4)];
      for (const task of [first, second]) await deps.ledger.createTask(task);
      await deps.ledger.reserveTask(first.taskId, true);
      await deps.workflows.startAndReserve(
        { taskId: second.taskId, projectId, type: 'image', modelId: 'aurora-image-1', input: null },
        5_000,
      );
      await gateway.temporal.client.workflow
        .getHandle(first.taskId)
        .cancel()
        .catch(() => undefined);
      return second.taskId;
    } finally {
      await close();
    }
  },

  async stale(scene) {
    const { taskId } = await create(scene, 'a dancer [[fail=never]]', { video: true });
    await expectEnd(scene, taskId, 'failed');
    return taskId;
  },

  async canceled(scene) {
    const { taskId } = await submitted(scene, 'a fox [[fail=never]]');
    await scene.gateway.create(scene.project.apiKey, `/api/v1/tasks/${taskId}/cancel`, '');
    await expectEnd(scene, taskId, 'canceled');
    return taskId;
  },

  async 'canceled-by-operator'(scene) {
    const { taskId } = await submitted(scene, 'a fox [[fail=never]]', scene.receiver.at(randomUUID()));
    await scene.gateway.temporal.client.workflow.getHandle(taskId).cancel();
    await expectEnd(scene, taskId, 'canceled');
    return taskId;
  },

  parked: (scene) => ended(scene, 'a fox [[latency=8000]]', 'succeeded'),

  async 'canceled-while-parked'(scene) {
    const { taskId } = await submitted(scene, 'a fox [[fail=never]]');
    await eventually(() =>
      scene.gateway.database.returnsRow(
        '',
        'select 1 from attempt where request_id = $1 and next_poll_at is not null',
        [taskId],
      ),
    );
    await scene.gateway.temporal.client.workflow.getHandle(taskId).cancel();
    await expectEnd(scene, taskId, 'canceled');
    return taskId;
  },

  async resumed(scene) {
    const { taskId } = await submitted(scene, 'a fox [[latency=3000]]');
    await scene.gateway.temporal.client.workflow.getHandle(taskId).terminate();
    await expectEnd(scene, taskId, 'succeeded');
    return taskId;
  },

  /** Terminated after the task's end and before its callback was delivered, then started again. */
  async 'resumed-after-end'({ gateway, receiver, project }) {
    const name = randomUUID();
    const { taskId } = await create({ gateway, receiver, project }, 'a fox', {
      callbackUrl: receiver.at(name, (response, n) => void response.writeHead(n < 2 ? 500 : 204).end()),
    });
    await eventually(() => Promise.resolve(receiver.calls(name).length > 0));
    const handle = gateway.temporal.client.workflow.getHandle(taskId);
    await handle.terminate();
    // Due after the workflow's second start, and before the sweep counts the callback as overdue.
    await gateway.database.query(
      '',
      `update delivery set state = 'pending', ended_at = null, next_attempt_at = clock_timestamp() + interval '3 s', lease_until = null where task_id = $1`,
      [taskId],
    );
    if ((await findPendingDelivery(gateway.database, taskId)) === null) throw new Error('the callback is not pending');
    const { deps, close } = await buildDeps(testConfig({ ...gateway.env, LOG_LEVEL: 'silent' }), 'recorder');
    try {
      await deps.workflows.start(
        { taskId, projectId: project.projectId, type: 'image', modelId: 'aurora-image-1', input: null },
        5_000,
      );
    } finally {
      await close();
    }
    return taskId;
  },

  async 'waited-for-channel'(scene) {
    const { database } = scene.gateway;
    await allAvailable(scene);
    await database.query(
      'cool-all-down',
      `insert into channel_health (channel_id, model_id, unavailable_until, reason)
       select id, '*', clock_timestamp() + interval '4 s', 'rate_limit' from channel`,
    );
    // Until the worker's channel cache has expired.
    await sleep(2_500);
    return ended(scene, 'a fox', 'succeeded');
  },

  async 'busy-channels'(scene) {
    await allAvailable(scene);
    return ended(scene, busyOnce, 'succeeded');
  },

  async 'canceled-while-channels-are-busy'(scene) {
    await allAvailable(scene);
    const { taskId } = await create(scene, 'a fox [[fail=rate_limit]]');
    await eventually(async () => {
      const [row] = await scene.gateway.database.query<{ refused: number }>(
        '',
        'select count(*)::int as refused from attempt where request_id = $1 and retry_at is not null',
        [taskId],
      );
      return row?.refused === 3;
    });
    // Until the workflow waits on its timer.
    await sleep(1_000);
    await scene.gateway.create(scene.project.apiKey, `/api/v1/tasks/${taskId}/cancel`, '');
    await expectEnd(scene, taskId, 'canceled');
    await allAvailable(scene);
    return taskId;
  },

  async 'delivered-again'(scene) {
    const { gateway, project } = scene;
    const taskId = await ended(scene, 'a fox', 'succeeded', takeIt);
    await gateway.create(project.apiKey, `/api/v1/tasks/${taskId}/callback/redeliver`, '');
    const [row] = await gateway.database.query<{ id: string }>(
      '',
      'select id from delivery where task_id = $1 and workflow_id is not null',
      [taskId],
    );
    return row?.id ?? '';
  },
};

/** Each channel answers the first call with 429. */
const busyOnce = ['a', 'b', 'c'].map((name) => `[[fail=rate_limit times=1 on=sandbox-${name}]]`).join(' ');

/** Ends the cool-downs of earlier paths, and waits until the worker knows. */
async function allAvailable({ gateway }: Scene): Promise<void> {
  await gateway.database.query('all-available', 'delete from channel_health');
  await sleep(2_500);
}

const triesMax = 5;
const Json = z.json();

/** Records a path again if its history has no update, because the API server did not wait for the workflow. */
async function recordOne(scene: Scene, path: Path): Promise<JsonValue> {
  for (let tries = 1; ; tries++) {
    const workflowId = await path(scene);
    const handle = scene.gateway.temporal.client.workflow.getHandle(workflowId);
    await eventually(async () => (await handle.describe()).status.name !== 'RUNNING', {
      secondsMax: 30,
      what: `the end of ${workflowId}`,
    });
    const text = historyToJSON(await handle.fetchHistory());
    const hasUpdate = text.includes('EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED');
    const needsNoUpdate = [paths['resumed'], paths['resumed-after-end'], paths['delivered-again']].includes(path);
    if (hasUpdate || needsNoUpdate) return scrubbed(Json.parse(JSON.parse(text)));
    if (tries >= triesMax) throw new Error(`${workflowId}: no history has the update after ${triesMax} tries`);
    await sleep(2_500);
  }
}

/** Removes the process identity and the paths of the machine that recorded the history. */
function scrubbed(value: JsonValue): JsonValue {
  if (typeof value === 'string')
    return value.replace(/^\d+@/, 'worker@').replace(`worker@${hostname()}`, 'worker@host');
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(scrubbed);
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === 'identity' ? 'worker' : key === 'stackTrace' ? '' : scrubbed(inner ?? null),
    ]),
  );
}

async function create(
  { gateway, project }: Scene,
  prompt: string,
  { callbackUrl, video = false }: { callbackUrl?: string; video?: boolean } = {},
): Promise<{ taskId: string; mark: string }> {
  const mark = randomUUID();
  const taskId = await gateway.accept(project.apiKey, video ? mediaRoutes.video : mediaRoutes.image, {
    model: video ? 'kling-2.5-turbo' : 'aurora-image-1',
    prompt: `${prompt} ${mark}`,
    ...(callbackUrl !== undefined && { callback_url: callbackUrl }),
  });
  return { taskId, mark };
}

async function submitted(
  scene: Scene,
  prompt: string,
  callbackUrl?: string,
): Promise<{ taskId: string; mark: string }> {
  const created = await create(scene, prompt, { ...(callbackUrl !== undefined && { callbackUrl }) });
  await eventually(async () => (await scene.gateway.hits(created.mark, 'poll')).length > 0);
  return created;
}

async function ended(scene: Scene, prompt: string, status: Task['status'], behaviour?: Behaviour): Promise<string> {
  const callbackUrl = behaviour && scene.receiver.at(randomUUID(), behaviour);
  const { taskId } = await create(scene, prompt, { ...(callbackUrl !== undefined && { callbackUrl }) });
  await expectEnd(scene, taskId, status);
  return taskId;
}

async function expectEnd({ gateway, project }: Scene, taskId: string, status: Task['status']): Promise<void> {
  const task = await gateway.poll(project.apiKey, taskId, {
    until: (seen) => hasEnded(seen) && (seen.callback === null || seen.callback.state !== 'pending'),
  });
  if (task.status !== status) throw new Error(`the status of ${taskId} is ${task.status}, not ${status}`);
}
