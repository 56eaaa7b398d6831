import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mediaRoutes, type Answer } from '../support/api-client.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { accountOf, countRows, entriesOf } from '../support/rows.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ apis: 2 });
});
afterAll(() => gateway?.stop());

/** Tests of credits and idempotency keys. The gateway must have two API servers. The last test changes the catalog. */
describe('credits of media tasks', () => {
  beforeAll(() => {});
  afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

  describe('credits', () => {
    it('admit exactly as many parallel creates as they cover over two API servers, and the others get 402', async () => {
      const { apiKey, projectId } = await gateway.project({ credits: 7 * imageCredits + 3 });
      const answers = await inParallel(24, (index) =>
        gateway.create(apiKey, mediaRoutes.image, image, { baseUrl: api(index) }),
      );
      const accepted = answers.filter(({ status }) => status === 202);
      const refused = answers.filter(({ status }) => status !== 202);
      expect(accepted).toHaveLength(7);
      for (const { status, body, headers } of refused) {
        expect([status, body]).toMatchObject([402, { error: { code: 'insufficient_credits', type: 'billing_error' } }]);
        expect([headers.get('x-should-retry'), headers.get('retry-after')]).toEqual(['false', null]);
      }
      for (const { taskId } of accepted) {
        expect((await gateway.poll(apiKey, taskId)).credits).toEqual({
          quoted: 4,
          reserved: 4,
          charged: 4,
          refunded: 0,
        });
      }
      expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 3, reserved: 0 });
      expect(await visibleTasks(projectId)).toBe(7);
    });

    it('are not spent twice if a create ends in 503: without a key it never runs, and with a key a retry finds its task', async () => {
      const { apiKey, projectId } = await gateway.project({ credits: 2 * imageCredits });
      // The wait for the lock ends after two seconds. A busy machine may need more than one for the other statements.
      const { baseUrl } = await gateway.startApi({ DATABASE_STATEMENT_TIMEOUT_MS: '8000' });
      const key = randomUUID();
      const taken = Promise.withResolvers<undefined>();
      const free = Promise.withResolvers<undefined>();
      const locked = gateway.database.transaction('begin', async (query) => {
        await query('', 'select from credit_account where project_id = $1 for update', [projectId]);
        taken.resolve(undefined);
        await free.promise;
      });
      await taken.promise;
      const create = (headers: Record<string, string>) =>
        gateway.create(apiKey, mediaRoutes.image, image, { baseUrl, headers });
      const [unkeyed, keyed] = await Promise.all([create({}), create({ 'idempotency-key': key })]);
      free.resolve(undefined);
      await locked;

      const reportedBy = ({ status, headers }: Answer) => [
        status,
        headers.get('x-should-retry'),
        headers.get('x-tollgate-accepted'),
      ];
      expect([reportedBy(unkeyed), reportedBy(keyed)]).toEqual([
        [503, null, 'no'],
        [503, null, 'unknown'],
      ]);
      expect(JSON.stringify(unkeyed.body)).toContain('was not accepted');
      expect(JSON.stringify(keyed.body)).toContain('same Idempotency-Key');
      // Another API server has the usual time for its statements.
      const found = await createWithKey(apiKey, key, image);
      expect(found.headers.get('idempotent-replayed')).toBe('true');
      expect(await gateway.poll(apiKey, found.taskId)).toMatchObject({ status: 'succeeded' });
      // Only the task of the key was charged.
      expect(await accountOf(gateway.database, projectId)).toEqual({ balance: imageCredits, reserved: 0 });
      const rows = await gateway.database.query<{ admission: string }>(
        'test-admissions',
        'select admission from task where project_id = $1 order by admission',
        [projectId],
      );
      expect(rows).toEqual([{ admission: 'rejected' }, { admission: 'reserved' }]);
    });

    it('are never overdrawn by parallel creates of mixed prices, and every refused create exceeds the remaining credits', async () => {
      const { apiKey, projectId } = await gateway.project({ credits: 61 });
      const sizes = ['1k', '2k', '4k'] as const;
      const prices = { '1k': 4, '2k': 8, '4k': 16 };
      const answers = await inParallel(21, async (index) => {
        const size = sizes[index % 3] ?? '1k';
        const answer = await gateway.create(
          apiKey,
          mediaRoutes.image,
          { ...image, img_size: size },
          { baseUrl: api(index) },
        );
        return { ...answer, price: prices[size] };
      });
      const spent = sum(answers.filter(({ status }) => status === 202).map(({ price }) => price));
      const cheapestRefused = Math.min(...answers.filter(({ status }) => status === 402).map(({ price }) => price));
      expect(answers.every(({ status }) => status === 202 || status === 402)).toBe(true);
      expect(spent).toBeLessThanOrEqual(61);
      expect(61 - spent).toBeLessThan(cheapestRefused);
      const { balance, reserved } = await accountOf(gateway.database, projectId);
      expect(balance + reserved).toBeLessThanOrEqual(61);
      await Promise.all(
        answers.filter(({ taskId }) => taskId !== '').map(({ taskId }) => gateway.poll(apiKey, taskId)),
      );
      expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 61 - spent, reserved: 0 });
    });

    it('that do not cover a create refuse the create without writing a row', async () => {
      const { apiKey } = await gateway.project({ credits: imageCredits - 1 });
      const before = await countRows(gateway.database);
      const answer = await gateway.create(apiKey, mediaRoutes.image, image, {
        headers: { 'idempotency-key': randomUUID() },
      });
      expect(answer).toMatchObject({ status: 402, body: { error: { code: 'insufficient_credits', param: null } } });
      expect(await countRows(gateway.database)).toEqual(before);
    });

    it("are limited by a key's budget, which other keys of the project do not share", async () => {
      const project = await gateway.project({ credits: 100, budget: 2 * imageCredits });
      const answers = await inParallel(6, (index) =>
        gateway.create(project.apiKey, mediaRoutes.image, image, { baseUrl: api(index) }),
      );
      const refused = answers.filter(({ status }) => status !== 202);
      expect(answers.length - refused.length).toBe(2);
      for (const { status, body, headers } of refused) {
        expect([status, body]).toMatchObject([402, { error: { code: 'key_budget_exceeded' } }]);
        expect(headers.get('x-should-retry')).toBe('false');
      }
      const other = await gateway.key(project.projectId);
      expect(await gateway.create(other.apiKey, mediaRoutes.image, image)).toMatchObject({ status: 202 });
    });
  });

  describe('an Idempotency-Key', () => {
    it('turns twenty parallel creates over two API servers into one task with one hold, returned in every 202', async () => {
      const { apiKey, projectId } = await gateway.project({ credits: 100 });
      const key = randomUUID();
      const answers = await inParallel(20, (index) => createWithKey(apiKey, key, image, api(index)));
      const good = answers.filter(({ status }) => status === 202);
      expect(answers.filter(({ status }) => status !== 202 && status !== 409)).toEqual([]);
      expect(good.length).toBeGreaterThan(0);
      expect(new Set(good.map(({ taskId }) => taskId)).size).toBe(1);
      expect(good.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);

      const taskId = good[0]?.taskId ?? '';
      expect(await gateway.poll(apiKey, taskId)).toMatchObject({ status: 'succeeded' });
      expect(await entriesOf(gateway.database, taskId)).toEqual({ settle: 1 });
      expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 96, reserved: 0 });
      expect(await visibleTasks(projectId)).toBe(1);
    });

    it('returns the current state of the task with status 202 and Idempotent-Replayed', async () => {
      const { apiKey } = await gateway.project();
      const key = randomUUID();
      const first = await createWithKey(apiKey, key, image);
      await gateway.poll(apiKey, first.taskId);
      // The order of JSON members does not matter.
      const again = await createWithKey(apiKey, key, { prompt: image.prompt, model: image.model });
      expect(again).toMatchObject({ status: 202, taskId: first.taskId, body: { status: 'succeeded' } });
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(first.headers.get('idempotent-replayed')).toBe(null);
    });

    it('is required for deduplication: two equal requests without a key create two tasks', async () => {
      const { apiKey, projectId } = await gateway.project({ credits: 100 });
      const clicks = await Promise.all([1, 2].map(() => gateway.accept(apiKey, mediaRoutes.image, image)));
      expect(new Set(clicks).size).toBe(2);
      for (const taskId of clicks) await gateway.poll(apiKey, taskId);
      expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 92, reserved: 0 });
    });

    it('refuses another body with 422 and holds no credits for it', async () => {
      const { apiKey, projectId } = await gateway.project({ credits: 100 });
      const key = randomUUID();
      const { taskId } = await createWithKey(apiKey, key, image);
      const other = await createWithKey(apiKey, key, { ...image, prompt: 'a badger' });
      expect(other).toMatchObject({
        status: 422,
        body: { error: { code: 'idempotency_key_reused', type: 'idempotency_error' } },
      });
      await gateway.poll(apiKey, taskId);
      expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 96, reserved: 0 });
    });

    it('of a create that was refused for lack of credits can be used again', async () => {
      const { apiKey, projectId } = await gateway.project({ credits: 0 });
      const key = randomUUID();
      expect(await createWithKey(apiKey, key, image)).toMatchObject({ status: 402 });
      await gateway.addCredits(projectId, 10);
      const second = await createWithKey(apiKey, key, { ...image, img_size: '2k' });
      expect(second).toMatchObject({ status: 202, body: { credits: { quoted: 8 } } });
      expect(second.headers.get('idempotent-replayed')).toBe(null);
    });

    it('of a create that lost its credits to a parallel create can be used again', async () => {
      const { apiKey, projectId } = await gateway.project({ credits: imageCredits });
      const keys = Array.from({ length: 8 }, () => randomUUID());
      const answers = await Promise.all(keys.map((key, index) => createWithKey(apiKey, key, image, api(index))));
      expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
      await gateway.addCredits(projectId, 100);
      const again = await Promise.all(keys.map((key) => createWithKey(apiKey, key, image)));
      expect(again.map(({ status }) => status)).toEqual(keys.map(() => 202));
      expect(await visibleTasks(projectId)).toBe(keys.length);
    });

    it('is scoped to one project and one route', async () => {
      const [one, two] = [await gateway.project(), await gateway.project()];
      const key = randomUUID();
      const tasks = [
        await createWithKey(one.apiKey, key, image),
        await createWithKey(two.apiKey, key, image),
        await gateway.create(
          one.apiKey,
          mediaRoutes.video,
          { model: 'kling-2.5-turbo', prompt: 'a dancer' },
          {
            headers: { 'idempotency-key': key },
          },
        ),
      ];
      expect(tasks.map(({ status }) => status)).toEqual([202, 202, 202]);
      expect(new Set(tasks.map(({ taskId }) => taskId)).size).toBe(3);
    });

    it('still returns its task after a change of the catalog, because a replay is not validated again', async () => {
      const { apiKey } = await gateway.project();
      const key = randomUUID();
      const body = { model: 'ideogram-v3', prompt: 'a poster' };
      const first = await createWithKey(apiKey, key, body);
      expect(first.status).toBe(202);
      await gateway.database.query(
        'test-model-off',
        `update model set entry = jsonb_set(entry, '{status}', '"inactive"') where id = 'ideogram-v3'`,
      );
      expect(await createWithKey(apiKey, key, body)).toMatchObject({ status: 202, taskId: first.taskId });
    });
  });
});
const image = { model: 'aurora-image-1', prompt: 'a fox [[latency=50]]' };
const imageCredits = 4;

const createWithKey = (apiKey: string, key: string, body: object, baseUrl?: string): Promise<Answer> =>
  gateway.create(apiKey, mediaRoutes.image, body, {
    headers: { 'idempotency-key': key },
    ...(baseUrl !== undefined && { baseUrl }),
  });

const api = (index: number): string => gateway.baseUrls[index % gateway.baseUrls.length] ?? gateway.baseUrl;

const inParallel = <T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

async function visibleTasks(projectId: string): Promise<number> {
  const [row] = await gateway.database.query<{ tasks: number }>(
    'test-visible-tasks',
    `select count(*)::float8 as tasks from task where project_id = $1 and admission <> 'rejected'`,
    [projectId],
  );
  return row?.tasks ?? -1;
}
