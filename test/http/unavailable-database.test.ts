import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAdminToken } from '../../src/services/operators/create-admin-token.ts';
import { retryTransient } from '../../src/db/retry-transient.ts';
import { toRefusal } from '../../src/http/middleware/answer-errors.ts';
import { rowsOf, run } from '../db/books.ts';
import { mediaRoutes, type Answer } from '../support/api-client.ts';
import { buildQuietDeps } from '../support/built-deps.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { png } from '../support/pictures.ts';
import { upload, type UploadedFile } from '../support/upload.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';

/** Why PostgreSQL or a pooler refuses a statement that it would accept at another time. */
const notNow = [
  '08000',
  '08006',
  '08P01',
  '28000',
  '28P01',
  '53000',
  '53100',
  '53200',
  '53300',
  '53400',
  '57000',
  '57014',
  '57P01',
  '57P02',
  '57P03',
  '57P04',
  '57P05',
  '58000',
  '58030',
  '58P01',
  '58P02',
  '42P05',
  '26000',
  '25006',
  '25P03',
  '25P04',
  '40001',
  '40003',
  '40P01',
  '55P03',
  '3D000',
  '0A000',
  'F0000',
  'F0001',
];
/** What no repetition changes. */
const faults = ['22012', '23514', '42501', 'P0001', 'XX000'];

const refusingTables = [
  'task',
  'hold',
  'project',
  'job_run',
  'file',
  'ledger_entry',
  'usage_half_hour',
  'delivery',
  'api_key_secret',
  'admin_token',
  'channel_health',
  'audit_entry',
  'credit_account',
  'api_key',
];

let gateway: Gateway;
let project: TestProject;
let adminToken: string;
let unusedKey: string;
let runningTask: string;
let file: UploadedFile;
let image: Buffer;

beforeAll(async () => {
  gateway = await startGateway({ workers: 0, sandbox: false });
  project = await gateway.project();
  const { deps, close } = await buildQuietDeps(gateway.databaseUrl);
  const owner = { actor: 'test', name: 'ada', role: 'owner', expiresAt: null } as const;
  adminToken = (await createAdminToken(deps, owner)).token;
  await close();
  runningTask = await gateway.accept(project.apiKey, mediaRoutes.image, picture);
  // A list without rows would ask no policy.
  await gateway.accept(project.apiKey, mediaRoutes.video, { model: 'kling-3', prompt: 'a red fox' });
  unusedKey = (await gateway.key(project.projectId)).apiKey;
  image = await png();
  file = await upload({ baseUrl: gateway.baseUrl, apiKey: project.apiKey }, image);
  await run(gateway.database, 'create table raised (sqlstate text)');
  // As the role of the gateway's processes, which owns no table, so that the policies apply to it.
  await run(
    gateway.database,
    `create function may_be_used() returns boolean language plpgsql security definer set search_path = public as $$
     declare
       code text;
     begin
       select sqlstate into code from raised;
       if code is not null then raise exception 'as the test wants' using errcode = code; end if;
       return true;
     end $$`,
  );
  for (const table of refusingTables) {
    await run(gateway.database, `alter table ${table} enable row level security`);
    await run(gateway.database, `create policy refusing on ${table} using (may_be_used()) with check (may_be_used())`);
  }
});
afterAll(async () => {
  await gateway?.stop();
});

const picture = { model: 'aurora-image-1', prompt: 'a red fox' };
const chat = { model: 'mistral-small-4', max_tokens: 20, messages: [{ role: 'user', content: 'hello' }] };

/** A request of any method, with the status and the headers of its answer. */
const send = (method: string, path: string, { key = project.apiKey, type = 'application/json', body }: Sent = {}) =>
  fetch(new URL(path, gateway.baseUrl), {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': type }) },
    ...(body !== undefined && { body }),
  });
interface Sent {
  key?: string;
  type?: string;
  body?: string | Uint8Array<ArrayBuffer>;
}
const jsonOf = (body: object): Sent => ({ body: JSON.stringify(body) });
let keys = 0;
/** Each reads or writes one of the tables that refuse. */
const doors: Record<string, () => Promise<Pick<Answer, 'status' | 'headers'>>> = {
  'a read of a task': () => gateway.get(project.apiKey, `/api/v1/tasks/${runningTask}`),
  'a list of tasks': () => gateway.get(project.apiKey, '/api/v1/tasks'),
  'a create with a key': () =>
    gateway.create(project.apiKey, mediaRoutes.image, picture, { headers: { 'idempotency-key': `door-${++keys}` } }),
  'a chat': () => gateway.create(project.apiKey, '/api/v1/chat/completions', chat),
  'a message to Anthropic’s dialect': () => gateway.create(project.apiKey, '/v1/messages', chat),
  'a streamed chat': () => gateway.create(project.apiKey, '/v1/chat/completions', { ...chat, stream: true }),
  'a chat of the Responses API': () =>
    gateway.create(project.apiKey, '/v1/responses', { model: chat.model, max_output_tokens: 20, input: 'hello' }),
  'a chat of Gemini’s dialect': () =>
    gateway.create(project.apiKey, `/v1beta/models/${chat.model}:generateContent`, {
      contents: [{ role: 'user', parts: [{ text: 'hello' }] }],
      generationConfig: { maxOutputTokens: 20 },
    }),
  'a picture of OpenAI’s dialect': () => gateway.create(project.apiKey, '/v1/images/generations', picture),
  'a create without a key': () => gateway.create(project.apiKey, mediaRoutes.image, picture),
  'a cancel': () => gateway.create(project.apiKey, `/api/v1/tasks/${runningTask}/cancel`, {}),
  'a redelivery': () => gateway.create(project.apiKey, `/api/v1/tasks/${runningTask}/callback/redeliver`, {}),
  'a wait for a task': () => gateway.get(project.apiKey, `/api/v1/tasks/${runningTask}?wait=1`),
  'the attempts of a task': () => gateway.get(project.apiKey, `/api/v1/tasks/${runningTask}/attempts`),
  'an upload': () => send('POST', '/api/v1/images/upload', { type: 'image/png', body: new Uint8Array(image) }),
  'a read of a file': () => send('GET', new URL(file.url).pathname + new URL(file.url).search),
  'a deletion of a task': () => send('DELETE', `/api/v1/tasks/${runningTask}`),
  'the callbacks of a task': () => send('GET', `/api/v1/tasks/${runningTask}/deliveries`),
  'the events of a task': () => send('GET', `/api/v1/tasks/${runningTask}/events`),
  'a create of a video': () => send('POST', mediaRoutes.video, jsonOf({ model: 'kling-3', prompt: 'a red fox' })),
  'a create from an upload': () =>
    send('POST', '/v1/images/edits', jsonOf({ ...picture, images: [{ file_id: file.id }] })),
  'a video of OpenAI’s dialect': () => send('GET', `/v1/videos/${runningTask}`),
  'a list of videos of OpenAI’s dialect': () => send('GET', '/v1/videos'),
  'a result of the former platform': () => send('GET', `/api/v1/api/result?id=${runningTask}`),
  'a picture of Google’s dialect': () =>
    send('POST', `/v1beta/models/${picture.model}:predict`, jsonOf({ instances: [{ prompt: 'a red fox' }] })),
  'a read of the key': () => send('GET', '/api/v1/key'),
  'a rotation of the key': () => send('POST', '/api/v1/key/rotate', jsonOf({})),
  'the limit of the key, for clients of one-api': () => send('GET', '/dashboard/billing/subscription'),
  'the key, for clients of LiteLLM': () => send('GET', '/key/info'),
  'a key that no cache has': () => send('GET', '/api/v1/key', { key: unusedKey }),
  'a sign-in': () => send('POST', '/api/admin/v1/session', jsonOf({ token: adminToken })),
  'an admin token': () => send('GET', '/api/admin/v1/audit', { key: adminToken }),
  'the channels of the admin API': () => send('GET', '/api/admin/v1/channels', { key: adminToken }),
  'the overview of the admin API': () => send('GET', '/api/admin/v1/overview', { key: adminToken }),
  'credits that an operator adds': () =>
    send('POST', '/api/admin/v1/credits', {
      key: adminToken,
      ...jsonOf({ project: project.projectId, amount: 1, reference: 'door' }),
    }),
  'a list of ledger entries': () => gateway.get(project.apiKey, '/api/v1/ledger'),
  'a read of the usage': () => gateway.get(project.apiKey, '/api/v1/usage'),
  'a list of the admin API': () => gateway.get(adminToken, '/api/admin/v1/tasks'),
  'a read of the admin API': () => gateway.get(adminToken, '/api/admin/v1/projects'),
  'a change by the admin API': () => gateway.create(adminToken, '/api/admin/v1/projects', { name: 'new' }),
  'a start of a job': () =>
    gateway.create(gateway.env['INTERNAL_JOB_TOKENS'] ?? '', '/api/internal/jobs/check-stale-media-tasks', {}),
};

/** Makes every statement on the tables fail, until `null`. */
async function raise(sqlstate: string | null): Promise<void> {
  await run(gateway.database, 'delete from raised');
  if (sqlstate !== null) await run(gateway.database, 'insert into raised values ($1)', [sqlstate]);
}

async function answersAtEveryDoor(): Promise<Record<string, unknown[]>> {
  const answers = Object.entries(doors).map(async ([name, call]) => {
    const { status, headers } = await call();
    return [name, [status, headers.get('retry-after')]] as [string, unknown[]];
  });
  return Object.fromEntries(await Promise.all(answers));
}
const everyDoor = (answer: unknown[]) => Object.fromEntries(Object.keys(doors).map((name) => [name, answer]));

describe('an SQLSTATE that means "not now"', () => {
  afterAll(() => raise(null));

  it.each(notNow)('%s is 503 with Retry-After at every door', async (sqlstate) => {
    await raise(sqlstate);
    expect(await answersAtEveryDoor()).toEqual(everyDoor([503, '1']));
  });

  it.each(faults)('is not %s, which is 500', async (sqlstate) => {
    await raise(sqlstate);
    expect(await answersAtEveryDoor()).toEqual(everyDoor([500, null]));
  });

  it('leaves nothing behind: the create that was refused is accepted once with its key, and no chat was charged', async () => {
    const create = () =>
      gateway.create(project.apiKey, mediaRoutes.image, picture, { headers: { 'idempotency-key': 'again' } });
    await raise('53300');
    expect((await create()).status).toBe(503);
    await raise(null);
    const accepted = await create();
    expect(accepted.status).toBe(202);
    expect((await create()).taskId).toBe(accepted.taskId);
    expect(await rowsOf(gateway.database, `select kind, count(*)::int as n from hold group by kind`)).toEqual([
      { kind: 'media', n: 3 },
    ]);
    expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
  });
});

describe('the driver', () => {
  let scratch: TestDatabase;
  beforeAll(async () => {
    scratch = await createTestDatabase({ migrated: false });
  });
  afterAll(() => scratch?.drop());

  it('gets 28P01 for a password that was changed, which is 503', async () => {
    const url = new URL(scratch.url);
    url.password = 'the password of yesterday';
    const database = await scratch.open({ via: url.href });
    const refused: unknown = await database.query('', 'select 1').catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: '28P01' });
    expect(toRefusal(refused)).toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 1 });
  });

  it('runs a transaction again on another connection if the server has forgotten its prepared statement', async () => {
    const database = await scratch.open({ poolMax: 1 });
    const read = () => database.transaction('begin', (query) => query<{ n: number }>('remembered', 'select 1 as n'));
    await read();
    await run(database, 'deallocate all');
    await expect(read()).rejects.toMatchObject({ code: '26000' });
    await run(database, 'select 1');
    await read();
    await run(database, 'deallocate all');
    expect(await retryTransient(read)).toEqual([{ n: 1 }]);
  });
});
