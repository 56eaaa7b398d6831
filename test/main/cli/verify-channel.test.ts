import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { adapterFamilies } from '../../../src/adapters/registry.ts';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import type { Database } from '../../../src/db/database.ts';
import { listModels, replaceModels } from '../../../src/db/catalog/models.ts';
import type { CatalogEntry } from '../../../src/domain/catalog/catalog.ts';
import { cli } from '../../../src/main/cli.ts';
import { openLocally } from '../../../src/main/cli/open-deps.ts';
import { verifyChannel } from '../../../src/services/channels/verify/verify-channel.ts';
import { catalogNames } from '../../../packages/sandbox/src/sandbox-models.ts';
import { createSandbox, type Sandbox } from '../../../packages/sandbox/src/create-sandbox.ts';
import { rowsOf } from '../../db/books.ts';
import { commandLine } from '../../support/command-line.ts';
import { completion, reply, startChatUpstream } from '../../support/chat-upstream.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';

let home: TestHome;
let db: Database;
let sandbox: Sandbox;
let settings: Record<string, string>;
let catalog: CatalogEntry[];
beforeAll(async () => {
  sandbox = await createSandbox({ models: catalogNames('catalog') });
  const own = { EGRESS_ALLOW_CIDRS: '127.0.0.0/8', SANDBOX_URL: sandbox.url, POLL_INTERVAL_MIN_MS: '50' };
  home = await createTestHome(own);
  db = home.db;
  settings = { ...home.settings, FILES_LOCAL_DIR: join(home.settings['TOLLGATE_HOME'] ?? '', 'files') };
  catalog = (await loadCatalog('catalog')).entries;
  await useCatalog(catalog);
  const groups = [...new Set(catalog.flatMap((entry) => entry.private.groups))].join(',');
  for (const family of Object.keys(adapterFamilies)) {
    await done(
      'channels',
      'add',
      '--name',
      `sandbox-a-${family}`,
      '--adapter',
      family,
      '--groups',
      groups,
      '--base-url',
      `${sandbox.url}/sandbox-a/${family}`,
      '--credential',
      'access:secret',
    );
  }
});
afterAll(() => Promise.all([home?.drop(), sandbox?.close()]));

const { tollgate, done, refused } = commandLine(() => settings);
const useCatalog = (entries: readonly CatalogEntry[]) =>
  db.transaction('begin', (query) => replaceModels(query, [...entries]));

describe('tollgate channels probe', () => {
  const args = (baseUrl: string, credential = 'access:secret') => [
    'channels',
    'probe',
    '--adapter',
    'openai',
    '--groups',
    'chat,images',
    '--base-url',
    baseUrl,
    '--credential',
    credential,
  ];
  const probed = (url: string) => tollgate(...args(url));

  it('checks a provider before it is a channel, says which models it would serve, and stores nothing', async () => {
    const before = await rowsOf(db, 'select * from channel order by id');
    const { code, printed } = await probed(`${sandbox.url}/sandbox-a/openai`);
    expect(code).toBe(0);
    expect(printed).toMatchObject({
      adapter: 'openai',
      ok: true,
      call: { ok: true, offered: true },
      list: { state: 'complete' },
    });
    expect(printed['data']).toContainEqual({
      model: 'gpt-5-mini',
      type: 'chat',
      upstream: ['gpt-5-mini'],
      listed: true,
    });
    expect(await rowsOf(db, 'select * from channel order by id')).toEqual(before);
  });

  it('exits 1 and says why if the provider cannot be reached', async () => {
    const { code, printed } = await probed('http://127.0.0.1:1/v1');
    expect({ code, printed }).toMatchObject({
      code: 1,
      printed: { ok: false, call: { ok: false, reason: 'connect' } },
    });
    expect(JSON.stringify(printed)).not.toContain('access:secret');
  });

  it('refuses a family that is unknown, a URL with a query, and a group that is missing', async () => {
    for (const [index, value] of [
      [3, 'nobody'],
      [7, 'https://api.example/v1?key=1'],
      [5, ''],
    ] as const)
      expect((await tollgate(...args('https://api.example/v1').with(index, value))).code).toBe(2);
  });
});

const Verified = z.looseObject({
  ok: z.boolean(),
  spent_micro_usd: z.number(),
  list: z.object({ state: z.string() }).loose(),
  data: z.array(
    z.looseObject({
      model: z.string(),
      type: z.string(),
      upstream: z.array(z.string()),
      listed: z.boolean().nullable(),
      drawn: z.boolean(),
      verified: z.looseObject({ source: z.string(), on: z.string() }).nullable(),
      ok: z.boolean(),
      live: z.looseObject({ outcome: z.string(), cost_micro_usd: z.number().optional() }).nullable(),
    }),
  ),
});
async function verify(...args: string[]) {
  const { code, printed } = await tollgate('channels', 'verify', ...args);
  return { code, printed: Verified.parse(printed) };
}
const channelAt = (url: string): string[] =>
  `--adapter openai --groups chat --base-url ${url} --credential access:secret`.split(' ');
const audited = () => rowsOf<object>(db, `select * from audit_entry where action = 'channels.verify' order by id`);
/** Calls that a provider would bill. */
const hits = async (): Promise<number> =>
  z
    .array(z.object({ kind: z.string() }))
    .parse(await (await fetch(`${sandbox.url}/_sandbox/hits`)).json())
    .filter(({ kind }) => kind === 'submit' || kind === 'chat').length;
/** The catalog with another name of gpt-5-mini at the family openai. */
const renamed = (model: string): CatalogEntry[] =>
  catalog.map((entry) => {
    const mapping = entry.private.upstream['openai'];
    if (entry.model.id !== 'gpt-5-mini' || !mapping) return entry;
    const upstream = { ...entry.private.upstream, openai: { ...mapping, model } };
    return { ...entry, private: { ...entry.private, upstream } };
  });

describe('tollgate channels verify', () => {
  it('checks the credential and each model for free, and makes no call that the provider bills', async () => {
    const before = await hits();
    const { code, printed } = await verify('sandbox-a-openai');
    expect({ code, ok: printed.ok, list: printed.list.state, spent: printed.spent_micro_usd }).toEqual({
      code: 0,
      ok: true,
      list: 'complete',
      spent: 0,
    });
    const one = printed.data.find(({ model }) => model === 'gpt-5-mini');
    expect(one).toMatchObject({ upstream: ['gpt-5-mini'], listed: true, drawn: true, ok: true, live: null });
    expect(one?.verified?.on).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    expect(await hits()).toBe(before);
  });

  it.each(Object.keys(adapterFamilies))(
    'makes every mapping of the shipped catalog at the sandbox: %s',
    async (family) => {
      const { code, printed } = await verify(`sandbox-a-${family}`, '--live', '--max-cost', '100000000');
      const served = (await listModels(db)).filter(
        ({ model, private: hidden }) => hidden.upstream[family] && model.status === 'active' && hidden.public,
      );
      expect(printed.data.map(({ model }) => model)).toEqual(served.map(({ model }) => model.id));
      const others = printed.data.filter(({ live }) => live?.outcome !== 'ok');
      // Its only input is a clip of the operator.
      expect(others.filter(({ model }) => model !== 'runway-aleph')).toEqual([]);
      expect(code).toBe(0);
      for (const { type, live } of printed.data.filter((mapping) => mapping.live?.outcome === 'ok')) {
        if (type === 'chat') expect(live).toMatchObject({ usage: { output: expect.any(Number) } });
        else expect(live).toMatchObject({ outputs: [{ width: expect.any(Number), bytes: expect.any(Number) }] });
        expect(live).toMatchObject({ took_ms: expect.any(Number), cost_micro_usd: expect.any(Number) });
      }
    },
  );

  it('asks nothing that could cost more than --max-cost, and refuses --live without it', async () => {
    const before = await hits();
    const { code, printed } = await verify('sandbox-a-fal', '--live', '--max-cost', '0');
    expect({ code, spent: printed.spent_micro_usd }).toEqual({ code: 0, spent: 0 });
    expect(new Set(printed.data.map(({ live }) => live?.outcome))).toEqual(new Set(['not_asked']));
    expect(await hits()).toBe(before);
    expect(await refused('channels', 'verify', 'sandbox-a-fal', '--live')).toContain('--max-cost');
  });

  it('begins no call once the time is over for which an API server waits', async () => {
    const before = await hits();
    const { open, close } = openLocally(settings);
    const live = { maxCost: 100_000_000, actor: 'test', secondsMax: 0 };
    const verified = await verifyChannel(await open('worker'), { channel: 'sandbox-a-fal', live });
    const seen = new Set(verified.mappings.map(({ live: check }) => `${check?.outcome}: ${check?.detail}`));
    expect(seen).toEqual(new Set(['not_asked: the time for the calls was over']));
    expect([verified.spent, await hits()]).toEqual([0, before]);
    await close();
  });

  it('counts the whole cost of a call that costs more than was expected', async () => {
    const dear = await startChatUpstream();
    dear.serve((_request, response) =>
      reply(response, 200, { ...completion, usage: { prompt_tokens: 9_000_000, completion_tokens: 10 } }),
    );
    await done('channels', 'add', '--name', 'dear', ...channelAt(dear.url));
    const { printed } = await verify('dear', '--live', '--max-cost', '1000000');
    const costs = printed.data.map(({ live }) => live?.cost_micro_usd ?? 0);
    expect(printed.spent_micro_usd).toBe(costs.reduce((sum, cost) => sum + cost, 0));
    expect(printed.spent_micro_usd).toBeGreaterThan(1_000_000);
    await dear.die();
  });

  it('tells what calls cost whose success cannot be noted', async () => {
    const upstream = await startChatUpstream();
    await done('channels', 'add', '--name', 'unnoted', ...channelAt(upstream.url));
    await rowsOf(db, 'alter function note_mapping_success(text, text) rename to away_mapping_success');
    try {
      const { printed } = await verify('unnoted', '--live', '--max-cost', '1000000');
      expect(printed.data.map(({ live }) => live?.outcome)).toContain('ok');
      expect(printed.spent_micro_usd).toBeGreaterThan(0);
    } finally {
      await rowsOf(db, 'alter function away_mapping_success(text, text) rename to note_mapping_success');
      await upstream.die();
    }
  });

  it('counts a call that broke off as the most that it may cost, so that the calls after it stay within --max-cost', async () => {
    const mini = catalog.find(({ model }) => model.id === 'gpt-5-mini');
    if (!mini) throw new Error('the catalog lacks gpt-5-mini');
    // One more than are called at the same time.
    const copyNamed = (id: string) => ({ model: { ...mini.model, id }, private: { ...mini.private, aliases: {} } });
    await useCatalog(['a', 'b', 'c', 'd', 'e'].map(copyNamed));
    const broken = await startChatUpstream();
    broken.serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{', () => response.destroy());
    });
    await done('channels', 'add', '--name', 'broken', ...channelAt(broken.url));
    const free = await verify('broken', '--live', '--max-cost', '0');
    const one = Number(/may cost (\d+)/.exec(String(free.printed.data[0]?.live?.['detail']))?.[1]);
    expect(one).toBeGreaterThan(0);
    const { code, printed } = await verify('broken', '--live', '--max-cost', String(5 * one - 1));
    expect({ code, spent: printed.spent_micro_usd, calls: broken.chats.length }).toEqual({
      code: 1,
      spent: 4 * one,
      calls: 4,
    });
    expect(printed.data.map(({ live }) => live?.outcome).sort()).toEqual([
      ...Array<string>(4).fill('failed'),
      'not_asked',
    ]);
    expect(printed.data[0]?.live).toMatchObject({ cost_micro_usd: one });
    await broken.die();
    await useCatalog(catalog);
  });

  it('says in the audit log who spends how much with --live, and says nothing of checks that are free', async () => {
    const entriesBefore = (await audited()).length;
    await verify('sandbox-a-fal');
    await verify('sandbox-a-fal', '--live', '--max-cost', '7', '--actor', 'Ada');
    expect((await audited()).slice(entriesBefore)).toEqual([
      expect.objectContaining({
        actor: 'Ada',
        before: null,
        after: { max_cost_micro_usd: 7 },
        detail: { name: 'sandbox-a-fal' },
      }),
    ]);
  });

  it('exits 1 for a model that the list lacks, unless the list check of the channel is off', async () => {
    await useCatalog(renamed('gpt-misspelt'));
    const { code, printed } = await verify('sandbox-a-openai');
    expect({ code, failed: printed.data.filter(({ ok }) => !ok).map(({ model }) => model) }).toEqual({
      code: 1,
      failed: ['gpt-5-mini'],
    });
    await done('channels', 'set', 'sandbox-a-openai', '--list-check', 'off');
    expect((await verify('sandbox-a-openai')).code).toBe(0);
    await done('channels', 'set', 'sandbox-a-openai', '--list-check', 'on');
    await useCatalog(catalog);
  });

  it.each([
    { listCheck: 'on', code: 1 },
    { listCheck: 'off', code: 0 },
  ])('exits $code if the list cannot be read with the list check $listCheck', async ({ listCheck, code }) => {
    const listless = await startChatUpstream();
    const name = `listless-${listCheck}`;
    await done('channels', 'add', '--name', name, ...channelAt(listless.url), '--list-check', listCheck);
    // The free call that comes first is answered.
    let reads = 0;
    listless.serveProbes((_request, response) =>
      reply(response, 200, reads++ === 0 ? { object: 'list', data: [] } : { object: 'list' }),
    );
    const { printed, ...result } = await verify(name);
    expect({ ...result, ok: printed.ok, list: printed.list.state }).toEqual({ code, ok: code === 0, list: 'failed' });
    await listless.die();
  });

  it('shows the words of a provider that refuses a call, and exits 1', async () => {
    await done('channels', 'set', 'sandbox-a-openai', '--base-url', `${sandbox.url}/sandbox-a/nothing`);
    const { code, printed } = await verify('sandbox-a-openai', '--live', '--max-cost', '100000000');
    expect(code).toBe(1);
    expect(printed.data[0]?.live).toMatchObject({
      outcome: 'failed',
      reason: 'unknown_model',
      detail: expect.any(String),
    });
    expect(printed.spent_micro_usd).toBe(0);
    await done('channels', 'set', 'sandbox-a-openai', '--base-url', `${sandbox.url}/sandbox-a/openai`);
  });

  it('prints one line for each model without --json', async () => {
    const written: string[] = [];
    expect(await cli(['channels', 'verify', 'sandbox-a-gemini'], settings, (text) => written.push(text))).toBe(0);
    expect(written.join('')).toMatch(/MODEL +UPSTREAM +LISTED +DRAWN +VERIFIED +RESULT\n/);
    expect(written.join('')).toContain('answers and accepts the credential');
  });

  it('calls no model checked that it knows nothing about', async () => {
    const textOf = async (channel: string): Promise<string> => {
      const written: string[] = [];
      await cli(['channels', 'verify', channel], settings, (text) => written.push(text));
      return written.join('');
    };
    // Kling has no model list.
    expect(await textOf('sandbox-a-kling')).toMatch(/\d models: 0 ok, 0 failed, \d not checked\./);
    expect(await textOf('sandbox-a-gemini')).toMatch(/\d models: \d ok, 0 failed, 0 not checked\./);
  });
});
