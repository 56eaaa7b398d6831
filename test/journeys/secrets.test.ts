import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { addOperator } from '../../src/services/operators/add-operator.ts';
import { createAdminToken } from '../../src/services/operators/create-admin-token.ts';
import { testConfig } from '../support/test-config.ts';
import { chooseOwnPort } from '../support/own-port.ts';
import { adminOrigin, callbackUrl, openBrowser } from '../http/admin/browser.ts';
import { letModelsStream, stream } from '../services/chat/streams.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { oidcClient, startOidcIssuer, type OidcIssuer } from '../support/oidc-issuer.ts';
import { startOtlpReceiver, type OtlpReceiver } from '../support/otlp-receiver.ts';
import { png } from '../support/pictures.ts';

let gateway: Gateway;
let traces: OtlpReceiver;
let project: TestProject;
let issuer: OidcIssuer;
let adminUrl: string;
let metricsUrls: { api: string; worker: string };
const metricsToken = randomUUID();
const taskIds: string[] = [];
/** Private texts of a client. They must not appear in logs, metrics, traces or the Temporal UI. */
const privateTexts = Object.fromEntries(
  ['prompt', 'chat', 'gemini', 'url', 'query', 'fileName', 'refused'].map((name) => [name, `private-${randomUUID()}`]),
);

beforeAll(async () => {
  const [admin, health] = [await chooseOwnPort(), await chooseOwnPort()];
  adminUrl = `http://127.0.0.1:${admin}`;
  metricsUrls = { api: `${adminUrl}/metrics`, worker: `http://127.0.0.1:${health}/metrics` };
  [traces, issuer] = await Promise.all([startOtlpReceiver(), startOidcIssuer()]);
  gateway = await startGateway({
    temporalClient: true,
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
      ADMIN_PORT: String(admin),
      WORKER_HEALTH_PORT: String(health),
      METRICS_TOKEN: metricsToken,
      ADMIN_ORIGIN: adminOrigin,
      OIDC_ISSUER: issuer.url,
      OIDC_CLIENT_ID: oidcClient.id,
      OIDC_CLIENT_SECRET: oidcClient.secret,
      LOG_LEVEL: 'trace',
    },
  });
  project = await gateway.project({ credits: 1_000, rpm: 1_000 });
  const { apiKey } = project;

  const form = new FormData();
  const bytes = await png(16, 16);
  form.append('file', new Blob([new Uint8Array(bytes)], { type: 'image/png' }), `${privateTexts['fileName']}.png`);
  const uploaded = await fetch(`${gateway.baseUrl}/api/v1/images/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: form,
    signal: AbortSignal.timeout(60_000),
  });
  expect(uploaded.ok).toBe(true);
  for (const outcome of ['', '[[fail=transient]]', '[[fail=refused]]', '[[fail=malformed]]'])
    taskIds.push(
      await gateway.accept(apiKey, mediaRoutes.image, {
        model: 'aurora-image-1',
        prompt: `${privateTexts['prompt']} [[latency=50]] ${outcome}`,
        callback_url: `${gateway.sandboxUrl}/_sandbox/inbox/${privateTexts['url']}`,
      }),
    );
  for (const outcome of ['', '[[fail=transient]]', '[[fail=refused]]', '[[fail=malformed]]'])
    await gateway.create(apiKey, '/api/v1/chat/completions', {
      model: 'gpt-5-mini',
      messages: [{ role: 'user', content: `${privateTexts['chat']} ${outcome}` }],
      max_tokens: 16,
    });
  await letModelsStream(gateway, apiKey, ['gpt-5-mini']);
  const text = privateTexts['chat'] ?? '';
  expect((await stream(gateway, apiKey, { text })).isDone).toBe(true);
  await gateway.create(apiKey, '/api/v1beta/models/gemini-2.5-flash:generateContent', {
    contents: [{ parts: [{ text: privateTexts['gemini'] }] }],
  });
  await gateway.create(apiKey, mediaRoutes.image, { model: privateTexts['refused'], prompt: privateTexts['refused'] });
  await gateway.create(apiKey, mediaRoutes.image, `{"prompt":"${privateTexts['refused']}`);
  await gateway.get(apiKey, `/api/v1/models?key=${apiKey}&note=${privateTexts['query']}`);
  await gateway.get(apiKey, `/api/v1/models?${privateTexts['query']}=${privateTexts['query']}`);
  await useAdminApi();
  await signInByOidc();
  for (const taskId of taskIds) await gateway.poll(apiKey, taskId);
  await eventually(async () => {
    const open = await gateway.database.query('', `select id from delivery where state = 'pending'`);
    return open.length === 0;
  });
  // What was traced before has arrived with the last request and with the ends of the workflows.
  const traceId = randomBytes(16).toString('hex');
  await gateway.get(apiKey, '/api/v1/models', { headers: { traceparent: `00-${traceId}-${traceId.slice(16)}-01` } });
  await traces.traceWith(traceId, ['GET /api/v1/models']);
  const workflowsEnded = () =>
    new Set(traces.spans.flatMap(({ name, traceId: id }) => (name === 'RunWorkflow:mediaTask' ? id : []))).size;
  await eventually(() => Promise.resolve(workflowsEnded() === taskIds.length));
});
afterAll(async () => {
  await gateway?.stop();
  await traces?.close();
  await issuer?.close();
});

/** An admin token, a session and a token that was made by one, each as the client has it, and what a sign-in by OIDC passes around. */
const adminSecrets: string[] = [];

/** Uses an admin token where it belongs and where it does not, and reads a prompt. */
async function useAdminApi(): Promise<void> {
  const deps = { db: gateway.database, config: testConfig(gateway.env) };
  const { token } = await createAdminToken(deps, { actor: 'test', name: 'ada', role: 'owner', expiresAt: null });
  const call = (path: string, init: RequestInit = {}) =>
    fetch(`${adminUrl}/api/admin/v1${path}`, { ...init, signal: AbortSignal.timeout(60_000) });
  const authorization = `Bearer ${token}`;
  const json = { 'content-type': 'application/json' };
  const signedIn = await call('/session', { method: 'POST', headers: json, body: JSON.stringify({ token }) });
  const cookie = /tollgate_session=(\w+)/.exec(signedIn.headers.get('set-cookie') ?? '')?.[1] ?? '';
  const made = await call('/admin-tokens', {
    method: 'POST',
    headers: { ...json, authorization, 'idempotency-key': 'k' },
    body: JSON.stringify({ role: 'viewer' }),
  });
  const { token: second } = z.object({ token: z.string() }).parse(await made.json());
  adminSecrets.push(token, cookie, second);
  const reads = [
    await call('/session', { headers: { cookie: `tollgate_session=${cookie}`, 'sec-fetch-site': 'same-origin' } }),
    await call(`/tasks/${taskIds[0] ?? ''}/content`, { headers: { authorization } }),
    await call('/session', { headers: { authorization: `Bearer ${second}` } }),
  ];
  expect(reads.map(({ status }) => status)).toEqual([200, 200, 200]);
  const { status } = await gateway.get(token, '/api/v1/models');
  expect(status).toBe(401);
}

/** Signs in once as a stranger, once with an answer that fails a check, and once as an operator. */
async function signInByOidc(): Promise<void> {
  const browser = openBrowser({ frame: { url: adminUrl } });
  const comeBack = async (): Promise<number> => {
    const answer = await browser.signInUntil(callbackUrl);
    adminSecrets.push(new URL(answer).searchParams.get('state') ?? '', ...browser.cookies.values());
    return (await browser.open(answer)).status;
  };
  const statuses = [await comeBack()];
  issuer.faults = { claims: { nonce: 'another' } };
  statuses.push(await comeBack());
  issuer.faults = {};
  const person = { issuer: issuer.url, subject: issuer.subject, name: 'Ada', role: 'viewer' } as const;
  await addOperator({ db: gateway.database }, { actor: 'test', ...person });
  statuses.push(await comeBack());
  expect(statuses).toEqual([403, 401, 303]);
  adminSecrets.push(...browser.cookies.values(), ...issuer.issued, oidcClient.secret);
}

describe('a private text of a client', () => {
  it('appears in no log line of any process at log level trace', () => {
    const logs = logsOf(['api', 'worker']);
    expect(logs).toContain(taskIds[0]);
    expect(found(logs, Object.values(privateTexts))).toEqual([]);
  });

  it('appears in no span', () => {
    expect(traces.text()).toContain(taskIds[0]);
    expect(found(traces.text(), Object.values(privateTexts))).toEqual([]);
  });

  it('appears in no workflow history and in no metric', async () => {
    const histories = await historiesOf(taskIds);
    expect(histories).toContain(taskIds[0]);
    const metrics = (await metricsOf(metricsUrls.api)) + (await metricsOf(metricsUrls.worker));
    expect(metrics).toContain('tollgate');
    expect(found(histories + metrics, Object.values(privateTexts))).toEqual([]);
  });
});

describe('a secret', () => {
  it('appears in no database row, no log, no span and no workflow history', async () => {
    const { apiKey, webhookSecret } = project;
    // Search for each secret without its prefix, and also for its bytes in hexadecimal.
    const secrets = [apiKey.slice('sk-'.length), webhookSecret.slice('whsec_'.length)].flatMap((secret) => [
      secret,
      Buffer.from(secret).toString('hex'),
    ]);
    secrets.push(Buffer.from(webhookSecret.slice('whsec_'.length), 'base64').toString('hex'));
    secrets.push(...adminSecrets.map((secret) => secret.slice('adm_'.length)));
    const dump = await everyRow();
    expect(dump).toContain(project.keyId);
    const output = logsOf(['api', 'worker']) + traces.text() + (await historiesOf(taskIds));
    expect(found(dump + output, secrets)).toEqual([]);
  });
});

const metricsOf = (url: string): Promise<string> =>
  fetch(url, {
    headers: { authorization: `Bearer ${metricsToken}` },
    signal: AbortSignal.timeout(60_000),
  }).then((answer) => answer.text());

const found = (text: string, words: readonly string[]): string[] => words.filter((word) => text.includes(word));

const logsOf = (programs: readonly string[]): string =>
  readdirSync(gateway.logFolder)
    .filter((name) => name.endsWith('.log') && programs.some((program) => name.startsWith(program)))
    .map((name) => readFileSync(join(gateway.logFolder, name), 'utf8'))
    .join('\n');

/** Every string and every payload of the workflow histories. */
async function historiesOf(workflowIds: readonly string[]): Promise<string> {
  const texts = workflowIds.map(async (id) => {
    const handle = gateway.temporal.client.workflow.getHandle(id);
    const [history, { raw }] = await Promise.all([handle.fetchHistory(), handle.describe()]);
    return textOf([history, raw]);
  });
  return (await Promise.all(texts)).join('\n');
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).map(textOf).join('\n');
}

async function everyRow(): Promise<string> {
  const { database } = gateway;
  const tables = await database.query<{ name: string }>(
    '',
    `select quote_ident(table_name) as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  const rows = await Promise.all(
    tables.map(({ name }) =>
      database.query<{ rows: string | null }>('', `select string_agg(each::text, E'\\n') as rows from ${name} each`),
    ),
  );
  return rows
    .flat()
    .map((row) => row.rows ?? '')
    .join('\n');
}
