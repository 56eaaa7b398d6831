import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { createAdminToken } from '../../src/services/operators/create-admin-token.ts';
import { testConfig } from '../support/test-config.ts';
import { connectionsTo } from '../support/processes.ts';
import { chooseOwnPort } from '../support/own-port.ts';
import { letModelsStream, stream } from '../services/chat/streams.ts';
import { within } from '../services/chat/within.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.ts';
import { replay } from '../workflows/replay.ts';

let receiver: OtlpReceiver;
let gateway: Gateway;
let project: TestProject;

beforeAll(async () => {
  receiver = await startOtlpReceiver();
  gateway = await startGateway({
    temporalClient: true,
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20collector',
      POLL_INLINE_SECONDS: '1',
      ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS: '3',
    },
  });
  project = await gateway.project({ credits: 10_000 });
});
afterAll(async () => {
  await gateway?.stop();
  await receiver?.close();
});

/** The beginning of a trace at a client. */
function aClient() {
  const traceId = randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-01` } };
}

async function anImage(prompt: string, over: { baseUrl?: string } = {}) {
  const client = aClient();
  const body = {
    model: 'aurora-image-1',
    prompt,
    callback_url: `${gateway.sandboxUrl}/_sandbox/inbox/${client.traceId}`,
  };
  const taskId = await gateway.accept(project.apiKey, mediaRoutes.image, body, { ...over, headers: client.headers });
  return { ...client, taskId };
}

const chat = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hello' }], max_tokens: 16 };
const chatRoute = '/api/v1/chat/completions';

/** A PNG. */
const onePixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
  // A chat alone has short statements of its own.
  const span = spans.find((one) => one.name === name || one.name === `${name}_alone`);
  if (!span) throw new Error(`no span ${name}`);
  return span;
};

/** The names of the spans above a span, the nearest first. */
function above(spans: readonly ReceivedSpan[], name: string): string[] {
  const names: string[] = [];
  let span: ReceivedSpan | undefined = named(spans, name);
  while ((span = spans.find(({ spanId }) => spanId === span?.parentSpanId))) names.push(span.name);
  return names;
}

/** The spans whose parent is none of the trace's. */
const roots = (spans: readonly ReceivedSpan[]) => {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  return spans.filter(({ parentSpanId }) => !ids.has(parentSpanId));
};

const create = `POST ${mediaRoutes.image}`;
const fromCreateToCallback = [
  create,
  'create task',
  'sql create_tasks',
  'RunWorkflow:mediaTask',
  'RunActivity:planTask',
  'reserve credits',
  'sql reserve-tasks',
  'RunActivity:attempt',
  'sql start_attempt',
  'upstream submit',
  'upstream poll',
  'download',
  'end attempt and task',
  'sql finish-attempts',
  'RunActivity:deliver',
  'sql claim_delivery',
  'fetch callback',
];

describe('a chat', () => {
  it('is one trace from the request to its settlement', async () => {
    const { traceId, headers } = aClient();
    expect((await gateway.create(project.apiKey, chatRoute, chat, { headers })).status).toBe(200);
    const spans = await receiver.traceWith(traceId, [`POST ${chatRoute}`]);
    const names = spans.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'admit chat',
        'sql admit_chats_alone',
        'upstream chat',
        'settle chat',
        'sql finish_chats_alone',
      ]),
    );
    expect(above(spans, 'sql admit_chats')).toEqual(['admit chat', `POST ${chatRoute}`]);
    expect(named(spans, 'upstream chat').attributes).toMatchObject({
      'tollgate.outcome': 'ok',
      'http.response.status_code': 200,
      'tollgate.channel_id': expect.any(String),
      'tollgate.family': expect.any(String),
      'tollgate.upstream_model': expect.any(String),
      // OpenTelemetry's conventions for generative AI.
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': expect.any(String),
      'gen_ai.request.max_tokens': 16,
      'gen_ai.output.type': 'text',
      'gen_ai.response.finish_reasons': expect.stringMatching(/^(stop|length)$/),
      'gen_ai.usage.input_tokens': expect.any(Number),
      'gen_ai.usage.output_tokens': expect.any(Number),
    });
    expect(roots(spans).map(({ name }) => name)).toEqual([`POST ${chatRoute}`]);
  });

  it('has the statement of a batch in its own trace, with a link to the trace of the first member', async () => {
    const clients = Array.from({ length: 24 }, aClient);
    const port = Number(new URL(gateway.baseUrl).port);
    // The server finds all of them together, also where a machine opens one connection after another.
    await gateway.kill('api-1', 'SIGSTOP');
    try {
      const answers = clients.map(({ headers }) => gateway.create(project.apiKey, chatRoute, chat, { headers }));
      await eventually(() => Promise.resolve(connectionsTo(port) >= clients.length));
      await gateway.kill('api-1', 'SIGCONT');
      await Promise.all(answers);
    } finally {
      await gateway.kill('api-1', 'SIGCONT');
    }
    const traces = await Promise.all(clients.map(({ traceId }) => receiver.traceWith(traceId, [`POST ${chatRoute}`])));
    for (const spans of traces) {
      expect(above(spans, 'sql admit_chats')).toEqual(['admit chat', `POST ${chatRoute}`]);
      expect(above(spans, 'sql finish_chats')).toEqual(['settle chat', `POST ${chatRoute}`]);
    }
    const ofBatches = traces.flat().filter(({ links }) => links.length > 0);
    const firsts = new Set(traces.flat().map(({ spanId }) => spanId));
    expect(ofBatches.length).toBeGreaterThan(0);
    expect(ofBatches.every(({ links }) => links.every(({ spanId }) => firsts.has(spanId)))).toBe(true);
  });

  it('has the span of a streamed answer until its end, and the settlement after it', async () => {
    await letModelsStream(gateway, project.apiKey, ['gpt-5-mini']);
    const before = receiver.spans.length;
    expect((await stream(gateway, project.apiKey, { text: 'hello' })).isDone).toBe(true);
    const span = await eventually(() =>
      Promise.resolve(receiver.spans.slice(before).find(({ name }) => name === 'upstream chat stream')),
    );
    const spans = await receiver.traceWith(span.traceId, [
      'settle chat',
      'sql finish_chats_alone',
      `POST ${chatRoute}`,
    ]);
    expect(named(spans, 'upstream chat stream')).toMatchObject({
      failure: null,
      attributes: {
        'tollgate.outcome': 'ok',
        'gen_ai.request.stream': true,
        'gen_ai.response.finish_reasons': expect.stringMatching(/^(stop|length)$/),
        'gen_ai.usage.output_tokens': expect.any(Number),
      },
    });
  });

  it("is counted in the conventions' metrics, also where its trace is not recorded", async () => {
    const port = await chooseOwnPort();
    const { baseUrl } = await gateway.startApi({ ADMIN_PORT: String(port) });
    const page = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const labels = 'gen_ai_operation_name="chat",gen_ai_provider_name="openai"';
    const countOf = async (name: string) =>
      [...(await page()).matchAll(new RegExp(`^${name}\\{${labels}.* (\\d+)$`, 'gm'))].reduce(
        (sum, [, count]) => sum + Number(count),
        0,
      );
    const names = ['gen_ai_client_operation_duration_seconds_count', 'gen_ai_client_token_usage_count'];
    const headers = { traceparent: `00-${aClient().traceId}-${'1'.repeat(16)}-00` };
    await gateway.create(project.apiKey, chatRoute, chat, { headers, baseUrl });
    // The tokens of the input and those of the output.
    expect(await Promise.all(names.map(countOf))).toEqual([1, 2]);
  });

  it('has what was said only in the traces of a project that has opted in, redacted unless it wants all', async () => {
    await letModelsStream(gateway, project.apiKey, ['gpt-5-mini']);
    const secrets = { key: `sk-${'a1'.repeat(23)}`, email: 'ada@example.com', card: '4111 1111 1111 1111' };
    const text = `my key ${secrets.key}, my mail ${secrets.email}, my card ${secrets.card}, order 4111111111111112`;
    const messages = [
      { role: 'system', content: 'be brief' },
      {
        role: 'user',
        content: [
          { type: 'text', text },
          { type: 'image_url', image_url: { url: onePixel } },
        ],
      },
    ];
    const contentIn = async (isStream: boolean) => {
      const { traceId, headers } = aClient();
      const body = { ...chat, messages, stream: isStream };
      const answer = await fetch(`${gateway.baseUrl}${chatRoute}`, {
        method: 'POST',
        headers: { ...headers, authorization: `Bearer ${content.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect([answer.status, (await answer.text()).length > 0]).toEqual([200, true]);
      const name = isStream ? 'upstream chat stream' : 'upstream chat';
      const spans = await receiver.traceWith(traceId, [name, `POST ${chatRoute}`]);
      const others = spans.filter((span) => span.name !== name);
      for (const value of Object.values(secrets)) expect(JSON.stringify(others)).not.toContain(value);
      expect(JSON.stringify(spans)).not.toContain(onePixel.slice(0, 60));
      const { attributes } = named(spans, name);
      return ['gen_ai.system_instructions', 'gen_ai.input.messages', 'gen_ai.output.messages'].map(
        (fact) => attributes[fact] ?? null,
      );
    };
    const content = await gateway.project({ credits: 1_000 });
    const wants = async (how: string | null) => {
      await gateway.database.query('', 'update project set trace_content = $2 where id = $1', [content.projectId, how]);
    };
    expect([await contentIn(false), await contentIn(true)]).toEqual([
      [null, null, null],
      [null, null, null],
    ]);
    await wants('redacted');
    for (const isStream of [false, true]) {
      const [instructions, input, output] = await eventually(async () => {
        const facts = await contentIn(isStream);
        return facts[1] !== null && facts;
      });
      expect(instructions).toBe('[{"type":"text","content":"be brief"}]');
      expect(JSON.parse(String(input))).toEqual([
        {
          role: 'user',
          parts: [
            { type: 'text', content: 'my key [key], my mail [email], my card [card], order 4111111111111112' },
            { type: 'uri', modality: 'image', uri: '[not recorded]' },
          ],
        },
      ]);
      expect(JSON.parse(String(output))).toEqual([
        {
          role: 'assistant',
          parts: [{ type: 'text', content: expect.stringMatching(/./) }],
          finish_reason: expect.stringMatching(/^(stop|length)$/),
        },
      ]);
    }
    await wants('full');
    await eventually(async () => String((await contentIn(false))[1]).includes(secrets.email));
  });

  it('is not recorded if its client says so', async () => {
    const { traceId } = aClient();
    const headers = { traceparent: `00-${traceId}-${'1'.repeat(16)}-00` };
    await gateway.create(project.apiKey, chatRoute, chat, { headers });
    const later = aClient();
    await gateway.create(project.apiKey, chatRoute, chat, { headers: later.headers });
    await receiver.traceWith(later.traceId, [`POST ${chatRoute}`]);
    expect(receiver.trace(traceId)).toEqual([]);
  });
});

describe('a media task', () => {
  it('is one trace from the create request to its callback, which continues the trace of its client', async () => {
    const { traceId, spanId } = await anImage('a red fox');
    const spans = await receiver.traceWith(traceId, [...fromCreateToCallback, 'UpdateWithStartWorkflow:reserved']);
    expect(named(spans, create)).toMatchObject({
      service: 'tollgate-api',
      parentSpanId: spanId,
      failure: null,
      attributes: {
        'http.route': mediaRoutes.image,
        'http.response.status_code': 202,
        'tollgate.project_id': project.projectId,
      },
    });
    expect(roots(spans).map(({ name }) => name)).toEqual([create]);
    expect(above(spans, 'sql create_tasks')).toEqual(['create task', create]);
    const aboveSubmit = above(spans, 'upstream submit');
    expect(aboveSubmit.slice(0, 3)).toEqual(['RunActivity:attempt', 'StartActivity:attempt', 'RunWorkflow:mediaTask']);
    // Between them the request itself, or on a slow machine the starter, has started the workflow.
    expect(aboveSubmit.at(-1)).toBe(create);
    expect(above(spans, 'fetch callback').slice(0, 3)).toEqual([
      'RunActivity:deliver',
      'StartActivity:deliver',
      'RunWorkflow:mediaTask',
    ]);
    expect(named(spans, 'upstream submit')).toMatchObject({
      service: 'tollgate-worker',
      attributes: { 'tollgate.outcome': 'ok', 'server.address': '127.0.0.1', 'http.response.status_code': 200 },
    });
    expect(named(spans, 'fetch callback').attributes).toMatchObject({ 'http.response.status_code': 200 });
  });

  it('has a history with the commands of one without traces, which a worker without traces replays', async () => {
    // The first poll finds the result, so that no slow machine parks the job.
    const { traceId, taskId } = await anImage('a red fox [[latency=0]]');
    await receiver.traceWith(traceId, ['RunWorkflow:mediaTask']);
    const history = await gateway.temporal.client.workflow.getHandle(taskId).fetchHistory();
    const recorded = new URL('../workflows/histories/with-callback.json', import.meta.url);
    expect(commandsIn(historyToJSON(history))).toEqual(commandsIn(readFileSync(recorded, 'utf8')));
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-histories-'));
    try {
      writeFileSync(join(folder, `${taskId}.json`), historyToJSON(history));
      expect(await replay(folder)).toEqual({ [taskId]: null });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('has its trace id in the log lines of the API and of the worker', async () => {
    const { traceId, taskId } = await anImage('a grey fox');
    await receiver.traceWith(traceId, ['fetch callback']);
    const isLogged = (message: string, about: string) =>
      logLines().some((line) =>
        [`"trace_id":"${traceId}"`, `"msg":"${message}"`, about].every((part) => line.includes(part)),
      );
    // A callback is logged once its result is written, and its span ends before.
    await eventually(() => Promise.resolve(isLogged('request', mediaRoutes.image)), { what: 'the line of the API' });
    await eventually(() => Promise.resolve(isLogged('callback tried', taskId)), { what: 'the line of the worker' });
  });

  it('continues its trace in the polls of its parked job and in the signal that collects the result', async () => {
    const { traceId } = await anImage('a slow fox [[latency=20000]]');
    const spans = await receiver.traceWith(traceId, [
      ...fromCreateToCallback,
      'poll the parked job',
      'collect the result',
      'HandleSignal:collect',
    ]);
    expect(above(spans, 'poll the parked job')).toEqual([create]);
    expect(spans.filter(({ name }) => name === 'RunActivity:attempt').length).toBeGreaterThan(1);
  });

  it('continues its trace when the loop of a worker starts its workflow later', async () => {
    const { name, baseUrl } = await gateway.startApi({ CREATE_WAIT_MS: '0' });
    const { traceId } = await anImage('a late fox', { baseUrl });
    const spans = await receiver.traceWith(traceId, [...fromCreateToCallback, 'StartWorkflow:mediaTask']);
    expect(above(spans, 'RunWorkflow:mediaTask')).toEqual(['StartWorkflow:mediaTask', 'start the workflow', create]);
    await gateway.kill(name);
  });

  it('stays one trace when its worker is killed while it polls', async () => {
    const { traceId, taskId } = await anImage('a tough fox [[latency=6000]]');
    await eventually(async () => {
      const rows = await gateway.database.query(
        '',
        'select 1 from attempt where request_id = $1 and operation is not null',
        [taskId],
      );
      return rows.length === 1;
    });
    await gateway.kill('worker-1');
    await gateway.startWorker();
    await receiver.traceWith(traceId, [
      create,
      'create task',
      'RunWorkflow:mediaTask',
      'RunActivity:attempt',
      'upstream poll',
      'download',
      'end attempt and task',
      'RunActivity:deliver',
      'fetch callback',
    ]);
    const about = receiver.spans.filter(
      ({ attributes }) => attributes['temporalWorkflowId'] === taskId || attributes['tollgate.task_id'] === taskId,
    );
    expect(new Set(about.map((span) => span.traceId))).toEqual(new Set([traceId]));
  });
});

describe('a change of an operator', () => {
  it('is one trace with its statements, also those that MikroORM writes, without their values', async () => {
    const port = await chooseOwnPort();
    const { name: api } = await gateway.startApi({ ADMIN_PORT: String(port) });
    const deps = { db: gateway.database, config: testConfig(gateway.env) };
    const { token } = await createAdminToken(deps, { actor: 'test', name: 'ada', role: 'owner', expiresAt: null });
    const { traceId, headers } = aClient();
    const answer = await fetch(`http://127.0.0.1:${port}/api/admin/v1/projects`, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'the fox project' }),
    });
    expect(answer.status).toBe(200);
    const route = 'POST /api/admin/v1/projects';
    const spans = await receiver.traceWith(traceId, [route]);
    expect(above(spans, 'sql insert project')).toEqual([route]);
    expect(named(spans, 'sql insert project')).toMatchObject({
      failure: null,
      attributes: { 'db.system.name': 'postgresql', 'db.operation.name': 'insert project' },
    });
    expect(spans.map(({ name }) => name)).toEqual(expect.arrayContaining(['sql begin', 'sql commit']));
    expect(JSON.stringify(spans)).not.toContain('the fox project');
    await gateway.kill(api);
  });
});

describe('the collector', () => {
  it('receives the configured headers', () => {
    expect(receiver.authorizations).toEqual(new Set(['Bearer collector']));
  });

  it('delays neither a request nor a stop when it is away', async () => {
    const unusedUrl = `http://127.0.0.1:${await chooseOwnPort()}`;
    const { name, baseUrl } = await gateway.startApi({ OTEL_EXPORTER_OTLP_ENDPOINT: unusedUrl });
    const answer = await gateway.create(project.apiKey, chatRoute, chat, { baseUrl });
    expect(answer.status).toBe(200);
    await within(10, gateway.kill(name, 'SIGTERM'));
    expect(await gateway.exited(name)).toBe('code 0');
  });
});

describe('without OTEL_EXPORTER_OTLP_ENDPOINT', () => {
  it('an API server and a worker load no package of OpenTelemetry but the interfaces that the metrics use, and none of MikroORM', async () => {
    await gateway.kill('worker-2');
    const file = join(gateway.logFolder, 'loaded-modules');
    const hook = fileURLToPath(new URL('../support/loaded-modules.mjs', import.meta.url));
    const off = { OTEL_EXPORTER_OTLP_ENDPOINT: '', NODE_OPTIONS: `--import=${hook}`, LOADED_MODULES: file };
    const [{ baseUrl }] = await Promise.all([gateway.startApi(off), gateway.startWorker(off)]);
    const before = receiver.spans.length;
    const { traceId, taskId } = await anImage('an unseen fox', { baseUrl });
    await gateway.create(project.apiKey, chatRoute, chat, { baseUrl });
    await gateway.poll(project.apiKey, taskId, {});
    expect(receiver.trace(traceId)).toEqual([]);
    expect(receiver.spans.slice(before).filter(({ service }) => service === 'tollgate-worker')).toEqual([]);
    expect([...new Set(readFileSync(file, 'utf8').trim().split('\n'))]).toEqual(['@opentelemetry/api']);
  });
});

/** The events of a history that a workflow causes, whatever the pace of the machine. */
const commandsIn = (json: string): string[] =>
  History.parse(JSON.parse(json))
    .events.map(({ eventType }) => eventType)
    .filter((type) => /SCHEDULED|MARKER|TIMER_STARTED|UPSERT/.test(type) && !type.includes('WORKFLOW_TASK'));
const History = z.object({ events: z.array(z.object({ eventType: z.string() })) });

const logLines = (): string[] =>
  readdirSync(gateway.logFolder)
    .filter((name) => name.endsWith('.log'))
    .flatMap((name) => readFileSync(join(gateway.logFolder, name), 'utf8').split('\n'));
