import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { rebuildDay } from '../../src/db/ledger/summaries.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { awayFromMidnight } from '../support/away-from-midnight.ts';
import { commandLine } from '../support/command-line.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { accountOf } from '../support/rows.ts';

await awayFromMidnight();

const chatModel = 'gpt-5-mini';
const pictureModel = 'aurora-image-1';
const chatRoute = '/api/v1/chat/completions';

const Prices = z.looseObject({
  pricing: z.looseObject({
    credits_per_request: z.int(),
    credits_per_1k_input_tokens: z.int(),
    credits_per_1k_output_tokens: z.int(),
    min_credits_per_request: z.int(),
  }),
  parameters: z.looseObject({
    pricingRules: z.array(z.looseObject({ match: z.looseObject({ value: z.unknown() }), credits: z.int() })).optional(),
  }),
});
const Models = z.object({ data: z.array(Prices.extend({ id: z.string() })) });
const Quote = z.object({ credits: z.object({ quoted: z.int() }) });
const Usage = z.object({ total: z.object({ credits: z.int() }) });

describe('plans', () => {
  let gateway: Gateway;
  let folder: string;
  const { done } = commandLine(() => gateway.env);

  beforeAll(async () => {
    gateway = await startGateway({ apis: 2 });
    folder = mkdtempSync(join(tmpdir(), 'tollgate-plans-'));
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await gateway?.stop();
  });
  afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

  const file = (rules: unknown): string => {
    const path = join(folder, 'rules.json');
    writeFileSync(path, JSON.stringify(rules));
    return path;
  };
  const create = (name: string, rules: unknown) => done('plans', 'create', '--name', name, '--rules', file(rules));

  /** A project with a plan, or with the prices of the catalog. */
  async function projectWith(plan: string | null): Promise<TestProject> {
    const project = await gateway.project({ credits: 1_000_000 });
    if (plan !== null) await done('projects', 'set', project.projectId, '--plan', plan);
    return project;
  }
  const modelsOf = async ({ apiKey }: TestProject, baseUrl = gateway.baseUrl) =>
    Models.parse((await gateway.get(apiKey, '/api/v1/models', { baseUrl })).body).data;
  const modelOf = async (project: TestProject, id: string, baseUrl = gateway.baseUrl) =>
    Prices.parse((await gateway.get(project.apiKey, `/api/v1/models/${id}`, { baseUrl })).body);

  const picture = (more: object) => ({ model: pictureModel, prompt: 'a quiet harbour', img_size: '2k', ...more });
  const quoteOf = async ({ apiKey }: TestProject) =>
    Quote.parse((await gateway.create(apiKey, mediaRoutes.image, picture({ dry_run: true }))).body).credits.quoted;

  /** Makes a picture, whose listed price must be quoted, bounded, held, charged, and refunded. Answers its price. */
  const priceOfPicture = async (project: TestProject): Promise<number> => {
    const { parameters } = await modelOf(project, pictureModel);
    const price = parameters.pricingRules?.find(({ match }) => match.value === '2k')?.credits ?? 0;
    expect(await quoteOf(project)).toBe(price);
    const tooDear = await gateway.create(project.apiKey, mediaRoutes.image, picture({ max_credits: price - 1 }));
    expect([tooDear.status, tooDear.body]).toMatchObject([402, { error: { code: 'max_credits_exceeded' } }]);
    const taskId = await gateway.accept(project.apiKey, mediaRoutes.image, picture({ max_credits: price }));
    expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({
      status: 'succeeded',
      credits: { quoted: price, reserved: price, charged: price, refunded: 0 },
    });
    const failing = picture({ prompt: 'a harbour [[fail=refused]]' });
    const failed = await gateway.poll(project.apiKey, await gateway.accept(project.apiKey, mediaRoutes.image, failing));
    expect(failed).toMatchObject({ status: 'failed', credits: { reserved: price, charged: 0, refunded: price } });
    return price;
  };

  /** Makes a chat, for which the listed prices of what it used must be charged. Answers its price. */
  const priceOfChat = async (project: TestProject): Promise<number> => {
    const { pricing } = await modelOf(project, chatModel);
    const answer = await gateway.create(project.apiKey, chatRoute, {
      model: chatModel,
      messages: [{ role: 'user', content: `a poem ${'of some length '.repeat(300)} [[usage=1234,777]]` }],
    });
    expect(answer.status).toBe(200);
    const milli = 1_234 * pricing.credits_per_1k_input_tokens + 777 * pricing.credits_per_1k_output_tokens;
    const chatCredits = Math.ceil(milli / 1_000);
    expect(Number(answer.headers.get('x-tollgate-credits'))).toBe(chatCredits);
    return chatCredits;
  };

  it('give two projects lists, quotes, limits, holds, charges, refunds, usage and summaries of their own that agree', async () => {
    await create('partner', [{ models: 'type:*', multiplier: 0.7 }]);
    await create('retail', [
      { models: chatModel, prices: { credits_per_1k_input_tokens: 200, credits_per_1k_output_tokens: 900 } },
      { models: '*', multiplier: 13.37 },
    ]);
    const usual = await projectWith(null);
    const base = await modelsOf(usual);
    const charged = new Map<string, number>();
    for (const [plan, thousandths] of [
      ['partner', 700n],
      ['retail', 13_370n],
    ] as const) {
      const times = (credits: number): number => Number((BigInt(credits) * thousandths + 999n) / 1_000n);
      const project = await projectWith(plan);
      const listed = await modelsOf(project);
      expect(listed.map(({ id }) => id)).toEqual(base.map(({ id }) => id));
      for (const [index, { id, pricing, parameters }] of base.entries()) {
        const isFixed = plan === 'retail' && id === chatModel;
        expect(listed[index]).toMatchObject({
          id,
          pricing: {
            credits_per_request: isFixed ? pricing.credits_per_request : times(pricing.credits_per_request),
            credits_per_1k_input_tokens: isFixed ? 200 : times(pricing.credits_per_1k_input_tokens),
            credits_per_1k_output_tokens: isFixed ? 900 : times(pricing.credits_per_1k_output_tokens),
          },
        });
        expect(listed[index]?.parameters.pricingRules?.map(({ credits }) => credits)).toEqual(
          parameters.pricingRules?.map(({ credits }) => times(credits)),
        );
        expect(await modelOf(project, id)).toEqual(listed[index]);
      }

      const price = await priceOfPicture(project);
      const chatCredits = await priceOfChat(project);

      // The account, the ledger and the usage.
      const total = price + chatCredits;
      charged.set(project.projectId, total);
      expect(await accountOf(gateway.database, project.projectId)).toEqual({
        balance: 1_000_000 - total,
        reserved: 0,
      });
      const settled = await gateway.database.query<{ credits: number }>(
        'test-settled-of-project',
        `select -credits as credits from ledger_entry where project_id = $1 and kind = 'settle' order by 1`,
        [project.projectId],
      );
      expect(settled.map(({ credits }) => credits)).toEqual([price, chatCredits].sort((a, b) => a - b));
      expect(Usage.parse((await gateway.get(project.apiKey, '/api/v1/usage')).body).total.credits).toBe(total);
    }

    const day = new Date().toISOString().slice(0, 10);
    await rebuildDay(gateway.database, { day, creditValueMicroUsd: 10_000, lagSeconds: 0, freezeAfterDays: 2 });
    const summary = await done('summary', '--month', day.slice(0, 7));
    const rows = z
      .array(z.looseObject({ project_id: z.string(), plan: z.string().nullable(), credits_charged: z.int() }))
      .parse(summary['data']);
    for (const [projectId, credits] of charged) {
      const own = rows.filter((row) => row.project_id === projectId);
      expect(own.reduce((sum, row) => sum + row.credits_charged, 0)).toBe(credits);
    }
    const plans = z
      .array(z.looseObject({ plan: z.string().nullable(), credits_charged: z.int() }))
      .parse(summary['plans']);
    expect(plans.filter(({ plan }) => plan !== null).map((row) => row.credits_charged)).toEqual([...charged.values()]);
  });

  it('that change apply to the next request on every API server, and to nothing that runs', async () => {
    await create('moving', [{ models: '*', multiplier: 3 }]);
    const project = await projectWith('moving');
    const { apiKey, projectId } = project;
    const [price, pricing] = [await quoteOf(project), (await modelOf(project, chatModel)).pricing];
    const count = 50;
    const chats = Array.from({ length: count }, (_, index) =>
      gateway.create(
        apiKey,
        chatRoute,
        {
          model: chatModel,
          messages: [
            { role: 'user', content: `chat ${index} ${'and more '.repeat(200)} [[latency=6000 usage=500,100]]` },
          ],
        },
        { baseUrl: gateway.baseUrls[index % 2] ?? gateway.baseUrl },
      ),
    );
    const tasks = Promise.all(
      Array.from({ length: count }, (_, index) =>
        gateway.accept(apiKey, mediaRoutes.image, picture({ prompt: `picture ${index} [[latency=6000]]` })),
      ),
    );
    await eventually(
      async () => {
        // On a slow machine the first have ended when the last begin.
        const [row] = await gateway.database.query<{ begun: number }>(
          'test-begun-of-project',
          `select (select count(*) from hold where project_id = $1)
             + (select count(*) from ledger_entry where project_id = $1 and kind = 'settle') as begun`,
          [projectId],
        );
        return row?.begun === 2 * count;
      },
      { what: '100 requests that have begun' },
    );
    await done('plans', 'set', 'moving', '--rules', file([{ models: '*', multiplier: 7 }]));

    const credits = Math.ceil(
      (500 * pricing.credits_per_1k_input_tokens + 100 * pricing.credits_per_1k_output_tokens) / 1_000,
    );
    for (const baseUrl of gateway.baseUrls) {
      await eventually(
        async () =>
          (await modelOf(project, chatModel, baseUrl)).pricing.credits_per_1k_input_tokens !==
          pricing.credits_per_1k_input_tokens,
        { what: `the new price at ${baseUrl}` },
      );
    }
    expect(await quoteOf(project)).toBe((price / 3) * 7);
    const answers = await Promise.all(chats);
    expect(answers.map(({ status, headers }) => [status, headers.get('x-tollgate-credits')])).toEqual(
      Array(count).fill([200, String(credits)]),
    );
    for (const taskId of await tasks) {
      expect(await gateway.poll(apiKey, taskId)).toMatchObject({
        status: 'succeeded',
        credits: { quoted: price, charged: price },
      });
    }
    expect(await accountOf(gateway.database, projectId)).toEqual({
      balance: 1_000_000 - count * (price + credits),
      reserved: 0,
    });
    await done('projects', 'set', projectId, '--plan', 'none');
    await eventually(async () => (await quoteOf(project)) === price / 3, { what: 'the price of the catalog' });
  });
});
