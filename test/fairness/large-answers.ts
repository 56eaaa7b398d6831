import { readdir } from 'node:fs/promises';
import { createAdminToken } from '../../src/services/operators/create-admin-token.ts';
import { testConfig } from '../support/test-config.ts';
import type { Gateway, TestProject } from '../support/gateway.ts';
import { noise } from '../support/pictures.ts';
import { upload } from '../support/upload.ts';

/** A request whose answer may be large. */
export interface LargeAnswer {
  path: string;
  method?: 'POST';
  headers?: Record<string, string>;
  body?: object;
  /** It is served by the admin listener. */
  isAdmin?: true;
}

const taskInputBytes = 80_000;
const deliveriesOfTask = 100;
const auditEntries = 200;

/** Gives a project tasks whose inputs are as large as a model takes them, of which the first has many callbacks, and writes audit entries. */
export async function makeLargeTasks(
  gateway: Gateway,
  { apiKey, projectId }: TestProject,
  count: number,
): Promise<string[]> {
  const requests = Array.from({ length: count }, (_, index) =>
    index % 2 === 0
      ? gateway.accept(apiKey, '/api/v1/images/generate', { model: 'aurora-image-1', prompt: 'a red fox' })
      : gateway.accept(apiKey, '/api/v1/video/generate', { model: 'kling-2.5-turbo', prompt: 'a dancer' }),
  );
  const ids = await Promise.all(requests);
  for (const id of ids) await gateway.poll(apiKey, id);
  await gateway.database.query(
    'test-enlarge-tasks',
    `update task t set input = input || jsonb_build_object('prompt', (
       select string_agg(md5(t.id || n), '') from generate_series(1, $2::int) n)) where project_id = $1`,
    [projectId, Math.ceil(taskInputBytes / 32)],
  );
  await gateway.database.query(
    'test-deliveries',
    `with made as (
       insert into delivery (id, event_id, project_id, task_id, state, attempts, ended_at)
       select 'dlv_0' || lpad(n::text, 25, '0'), 'evt_' || n, $1, $2, 'exhausted', 12, clock_timestamp()
       from generate_series(1, $3::int) n returning id)
     insert into delivery_attempt (delivery_id, n, ended_at, status, error_class)
     select made.id, n, clock_timestamp(), 500, 'http_status' from made cross join generate_series(1, 12) n`,
    [projectId, ids[0], deliveriesOfTask],
  );
  await gateway.database.query(
    'test-audit',
    `insert into audit_entry (actor, action, subject, before, after, detail)
     select 'test', 'test.changed', 'test', jsonb_build_object('text', repeat('x', 20000)), jsonb_build_object('text', repeat('y', 20000)), '{}'
     from generate_series(1, $1::int)`,
    [auditEntries],
  );
  return ids;
}

/** A request to every route whose answer may be large. */
export async function largeAnswersOf(
  gateway: Gateway,
  { apiKey }: TestProject,
  [taskId = '']: readonly string[],
): Promise<LargeAnswer[]> {
  const key = { authorization: `Bearer ${apiKey}` };
  const gzip = { headers: { 'accept-encoding': 'gzip' } };
  const deps = { db: gateway.database, config: testConfig(gateway.env) };
  const { token } = await createAdminToken(deps, { name: 'unread', role: 'owner', expiresAt: null, actor: 'test' });
  const file = new URL((await upload({ baseUrl: gateway.baseUrl, apiKey }, await noise(1_600))).url);
  const [script = ''] = (await readdir('console/dist/assets')).filter((name) => /^index-.*\.js$/.test(name));
  const asset = { path: `/console/assets/${script}`, isAdmin: true } as const;
  const scalar = { path: '/docs/assets/scalar.js' };
  const openapi = { path: '/api/v1/openapi.json' };
  const ofKey = (path: string, headers = {}): LargeAnswer => ({ path, headers: { ...key, ...headers } });
  const ofAdmin = (path: string): LargeAnswer => ({
    path: `/api/admin/v1/${path}`,
    headers: { authorization: `Bearer ${token}` },
    isAdmin: true,
  });
  const post = (path: string, body: object): LargeAnswer => ({ path, method: 'POST', headers: key, body });
  const csv = { accept: 'text/csv' };
  return [
    scalar,
    { ...scalar, ...gzip },
    asset,
    { ...asset, ...gzip },
    openapi,
    { ...openapi, ...gzip },
    { path: '/api/admin/v1/openapi.json', isAdmin: true } as const,
    { path: '/llms.txt' },
    { path: '/docs/errors' },
    { path: '/metrics', isAdmin: true },
    { path: file.pathname + file.search },
    ...['/api/v1/models', '/v1/models', '/v1beta/models'].map((path) => ofKey(path)),
    ofKey('/api/v1/tasks?limit=100'),
    ofKey('/v1/videos?limit=100'),
    ofKey(`/api/v1/tasks/${taskId}`),
    ofKey(`/api/v1/tasks/${taskId}/deliveries?limit=100`),
    ofKey(`/api/v1/tasks/${taskId}/attempts`),
    ofKey('/api/v1/webhooks/events?wait=0'),
    ofKey('/api/v1/ledger?limit=100'),
    ofKey('/api/v1/ledger?limit=100', csv),
    ofKey('/api/v1/usage?group_by=day,model,key'),
    ofKey('/api/v1/usage?group_by=day,model,key', csv),
    ...['tasks', 'deliveries', 'audit', 'ledger', 'projects', 'keys'].flatMap((name) =>
      name === 'ledger' || name === 'keys' ? [] : [ofAdmin(`${name}?limit=10000`)],
    ),
    ofAdmin('catalog'),
    ...[{ stream: false }, { stream: true }].map((how) => post('/api/v1/chat/completions', { ...longChat, ...how })),
    post('/v1/messages', { ...longChat, stream: true }),
    post('/v1/images/generations', { ...picture, response_format: 'b64_json' }),
    post('/v1beta/models/aurora-image-1:generateContent', { contents: [{ role: 'user', parts: [{ text: 'a fox' }] }] }),
  ];
}

const picture = { model: 'aurora-image-1', prompt: 'a red fox' };
const longChat = {
  model: 'gpt-5-mini',
  messages: [{ role: 'user', content: 'Hello [[tokens=8000]]' }],
  max_tokens: 8_192,
};

export const originOf = (gateway: Gateway, { isAdmin }: LargeAnswer): string =>
  isAdmin ? `http://127.0.0.1:${gateway.env['ADMIN_PORT']}` : gateway.baseUrl;

/** The answer, read to its end. */
export async function readAnswer(gateway: Gateway, answer: LargeAnswer): Promise<{ status: number; bytes: number }> {
  const { path, method = 'GET', headers, body } = answer;
  const response = await fetch(originOf(gateway, answer) + path, {
    method,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, bytes: (await response.arrayBuffer()).byteLength };
}
