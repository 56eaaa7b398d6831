import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { createDetailRecorder, type DetailRow } from '../../../src/services/requests/detail-recorder.ts';
import { findRequest } from '../../../src/services/requests/find-request.ts';
import { findAnything } from '../../../src/services/search/find-anything.ts';
import { runMaintenance } from '../../../src/services/scheduled-jobs/maintenance.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { ensureDetailPartitions } from '../../../src/db/detail-rows.ts';
import { createMetrics, type Metrics } from '../../../src/platform/observe/metrics.ts';
import { rowsOf, run } from '../../db/books.ts';
import { awayFromMidnight } from '../../support/away-from-midnight.ts';
import { eventually } from '../../support/eventually.ts';
import { metricValue } from '../../support/metric-value.ts';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';
import { mediaRoutes } from '../../support/api-client.ts';
import { openUpkeep } from '../scheduled-jobs/upkeep.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { BOOKS_LAG_SECONDS: '0' } });
});
afterAll(() => gateway?.stop());

let project: TestProject;

/** Tests of the rows that the gateway writes about each request. BOOKS_LAG_SECONDS must be 0. */
describe('API details', () => {
  beforeAll(async () => {
    project = await gateway.project({ credits: 1_000_000 });
  });

  describe('API detail rows', () => {
    it('record key, route, model, status and cost of each request, and nothing of its content', async () => {
      const { apiKey } = project;
      const messages = [{ role: 'user', content: marker }];
      const models = await gateway.get(apiKey, '/api/v1/models');
      const unknownParameter = await gateway.get(apiKey, `/api/v1/models?${marker}`);
      const list = models.body['data'] as { id: string; type: string }[];
      const chatModel = list.find(({ type }) => type === 'chat')?.id;
      const headers = { 'idempotency-key': 'once' };
      const request = { model: chatModel, messages, user: marker };
      const chat = await gateway.create(apiKey, '/api/v1/chat/completions', request, { headers });
      expect(chat.status).toBe(200);
      const replayed = await gateway.create(apiKey, '/api/v1/chat/completions', request, { headers });
      expect(replayed.headers.get('x-tollgate-credits')).toBe(chat.headers.get('x-tollgate-credits'));
      const refused = await gateway.create(apiKey, '/api/v1/chat/completions', { model: marker, messages });
      const image = await gateway.create(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: marker });
      const legacyRoute = '/api/v1/api/generate';
      const legacy = await gateway.create(apiKey, legacyRoute, { model: 'aurora-image-1', prompt: marker });
      const unmatched = await gateway.get(apiKey, `/${marker}`);
      const noKey = await gateway.get(`sk-${marker}`, '/api/v1/models');
      const gemini = await gateway.create(apiKey, `/api/v1beta/models/${marker}:generateContent`, {
        contents: [{ parts: [{ text: marker }] }],
      });

      const requestOf = ({ headers }: { headers: Headers }): string => headers.get('x-request-id') ?? '';
      const own = { keyId: project.keyId };
      expect(await detailOf(requestOf(chat))).toMatchObject({
        ...own,
        method: 'POST',
        route: '/api/v1/chat/completions',
        modelId: chatModel,
        status: 200,
        credits: Number(chat.headers.get('x-tollgate-credits')),
        attempts: 1,
      });
      // The replay costs nothing.
      expect(await detailOf(requestOf(replayed))).toMatchObject({
        ...own,
        status: 200,
        credits: null,
        attempts: null,
      });
      expect(await detailOf(requestOf(refused))).toMatchObject({ ...own, modelId: null, status: refused.status });
      const { credits } = image.body as { credits: { quoted: number } };
      const priced = { ...own, modelId: 'aurora-image-1', credits: credits.quoted };
      expect(await detailOf(requestOf(image))).toMatchObject({ ...priced, route: mediaRoutes.image, status: 202 });
      expect(await detailOf(requestOf(legacy))).toMatchObject({ ...priced, route: legacyRoute, status: 200 });
      expect(await detailOf(requestOf(unmatched))).toMatchObject({ route: 'unmatched', status: 404 });
      expect(await detailOf(requestOf(noKey))).toMatchObject({ keyId: null, status: 401 });
      expect(await detailOf(requestOf(gemini))).toMatchObject({ ...own, modelId: null });
      expect(await detailOf(requestOf(unknownParameter))).toMatchObject({
        ...own,
        route: '/api/v1/models',
        status: 400,
      });
      expect(await detailOf(requestOf(models))).toMatchObject({ ...own, route: '/api/v1/models', credits: null });

      const task = await gateway.poll(apiKey, image.taskId);
      expect(task.status).toBe('succeeded');
      expect(JSON.stringify(await details())).not.toContain(marker);
    });

    const refusals: [code: string, key: object, modelId: string | null, change?: Record<string, unknown>][] = [
      ['insufficient_credits', { credits: 1 }, 'gpt-5-mini'],
      ['key_budget_exceeded', { budget: 1 }, 'gpt-5-mini'],
      ['model_not_allowed', { models: ['claude-haiku-5.5'] }, 'gpt-5-mini'],
      ['scope_not_allowed', { scopes: ['read'] }, null],
      ['rate_limit_exceeded', { rpm: 1 }, 'gpt-5-mini'],
      ['model_not_found', {}, null, { model: 'no-such-model' }],
      ['invalid_value', {}, null, { temperature: 'hot' }],
    ];
    it.each(refusals)('say of a chat refused as %s what it was, by its id', async (code, key, modelId, change = {}) => {
      const { apiKey, keyId, projectId } = await gateway.project(key);
      const chat = { model: 'gpt-5-mini', messages: [{ role: 'user', content: marker }], ...change };
      const send = () => gateway.create(apiKey, '/api/v1/chat/completions', chat);
      if (code === 'rate_limit_exceeded') await send();
      const refused = await send();
      expect(refused.body).toMatchObject({ error: { code } });
      const id = refused.headers.get('x-request-id') ?? '';
      await detailOf(id);
      const found = await findRequest({ db: gateway.database }, id);
      const { status } = refused;
      expect(found).toMatchObject({
        kind: 'answered',
        answered: { errorCode: code, status, keyId, projectId, modelId },
      });
      const url = `/console/requests/${id}`;
      expect(await findAnything({ db: gateway.database }, id)).toEqual([{ type: 'request', id, name: code, url }]);
      expect(JSON.stringify(found)).not.toContain(marker);
    });

    const image = 'aurora-image-1';
    const refusedPictures: [code: string, route: string, key: object, change?: Record<string, unknown>][] = [
      ['model_not_allowed', mediaRoutes.image, { models: ['flux-2-pro'] }],
      ['model_not_allowed', '/api/v1/api/generate', { models: ['flux-2-pro'] }],
      ['model_not_allowed', '/v1/images/generations', { models: ['flux-2-pro'] }],
      ['insufficient_credits', mediaRoutes.image, { credits: 1 }],
      ['max_credits_exceeded', mediaRoutes.image, {}, { max_credits: 1 }],
      ['invalid_value', mediaRoutes.image, {}, { img_size: '9k' }],
    ];
    it.each(refusedPictures)(
      'name the model of a picture refused as %s on %s',
      async (code, route, key, change = {}) => {
        const { apiKey } = await gateway.project(key);
        const refused = await gateway.create(apiKey, route, { model: image, prompt: marker, ...change });
        expect(refused.body).toMatchObject({ error: { code } });
        expect(await detailOf(refused.headers.get('x-request-id') ?? '')).toMatchObject({ modelId: image });
      },
    );

    it('say that no channel was there, and nothing of a chat with credits, which has rows of its own', async () => {
      const send = () =>
        gateway.create(project.apiKey, '/api/v1/chat/completions', {
          model: 'gpt-5-mini',
          messages: [{ role: 'user', content: 'Hello' }],
        });
      const charged = await send();
      const chatId = charged.headers.get('x-request-id') ?? '';
      expect(await findRequest({ db: gateway.database }, chatId)).toMatchObject({ kind: 'chat', answered: null });
      await run(gateway.database, `update channel set enabled = false`);
      try {
        const id = await eventually(
          async () => {
            const { status, headers } = await send();
            return status === 503 ? (headers.get('x-request-id') ?? '') : undefined;
          },
          { what: 'a chat that no channel can take' },
        );
        await detailOf(id);
        const { answered } = await findRequest({ db: gateway.database }, id);
        expect(answered).toMatchObject({ errorCode: 'no_channel_available', modelId: 'gpt-5-mini' });
      } finally {
        await run(gateway.database, `update channel set enabled = true`);
      }
      await eventually(async () => (await send()).status === 200, { what: 'channels that serve again' });
    });

    it('are written before the API server exits', async () => {
      const { name, baseUrl } = await gateway.startApi();
      const { headers } = await gateway.get(project.apiKey, '/api/v1/models', { baseUrl });
      await gateway.kill(name, 'SIGTERM');
      const rows = await details();
      expect(rows.map((row) => row['requestId'])).toContain(headers.get('x-request-id'));
    });

    it('do not fail a request if they cannot be written, and lost rows are logged', async () => {
      await run(gateway.database, 'alter table api_detail rename to api_detail_away');
      try {
        expect((await gateway.get(project.apiKey, '/api/v1/models')).status).toBe(200);
        await eventually(() => Promise.resolve(logs().includes('API details were lost')));
      } finally {
        await run(gateway.database, 'alter table api_detail_away rename to api_detail');
      }
      const { headers } = await gateway.get(project.apiKey, '/api/v1/models');
      await detailOf(headers.get('x-request-id') ?? '');
    });

    it('of forty days, 80,000 in all, are deleted while requests are served', async () => {
      // Less than the limit of a test.
      await awayFromMidnight({ secondsLeft: 120 });
      await run(
        gateway.database,
        `do $$ begin
       for n in 2..40 loop
         execute format('create table %I partition of api_detail for values from (%L) to (%L)',
           api_detail_partition((clock_timestamp() at time zone 'UTC')::date - n),
           to_char((clock_timestamp() at time zone 'UTC')::date - n, 'YYYY-MM-DD') || ' 00:00:00+00',
           to_char((clock_timestamp() at time zone 'UTC')::date - n + 1, 'YYYY-MM-DD') || ' 00:00:00+00');
       end loop;
     end $$`,
      );
      await run(
        gateway.database,
        `insert into api_detail (at, request_id, method, route, status, ms)
     select date_trunc('day', clock_timestamp() at time zone 'UTC') at time zone 'UTC' - (1 + n % 40) * interval '1 day' + interval '1 hour',
            'req_' || n, 'GET', '/api/v1/models', 200, 1 from generate_series(0, 79999) n`,
      );
      const upkeep = await openUpkeep(gateway.database);
      try {
        const statuses = new Set<number>();
        let served = 0;
        const work = runMaintenance(upkeep);
        let over = false;
        const ended = work.finally(() => (over = true));
        do {
          const { status } = await gateway.create(project.apiKey, '/api/v1/chat/completions', {
            model: await aChatModel(),
            messages: [{ role: 'user', content: 'hello' }],
          });
          statuses.add(status);
          served += 1;
        } while (!over);
        const summary = await ended;
        expect([...statuses]).toEqual([200]);
        expect(served).toBeGreaterThan(0);
        expect(summary).toMatchObject({
          detail_partitions_dropped: 10,
          detail_rows_dropped: 20_000,
          failed_steps: [],
        });
        expect(summary.step_ms['details']).toBeGreaterThanOrEqual(0);
      } finally {
        upkeep.removeFolder();
      }
      expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
    });
  });

  describe('the detail recorder', () => {
    it('buffers rows while the database is unavailable, counts those that do not fit, and writes the others later', async () => {
      const name = `away_${randomUUID().slice(0, 8)}`;
      const db = openDatabase({
        url: gateway.databaseUrl,
        poolMax: 2,
        connectTimeoutMs: 15_000,
        statementTimeoutMs: 15_000,
      });
      const metrics = createMetrics();
      const recorder = createDetailRecorder(
        { db, metrics, logger: pino({ level: 'silent' }) },
        { rowsMax: 20, batchMax: 5, waitMs: 10 },
      );
      const refuse = db.query.bind(db);
      let unavailable = true;
      db.query = (name, text, values) =>
        unavailable
          ? Promise.reject(Object.assign(new Error('unavailable'), { code: 'ECONNREFUSED' }))
          : refuse(name, text, values);
      try {
        await ensureDetailPartitions(gateway.database);
        for (let n = 0; n < 26; n++) recorder.record(aRow(`${name}_${String(n).padStart(2, '0')}`));
        await eventually(async () => (await lostRows(metrics)) === 6);
        unavailable = false;
        await recorder.close(60_000);
        recorder.record(aRow(`${name}_late`));
        expect(await lostRows(metrics)).toBe(7);
        const rows = await rowsOf<{ n: number }>(
          gateway.database,
          `select count(*)::float8 as n from api_detail where starts_with(request_id, $1)`,
          [name],
        );
        expect(rows).toEqual([{ n: 20 }]);
      } finally {
        await db.close();
      }
    });

    it('writes a batch once if the reply to the first write was lost', async () => {
      const name = `lost_${randomUUID().slice(0, 8)}`;
      const db = openDatabase({
        url: gateway.databaseUrl,
        poolMax: 2,
        connectTimeoutMs: 15_000,
        statementTimeoutMs: 15_000,
      });
      const send = db.query.bind(db);
      let lost = 0;
      db.query = async (text, sql, values) => {
        const rows = await send(text, sql, values);
        if (lost++ === 0) throw Object.assign(new Error('the reply was lost'), { code: 'ECONNRESET' });
        return rows as never;
      };
      try {
        await ensureDetailPartitions(gateway.database);
        const recorder = createDetailRecorder(
          { db, metrics: createMetrics(), logger: pino({ level: 'silent' }) },
          { batchMax: 3, waitMs: 10 },
        );
        for (let n = 0; n < 4; n++) recorder.record(aRow(`${name}_${n}`));
        await recorder.close(60_000);
        const rows = await rowsOf<{ id: string }>(
          gateway.database,
          `select request_id as id from api_detail where starts_with(request_id, $1) order by 1`,
          [name],
        );
        expect(rows).toEqual([0, 1, 2, 3].map((n) => ({ id: `${name}_${n}` })));
      } finally {
        await db.close();
      }
    });

    it('counts the waiting rows as lost if the database is still unavailable when the recorder closes', async () => {
      const db = openDatabase({
        url: 'postgresql://nobody@127.0.0.1:1/nothing',
        poolMax: 2,
        connectTimeoutMs: 200,
        statementTimeoutMs: 1_000,
      });
      const metrics = createMetrics();
      const recorder = createDetailRecorder({ db, metrics, logger: pino({ level: 'silent' }) });
      for (let n = 0; n < 3; n++) recorder.record(aRow(`req_${n}`));
      await recorder.close(100);
      expect(await lostRows(metrics)).toBe(3);
      await db.close();
    });
  });
});
const lostRows = async (metrics: Metrics): Promise<number> =>
  metricValue(await metrics.page(), 'tollgate_api_details_lost_total');
const marker = `canary${randomUUID().replaceAll('-', '')}`;
const details = () => rowsOf<Record<string, unknown>>(gateway.database, 'select * from api_detail order by at');
const detailOf = (requestId: string) =>
  eventually(async () => (await details()).find((row) => row['requestId'] === requestId), {
    what: `the detail row of ${requestId}`,
  });

const aRow = (requestId: string): DetailRow => ({
  atMs: Date.now(),
  requestId,
  method: 'GET',
  route: '/api/v1/models',
  keyId: null,
  modelId: null,
  status: 200,
  ms: 1,
  credits: null,
  attempts: null,
  errorCode: null,
});

let chatModel: string | undefined;
async function aChatModel(): Promise<string> {
  if (chatModel === undefined) {
    const { body } = await gateway.get(project.apiKey, '/api/v1/models');
    chatModel = (body['data'] as { id: string; type: string }[]).find(({ type }) => type === 'chat')?.id ?? '';
  }
  return chatModel;
}

const logs = (): string =>
  readdirSync(gateway.logFolder)
    .filter((name) => name.startsWith('api-'))
    .map((name) => readFileSync(join(gateway.logFolder, name), 'utf8'))
    .join('');
