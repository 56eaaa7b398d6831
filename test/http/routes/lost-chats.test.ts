import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { dialects, dialectNames } from '../../dialects/matrix.ts';
import { chatModel, endReasonOf } from '../../services/chat/chats.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';

let gateway: Gateway;
let project: TestProject;
/** Another API server of the same gateway. */
let other: string;
beforeAll(async () => {
  gateway = await startGateway({ workers: 0 });
  project = await gateway.project({ credits: 100_000 });
  ({ baseUrl: other } = await gateway.startApi({}));
});
afterAll(() => gateway?.stop());
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

/** Requests for a whole answer, by their path. */
const bodies: Record<string, (prompt: string) => object> = {
  '/api/v1/chat/completions': (prompt) => ({ model: chatModel, messages: [{ role: 'user', content: prompt }] }),
  ...Object.fromEntries(
    dialectNames.map((name) => {
      const dialect = dialects[name];
      const asking = (prompt: string) => ({ model: chatModel, prompt });
      // A field that is left out.
      return [dialect.path(asking('')), (prompt: string) => ({ ...dialect.body(asking(prompt)), house_hint: 'x' })];
    }),
  ),
};
const [spec = ''] = Object.keys(bodies);

interface Sending {
  baseUrl?: string;
  apiKey?: string;
  signal?: AbortSignal;
  idempotencyKey?: string;
}

async function send(path: string, prompt: string, { baseUrl, apiKey, signal, idempotencyKey }: Sending = {}) {
  const secret = apiKey ?? project.apiKey;
  const answer = await fetch((baseUrl ?? gateway.baseUrl) + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${secret}`,
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify(bodies[path]?.(prompt)),
    ...(signal && { signal }),
  });
  await answer.text();
  return { status: answer.status, isReplay: answer.headers.get('idempotent-replayed') === 'true' };
}

const takenOver = { status: 200, isReplay: true };
const bought = { status: 200, isReplay: false };
const callsOf = async (prompt: string): Promise<number> => (await gateway.hits(prompt, 'chat')).length;

interface Noted {
  id: string;
  hasAnswer: boolean;
  isCharged: boolean;
}
/** The chats of a project without a key that lost their client and were not taken over, oldest first. */
const notedOf = ({ projectId }: TestProject): Promise<Noted[]> =>
  gateway.database.query<Noted>(
    '',
    `select i.request_id as id, i.body is not null as has_answer,
       exists (select from ledger_entry e where e.request_id = i.request_id and e.kind = 'settle') as is_charged
     from idempotency i where i.project_id = $1 and i.route like 'undelivered %' and i.replayed_at is null order by i.created_at`,
    [projectId],
  );
const countCharges = async ({ projectId }: TestProject): Promise<number> =>
  (await gateway.database.query('', `select from ledger_entry where project_id = $1 and kind = 'settle'`, [projectId]))
    .length;

/** Sends a chat and leaves once its provider has it. Returns the id of the request. */
async function leave(owner: TestProject, path: string, prompt: string): Promise<string> {
  const leaving = new AbortController();
  const left = send(path, prompt, { apiKey: owner.apiKey, signal: leaving.signal }).catch(() => null);
  await eventually(async () => (await callsOf(prompt)) === 1);
  leaving.abort();
  expect(await left).toBeNull();
  return eventually(async () => (await notedOf(owner))[0]?.id);
}

/** Clients give up after 30 to 100 seconds, and send the request again up to six times. Few of them send a key. */
it('gives a whole answer whose client left to one equal request of the same API key, and charges it once, in each dialect', async () => {
  const leftAndRepeated = async (path: string) => {
    const owner = await gateway.project({ credits: 1_000 });
    const prompt = `left at ${path} [[latency=15000]]`;
    const requestId = await leave(owner, path, prompt);
    return {
      repeated: await send(path, prompt, { apiKey: owner.apiKey, baseUrl: other }),
      calls: await callsOf(prompt),
      charges: await countCharges(owner),
      reason: await endReasonOf(gateway, requestId),
      stillNoted: await notedOf(owner),
    };
  };
  const once = { repeated: takenOver, calls: 1, charges: 1, reason: 'client_left', stillNoted: [] };
  const paths = Object.keys(bodies);
  expect(await Promise.all(paths.map(leftAndRepeated))).toEqual(paths.map(() => once));
});

it('gives an answer that came meanwhile at once', async () => {
  const owner = await gateway.project({ credits: 1_000 });
  const prompt = 'answered meanwhile [[latency=15000]]';
  await leave(owner, spec, prompt);
  await eventually(async () => (await notedOf(owner))[0]?.isCharged);
  expect(await notedOf(owner)).toMatchObject([{ hasAnswer: true }]);
  const { apiKey: another } = await gateway.key(owner.projectId);
  const differing = prompt.replace('15000', '0');
  expect(await send(spec, differing, { apiKey: owner.apiKey })).toEqual(bought);
  const others = [{ apiKey: owner.apiKey, idempotencyKey: 'of its own' }, { apiKey: another }];
  const answers = await Promise.all(others.map((sending) => send(spec, prompt, sending)));
  expect(answers).toEqual([bought, bought]);
  expect(await send(spec, prompt, { apiKey: owner.apiKey })).toEqual(takenOver);
});

it('keeps requests apart that run side by side', async () => {
  const owner = await gateway.project({ credits: 1_000 });
  const prompt = 'side by side [[latency=15000]]';
  const leaving = new AbortController();
  const both = [1, 2].map(() => send(spec, prompt, { apiKey: owner.apiKey, signal: leaving.signal }).catch(() => null));
  await eventually(async () => (await callsOf(prompt)) === 2);
  leaving.abort();
  expect(await Promise.all(both)).toEqual([null, null]);
  await eventually(async () => (await notedOf(owner)).length === 2);
  const repeated = [1, 2, 3].map(() => send(spec, prompt, { apiKey: owner.apiKey }));
  expect((await Promise.all(repeated)).filter(({ isReplay }) => isReplay)).toHaveLength(2);
  expect(await callsOf(prompt)).toBe(3);
});

it('gives an answer to the next request if the one that took it over is lost as well', async () => {
  const owner = await gateway.project({ credits: 1_000 });
  const prompt = 'left again [[latency=25000]]';
  const requestId = await leave(owner, spec, prompt);
  const begunAt = new Date();
  const leaving = new AbortController();
  const left = send(spec, prompt, { apiKey: owner.apiKey, signal: leaving.signal }).catch(() => null);
  // The last statement of a connection.
  const waiting = `select from pg_stat_activity where query like 'update idempotency set replayed_at%' and query_start > $1`;
  await eventually(async () => (await gateway.database.query('', waiting, [begunAt])).length > 0);
  leaving.abort();
  expect(await left).toBeNull();
  expect((await notedOf(owner)).map(({ id }) => id)).toEqual([requestId]);
  expect(await send(spec, prompt, { apiKey: owner.apiKey })).toEqual(takenOver);
  expect(await countCharges(owner)).toBe(1);
});

it('gives an answer whose client left while it was charged', async () => {
  const owner = await gateway.project({ credits: 1_000 });
  const prompt = 'left at the charge [[latency=0]]';
  const leaving = new AbortController();
  let left: Promise<unknown> | undefined;
  await gateway.database.transaction('begin', async (query) => {
    await query('', 'lock table ledger_entry in share row exclusive mode');
    left = send(spec, prompt, { apiKey: owner.apiKey, signal: leaving.signal }).catch(() => null);
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%finish_chats%'`;
    await eventually(async () => (await gateway.database.query('', waiting)).length > 0);
    leaving.abort();
    expect(await left).toBeNull();
  });
  await eventually(async () => (await notedOf(owner))[0]?.isCharged);
  expect(await send(spec, prompt, { apiKey: owner.apiKey })).toEqual(takenOver);
});

it('asks a provider anew if the chat that lost its client failed', async () => {
  const owner = await gateway.project({ credits: 1_000 });
  const prompt = 'failed after its client left [[latency=15000 fail=refused times=1]]';
  await leave(owner, spec, prompt);
  expect(await send(spec, prompt, { apiKey: owner.apiKey })).toEqual(bought);
  expect(await countCharges(owner)).toBe(1);
});
