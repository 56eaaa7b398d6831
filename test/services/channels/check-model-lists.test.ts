import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createChannelCache } from '../../../src/channels/channel-cache.ts';
import { createUpstreamCaller, type UpstreamCaller } from '../../../src/adapters/upstream/call-upstream.ts';
import { createAdapters } from '../../../src/adapters/registry.ts';
import { addChannel } from '../../../src/services/channels/add-channel.ts';
import { checkModelLists } from '../../../src/services/channels/check-model-lists.ts';
import { setChannel } from '../../../src/services/channels/set-channel.ts';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import { testConfig } from '../../support/test-config.ts';
import { listChannelStates } from '../../../src/db/channels/channel-settings.ts';
import type { Database } from '../../../src/db/database.ts';
import { replaceModels } from '../../../src/db/catalog/models.ts';
import type { CatalogEntry } from '../../../src/domain/catalog/catalog.ts';
import { listServing } from '../../../src/domain/channels/routing.ts';
import { catalogNames } from '../../../packages/sandbox/src/sandbox-models.ts';
import { createSealer } from '../../../src/platform/crypto/seal.ts';
import { alarmKind, type LoggedAlarm } from '../../../src/platform/observe/alarms.ts';
import { createLogger } from '../../../src/platform/observe/logger.ts';
import { createSandbox, type Sandbox } from '../../../packages/sandbox/src/create-sandbox.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';

let home: TestHome;
let db: Database;
let sandbox: Sandbox;
let caller: UpstreamCaller;
let catalog: CatalogEntry[];
beforeAll(async () => {
  sandbox = await createSandbox({ models: catalogNames('catalog') });
  home = await createTestHome();
  db = home.db;
  caller = createUpstreamCaller();
  catalog = (await loadCatalog('catalog')).entries;
});
afterAll(() => Promise.all([home?.drop(), sandbox.close(), caller.close()]));

const raised: string[] = [];
const createDeps = () => {
  const config = testConfig(home.settings);
  const sealer = createSealer(config.secrets.masterKeys);
  const onAlarm = (alarm: LoggedAlarm): void => void raised.push(alarmKind(alarm).name);
  const logger = createLogger('error', 'test', { write: () => undefined }, onAlarm);
  const probe = () => Promise.resolve(null);
  const channels = createChannelCache(db, 60_000, config.breaker, { logger, probe });
  return { db, sealer, logger, channels, adapters: createAdapters(caller) };
};
type TestDeps = ReturnType<typeof createDeps>;

const modelId = 'gpt-5-mini';
const useCatalog = (entries: readonly CatalogEntry[]) =>
  db.transaction('begin', (query) => replaceModels(query, [...entries]));
/** The catalog with another name of one model at the family openai. */
const renamed = (name: string): CatalogEntry[] =>
  catalog.map((entry) => {
    const mapping = entry.private.upstream['openai'];
    if (entry.model.id !== modelId || !mapping) return entry;
    const upstream = { ...entry.private.upstream, openai: { ...mapping, model: name } };
    return { ...entry, private: { ...entry.private, upstream } };
  });

let deps: TestDeps;
let channelId: string;
beforeEach(async () => {
  await db.query('', 'delete from channel');
  raised.length = 0;
  deps = createDeps();
  await useCatalog(catalog);
  const groups = [...new Set(catalog.flatMap((entry) => entry.private.groups))];
  const settings = { groups, priority: 1, weight: 1, credential: 'sandbox', actor: 'test' };
  for (const adapter of Object.keys(deps.adapters)) {
    const baseUrl = `${sandbox.url}/sandbox-a/${adapter}`;
    const added = await addChannel(deps, { ...settings, name: `sandbox-a-${adapter}`, adapter, baseUrl });
    if (adapter === 'openai') channelId = added.channelId;
  }
});

const isDrawn = async (): Promise<boolean> => {
  const { channels, nowMs } = await deps.channels.list();
  const groups = catalog.find(({ model }) => model.id === modelId)?.private.groups ?? [];
  const wanted = { modelId, groups, families: ['openai'], attemptedIds: new Set<string>(), nowMs };
  return listServing(channels, wanted).length > 0;
};
const reasons = async () =>
  (await listChannelStates(db)).flatMap((row) =>
    row.reasons.map(({ kind, model, reason }) => ({ kind, model, reason })),
  );

describe('the check of the model lists', () => {
  it('finds every model of the shipped catalog in the lists of the sandbox', async () => {
    expect(await checkModelLists(deps)).toEqual({ lists: 5, unlisted: 0, relisted: 0 });
    expect(await reasons()).toEqual([]);
    expect(await isDrawn()).toBe(true);
  });

  it('raises an alarm for a misspelt name and draws the mapping no more, until the list has its name', async () => {
    await useCatalog(renamed('gpt-misspelt'));
    expect(await isDrawn()).toBe(true);
    expect(await checkModelLists(deps)).toEqual({ lists: 5, unlisted: 1, relisted: 0 });
    expect(raised).toEqual(['unlisted']);
    expect(await isDrawn()).toBe(false);
    expect(await reasons()).toEqual([
      { kind: 'alarm', model: modelId, reason: 'unlisted' },
      { kind: 'not_drawn', model: modelId, reason: "the provider's model list lacks gpt-misspelt" },
    ]);
    // The alarm is raised once.
    expect(await checkModelLists(deps)).toEqual({ lists: 5, unlisted: 0, relisted: 0 });
    expect(raised).toEqual(['unlisted']);
    await useCatalog(catalog);
    expect(await checkModelLists(deps)).toEqual({ lists: 5, unlisted: 0, relisted: 1 });
    expect(await reasons()).toEqual([]);
    expect(await isDrawn()).toBe(true);
  });

  it('leaves a mapping alone that succeeded in the last day, and not one whose last success is older', async () => {
    await useCatalog(renamed('gpt-misspelt'));
    const [channel] = (await deps.channels.list()).channels.filter(({ id }) => id === channelId);
    if (!channel) throw new Error('no channel');
    const call = { modelId, projectId: 'prj_a', startedAt: performance.now() };
    await deps.channels.note(channel, call, ok);
    expect(await checkModelLists(deps)).toMatchObject({ unlisted: 0 });
    await db.query('', `update channel_mapping_state set succeeded_at = succeeded_at - interval '25 hours'`);
    expect(await checkModelLists(deps)).toMatchObject({ unlisted: 1 });
  });

  it('finds a misspelt name although calls under the name before it succeeded', async () => {
    const channel = await deps.channels.find(channelId);
    if (!channel) throw new Error('no channel');
    await deps.channels.note(channel, { modelId, projectId: 'prj_a', startedAt: performance.now() }, ok);
    // Another change of the entry forgets nothing.
    await useCatalog(catalog.map((entry) => ({ ...entry, model: { ...entry.model, description: 'Another text.' } })));
    const successes = () =>
      db.query('', 'select succeeded_at from channel_mapping_state where succeeded_at is not null');
    expect(await successes()).toHaveLength(1);
    await useCatalog(renamed('gpt-misspelt'));
    expect(await checkModelLists(deps)).toMatchObject({ unlisted: 1 });
    expect(await isDrawn()).toBe(false);
  });

  it('draws a mapping again once a call with it succeeds', async () => {
    await useCatalog(renamed('gpt-misspelt'));
    await checkModelLists(deps);
    const channel = await deps.channels.find(channelId);
    if (!channel) throw new Error('no channel');
    await deps.channels.note(channel, { modelId, projectId: 'prj_a', startedAt: performance.now() }, ok);
    expect(await isDrawn()).toBe(true);
    expect(await reasons()).toEqual([]);
    expect(await checkModelLists(deps)).toMatchObject({ unlisted: 0 });
  });

  it('decides nothing for a channel with the check off, and draws what it had stopped', async () => {
    await useCatalog(renamed('gpt-misspelt'));
    await checkModelLists(deps);
    await setChannel(deps, { channel: channelId, changes: { listCheck: false }, actor: 'test' });
    deps.channels.forget();
    expect(await isDrawn()).toBe(true);
    expect(await reasons()).toEqual([]);
    expect(await checkModelLists(deps)).toEqual({ lists: 4, unlisted: 0, relisted: 0 });
  });

  it('marks nothing while the list cannot be read', async () => {
    await useCatalog(renamed('gpt-misspelt'));
    await setChannel(deps, { channel: channelId, changes: { baseUrl: 'http://127.0.0.1:1' }, actor: 'test' });
    expect(await checkModelLists(deps)).toEqual({ lists: 4, unlisted: 0, relisted: 0 });
    expect(await isDrawn()).toBe(true);
  });
});

const ok = { kind: 'ok', value: null } as const;
