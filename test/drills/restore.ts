import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { cli } from '../../src/main/cli.ts';
import { mediaRoutes, type ApiClient } from '../support/api-client.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { startDrillServers, type DrillServers } from './drill-servers.ts';

/** One row of the drill's table. */
export interface DrillRow {
  temporal: 'ahead' | 'empty';
  part: 'books' | 'callbacks' | 'jobs' | 'tasks';
  found: string;
  ok: boolean;
}

/** How long the provider takes for each task: some jobs end before the restore point, some before the loss, and some after it. */
const latenciesMs = [200, 3_000, 9_000, 20_000];
const tasksOfWave = 16;

/**
 * Restores a gateway under load from a base backup and its WAL to a moment before the loss, checks it, releases it, and looks at what
 * providers and receivers got in all. `ahead`: Temporal keeps what happened after that moment. `empty`: Temporal lost everything too.
 */
export async function drillRestore(temporal: DrillRow['temporal'], log: (line: string) => void): Promise<DrillRow[]> {
  const servers = await startDrillServers();
  try {
    const gateway = await startGateway({
      temporalClient: false,
      env: { TEMPORAL_NAMESPACE: 'default', POLL_INLINE_SECONDS: '2', SWEEP_SILENT_SECONDS: '5' },
    });
    try {
      return await drillOn({ servers, gateway, temporal, log });
    } finally {
      await gateway.stop();
    }
  } finally {
    await servers.close();
  }
}

interface Drill {
  servers: DrillServers;
  gateway: Gateway;
  temporal: DrillRow['temporal'];
  log: (line: string) => void;
}

async function drillOn({ servers, gateway, temporal, log }: Drill): Promise<DrillRow[]> {
  const project = await gateway.project({ credits: 1_000_000 });
  const load = startLoad(gateway, project);
  log('load runs');
  await load.wave('before the backup');
  await servers.backUp();
  log('a base backup is taken');
  await load.wave('before the restore point');
  await sleep(2_000);
  // The worker stands still, so that these are accepted before the restore point and submitted after it.
  await gateway.kill('worker-1', 'SIGSTOP');
  await load.wave('at the restore point');
  await servers.markRestorePoint();
  await gateway.kill('worker-1', 'SIGCONT');
  log('the restore point is set');
  await load.wave('after the restore point');
  await sleep(8_000);
  await load.stop();
  for (const name of Object.keys(gateway.pids()).filter((one) => one !== 'sandbox')) await gateway.kill(name);
  log('API server, worker and database are lost');
  await gateway.database.query('', 'select 1').catch(() => undefined);
  await servers.restore();
  if (temporal === 'empty') await servers.wipeTemporal();
  log('the database is restored');

  const checked = Checked.parse(await tollgate(gateway, 'restore', 'check'));
  log(
    `restore check: ${checked.tasks.in_flight} tasks in flight, ${checked.callbacks.pending} callbacks pending, ${checked.files.unknown.length} files without a row`,
  );
  const inFlight = await gateway.database.query<{ id: string }>(
    '',
    `select id from task where completed_at is null and admission = 'reserved'`,
  );
  await gateway.startApi();
  await gateway.startWorker();
  const isQuiet = await staysQuiet(gateway);
  await tollgate(gateway, 'restore', 'check', '--sweep');
  const released = Released.parse(await tollgate(gateway, 'restore', 'release'));
  const { poll, submit, unknown } = released.tasks;
  log(`restore release: ${poll.length} polled on, ${submit.length} submitted, ${unknown.length} of unknown outcome`);
  await untilSettled(gateway);
  return await findings({ gateway, temporal, inFlight: inFlight.map(({ id }) => id), isQuiet });
}

const Checked = z.object({
  books: z.object({ ok: z.literal(true) }),
  tasks: z.object({ in_flight: z.number() }),
  callbacks: z.object({ pending: z.number() }),
  files: z.object({ unknown: z.array(z.string()) }),
});
const ids = z.array(z.string());
const Released = z.object({ tasks: z.object({ poll: ids, submit: ids, unknown: ids }) });

/** Runs a command that must succeed and returns its document. */
async function tollgate(gateway: Gateway, ...args: string[]): Promise<unknown> {
  const written: string[] = [];
  const code = await cli([...args, '--json'], gateway.env, (text) => written.push(text));
  if (code !== 0) throw new Error(`tollgate ${args.join(' ')} exits ${code}: ${written.join('')}`);
  return JSON.parse(written.join(''));
}

/** Chats one after the other, and waves of tasks with callbacks of which every third is refused at first. */
function startLoad(gateway: ApiClient & Gateway, { apiKey }: TestProject) {
  const stopping = new AbortController();
  const chat = { model: 'mistral-small-4', max_tokens: 20, messages: [{ role: 'user', content: 'hello' }] };
  const chats = (async () => {
    while (!stopping.signal.aborted) await gateway.create(apiKey, '/api/v1/chat/completions', chat);
  })();
  let count = 0;
  return {
    async wave(when: string): Promise<void> {
      const creates = Array.from({ length: tasksOfWave }, (_, n) => {
        count += 1;
        const refused = n % 3 === 0 ? '?status=503&times=1' : '';
        return gateway.accept(apiKey, mediaRoutes.image, {
          model: 'aurora-image-1',
          prompt: `drill ${count}, ${when} [[latency=${latenciesMs[n % latenciesMs.length]}]]`,
          callback_url: `${gateway.sandboxUrl}/_sandbox/inbox/drill${refused}`,
        });
      });
      await Promise.all(creates);
    },
    async stop(): Promise<void> {
      stopping.abort();
      await chats;
    },
  };
}

const received = async (gateway: Gateway) =>
  z
    .array(z.object({ headers: z.record(z.string(), z.unknown()), body: z.string() }))
    .parse(await (await fetch(`${gateway.sandboxUrl}/_sandbox/inbox/drill/received`)).json());

/** Whether the provider and the receiver get nothing for a few sweeps of the worker. */
async function staysQuiet(gateway: Gateway): Promise<boolean> {
  const count = async () =>
    (await gateway.hits('drill ')).filter(({ kind }) => kind !== 'fetch').length + (await received(gateway)).length;
  const before = await count();
  await sleep(6_000);
  return (await count()) === before;
}

const settledWithinMs = 180_000;

/** Waits until no task runs and no callback is pending. */
async function untilSettled({ database }: Gateway): Promise<void> {
  const until = Date.now() + settledWithinMs;
  for (;;) {
    const [row] = await database.query<{ open: number }>(
      '',
      `select (select count(*) from task where completed_at is null) + (select count(*) from delivery where ended_at is null) as open`,
    );
    if (row?.open === 0 || Date.now() > until) return;
    await sleep(500);
  }
}

interface Outcome {
  gateway: Gateway;
  temporal: DrillRow['temporal'];
  inFlight: string[];
  isQuiet: boolean;
}

async function findings({ gateway, temporal, inFlight, isQuiet }: Outcome): Promise<DrillRow[]> {
  const books = await gateway.verifyLedger();
  const breached = Object.entries(books.invariants).filter(([, { breaches }]) => breaches > 0);

  const Body = z.object({ data: z.object({ task_id: z.string() }) });
  const callbacks = (await received(gateway)).map(({ headers, body }) => ({
    id: String(headers['webhook-id']),
    taskId: Body.parse(JSON.parse(body)).data.task_id,
  }));
  const byTask = Map.groupBy(callbacks, ({ taskId }) => taskId);
  const twice = [...byTask.values()].filter((those) => new Set(those.map(({ id }) => id)).size > 1);

  const submits = await gateway.hits('drill ', 'submit');
  const prompts = await gateway.database.query<{ prompt: string }>('', `select input->>'prompt' as prompt from task`);
  const bought = await Promise.all(prompts.map(async ({ prompt }) => (await gateway.hits(prompt, 'submit')).length));
  const boughtTwice = bought.filter((times) => times > 1).length;

  const ends = await gateway.database.query<{ status: string; n: number }>(
    '',
    'select status, count(*)::int as n from task where id = any ($1) group by 1 order by 1',
    [inFlight],
  );
  const open = ends.filter(({ status }) => status === 'queued' || status === 'processing');
  const counted = ends.map(({ status, n }) => `${n} ${status}`).join(', ');
  return [
    {
      temporal,
      part: 'books',
      found: books.ok ? 'balance' : `${breached.map(([name]) => name).join(', ')} broken`,
      ok: books.ok,
    },
    {
      temporal,
      part: 'callbacks',
      found: `${callbacks.length} of ${byTask.size} tasks, ${twice.length} under a second id${isQuiet ? '' : ', and some before the release'}`,
      ok: twice.length === 0 && isQuiet,
    },
    { temporal, part: 'jobs', found: `${submits.length} submits, ${boughtTwice} bought twice`, ok: boughtTwice === 0 },
    {
      temporal,
      part: 'tasks',
      found: `${inFlight.length} in flight: ${counted}`,
      ok: open.length === 0 && inFlight.length > 0,
    },
  ];
}
