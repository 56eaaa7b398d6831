import { eventually } from '../support/eventually.ts';
import { mediaRoutes } from '../support/api-client.ts';
import type { Gateway } from '../support/gateway.ts';
import { spentOfPeriods } from '../support/history.ts';
import type { AdminClient } from './admin-client.ts';

/** A project with a key, by the names that the pages show. */
export interface StagedProject {
  projectId: string;
  keyId: string;
  apiKey: string;
}

/** What the pages show: two busy days of three projects, with every state of tasks, channels and callbacks. */
export interface Stage {
  studio: StagedProject;
  shop: StagedProject;
  pilot: StagedProject;
  /** A channel with a past. */
  channelId: string;
  tasks: {
    /** Succeeded, with a callback that was delivered. */
    delivered: string;
    /** Succeeded, with a callback that its receiver refuses. */
    undelivered: string;
    /** Succeeded, without a callback. */
    plain: string;
    /** Ended without knowing whether the provider billed it. */
    unknown: string;
    /** Still running: its provider never ends. */
    running: string;
  };
  /** The request ids of two chats. */
  chats: { charged: string; refunded: string };
}

/** Fills a new gateway by its own API, and moves what happened over the last two days. */
export async function setStage(gateway: Gateway, admin: AdminClient): Promise<Stage> {
  const [studio, shop, pilot] = await Promise.all([
    stageProject(admin, { name: 'Northwind Studio', credits: 250_000, key: { name: 'Website', rpm: 600 } }),
    stageProject(admin, {
      name: 'Paper Boat Shop',
      credits: 12_500,
      key: { name: 'Product photos', budget_daily: 5_000 },
    }),
    stageProject(admin, { name: 'Autumn pilot', credits: 900, key: { name: 'Laptop of Mai', budget: 900 } }),
  ]);
  await admin.change('POST', '/keys', { project: studio.projectId, name: 'Nightly batch', scopes: ['media'] });
  const tasks = await stageTraffic(gateway, { studio, shop, pilot });
  await admin.change('POST', `/projects/${pilot.projectId}/disable`);
  await spreadOverTwoDays(gateway);
  await breakChannels(gateway);
  const [charged, refunded] = await Promise.all([newestChat(gateway, 'settle'), newestChat(gateway, 'refund')]);
  return { studio, shop, pilot, tasks, chats: { charged, refunded }, channelId: await stageHistory(gateway) };
}

async function stageProject(
  admin: AdminClient,
  { name, credits, key }: { name: string; credits: number; key: Record<string, unknown> },
): Promise<StagedProject> {
  const project = String((await admin.change('POST', '/projects', { name }))['project_id']);
  await admin.change('POST', '/credits', { project, amount: credits, reference: `invoice of ${name}` });
  const made = await admin.change('POST', '/keys', { project, ...key });
  return { projectId: project, keyId: String(made['key_id']), apiKey: String(made['api_key']) };
}

async function newestChat({ database }: Gateway, kind: 'settle' | 'refund'): Promise<string> {
  const [row] = await database.query<{ requestId: string }>(
    'stage-chat',
    `select request_id from ledger_entry where kind = $1 and request_id like 'req_%' order by id desc limit 1`,
    [kind],
  );
  return row?.requestId ?? '';
}

/** One round of chats: their models and prompts. */
const chats = [
  ['gpt-5-mini', 'Shorten this product text to two lines'],
  ['gpt-5-mini', 'Name five uses of a paper boat'],
  ['claude-haiku-5.5', 'Translate "slow boat" into German, with an example'],
  ['gemini-3.8-flash', 'Which of these reviews is unhappy?'],
  ['gemini-3.8-flash', 'What no provider answers [[fail=refused]]'],
] as const;

const chatRound = (gateway: Gateway, { apiKey }: StagedProject): Promise<unknown> =>
  Promise.all(
    chats.map(([model, content]) =>
      gateway.create(apiKey, '/api/v1/chat/completions', {
        model,
        max_tokens: 200,
        messages: [{ role: 'user', content }],
      }),
    ),
  );

/** One task after the other, each with a round of chats, so that the ledger, the lists and the times have one order. */
async function stageTraffic(
  gateway: Gateway,
  { studio, shop, pilot }: Pick<Stage, 'studio' | 'shop' | 'pilot'>,
): Promise<Stage['tasks']> {
  const run = async ({ apiKey }: StagedProject, body: object): Promise<string> => {
    const request = { model: 'aurora-image-1', ...body };
    const isVideo = request.model === 'kling-2.5-turbo';
    const taskId = await gateway.accept(apiKey, isVideo ? mediaRoutes.video : mediaRoutes.image, request);
    await Promise.all([gateway.poll(apiKey, taskId), chatRound(gateway, rounds++ % 3 === 2 ? pilot : studio)]);
    return taskId;
  };
  let rounds = 0;
  const inbox = (name: string): string => `${gateway.sandboxUrl}/_sandbox/inbox/${name}`;
  const down = `${inbox('down')}?status=503`;
  const gone = `${inbox('gone')}?status=410`;
  await run(shop, { prompt: 'A red fox in fresh snow', callback_url: gone });
  await run(studio, { prompt: 'Waves roll onto a beach', model: 'kling-2.5-turbo', callback_url: inbox('studio') });
  await run(shop, { prompt: 'A yellow raincoat [[fail=transient on=sandbox-a]]', callback_url: inbox('shop') });
  const unknown = await run(shop, { prompt: 'A green mug on a wooden table [[fail=reset]]' });
  await run(studio, { prompt: 'A market hall in the morning', model: 'flux-2-pro' });
  await run(studio, { prompt: 'What no provider makes [[fail=refused]]', callback_url: inbox('studio') });
  const undelivered = await run(studio, { prompt: 'A lighthouse in fog, watercolour', callback_url: down });
  const plain = await run(shop, { prompt: 'A blue mug on a wooden table, soft light' });
  const delivered = await run(studio, {
    prompt: 'A paper boat on a still lake at sunrise',
    img_size: '2k',
    callback_url: inbox('studio'),
  });
  const endless = { model: 'aurora-image-1', prompt: 'A harbour at night, long exposure [[fail=never]]' };
  const running = await gateway.accept(studio.apiKey, mediaRoutes.image, endless);
  await eventually(async () => (await callbacksWithoutAttempt(gateway)) === 0, {
    what: 'the first try of each callback',
  });
  return { delivered, undelivered, plain, unknown, running };
}

async function callbacksWithoutAttempt({ database }: Gateway): Promise<number> {
  const rows = await database.query(
    'stage-tries',
    `select from delivery d where state = 'pending' and not exists (
       select from delivery_attempt a where a.delivery_id = d.id and a.ended_at is not null)`,
  );
  return rows.length;
}

/**
 * Moves what happened in seconds over the last two days, the oldest first, so that charts, lists and sums have a past. The books stay true: no
 * credits change, and the days of keys are counted anew.
 */
async function spreadOverTwoDays({ database }: Gateway): Promise<void> {
  const age = `(1 - share) * interval '44 hours'`;
  const statements = [
    // What is written once and never changed is moved here, and tests run as the owner of the tables.
    `set local session_replication_role = replica`,
    `create temporary table moved on commit drop as
       select id, request_id, created_at, percent_rank() over (order by id) as share from ledger_entry`,
    `update ledger_entry e set created_at = e.created_at - ${age}, began_at = e.began_at - ${age} from moved m where m.id = e.id`,
    `update task t set created_at = t.created_at - ${age}, started_at = t.started_at - ${age}, completed_at = t.completed_at - ${age}
     from moved m where m.request_id = t.id`,
    `update attempt a set started_at = a.started_at - ${age}, submitted_at = a.submitted_at - ${age}, ended_at = a.ended_at - ${age}
     from moved m where m.request_id = a.request_id`,
    `update delivery d set created_at = d.created_at - ${age}, ended_at = d.ended_at - ${age} from moved m where m.request_id = d.task_id`,
    `update delivery_attempt a set started_at = a.started_at - ${age}, ended_at = a.ended_at - ${age}
     from delivery d join moved m on m.request_id = d.task_id where d.id = a.delivery_id`,
    `update project set created_at = created_at - interval '44 hours'`,
    spentOfPeriods,
  ];
  await database.transaction('begin', async (query) => {
    for (const statement of statements) await query('', statement);
  });
}

/** One channel trips, one cools down and one has lost its account. All of their models are served by the others. */
async function breakChannels({ database }: Gateway): Promise<void> {
  const idOf = `(select id from channel where name = $1)`;
  await database.query(
    'stage-trip',
    `select note_channel_failure(${idOf}, 'gemini-3.8-flash', 'timeout', 1, true, 5, 5400, 5400)`,
    ['sandbox-b-gemini'],
  );
  await database.query('stage-rest', `select rest_channel(${idOf}, '*', 2700, 'rate_limit')`, ['sandbox-b-openai']);
  await database.query('stage-alarm', `select raise_channel_alarm(${idOf}, '*', 'account')`, ['sandbox-c-kling']);
}

/** A busy day of one channel with an hour in which its provider failed, and its last hour by minutes. */
async function stageHistory({ database }: Gateway): Promise<string> {
  const [row] = await database.query<{ channelId: string }>(
    'stage-history',
    `insert into channel_history (channel_id, span, at, ok, refused, transient, unknown, durations)
     select c.id, s.span, date_trunc(s.span, clock_timestamp()) - n * ('1 ' || s.span)::interval,
       80 + (n * 37) % 60, n % 4, case when n = 7 then 45 else n % 3 end, (n = 7)::int,
       -- About 90 ms in most attempts and 280 ms in the others.
       array_fill(0, array[52]) || array[70 + (n * 37) % 55] || array_fill(0, array[12]) || array[10 + n % 5]
     from channel c, (values ('hour', 23), ('minute', 59)) s (span, points), generate_series(1, s.points) n
     where c.name = $1
     on conflict do nothing returning channel_id`,
    ['sandbox-a-openai'],
  );
  return row?.channelId ?? '';
}
