import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { createCatalogCache } from '../../../src/caches/catalog-cache.ts';
import { credentialContext } from '../../../src/services/channels/unseal-credential.ts';
import { setChannel } from '../../../src/services/channels/set-channel.ts';
import { setChannelEnabled } from '../../../src/services/channels/set-channel-enabled.ts';
import { ConfigError } from '../../../src/config/load-config.ts';
import { testConfig } from '../../support/test-config.ts';
import { listChannels } from '../../../src/db/channels/channels.ts';
import type { Database } from '../../../src/db/database.ts';
import { listServing } from '../../../src/domain/channels/routing.ts';
import { banner } from '../../../packages/dev-stack/src/banner.ts';
import { withoutProviderKeys } from '../../../packages/dev-stack/src/dev-environment.ts';
import { syncProviderChannels, type ProviderChannel } from '../../../packages/dev-stack/src/provider-channels.ts';
import { createSealer } from '../../../src/platform/crypto/seal.ts';
import { rowsOf } from '../../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { createOperator } from '../../support/operator.ts';

let books: TestDatabase;
let db: Database;
let settings: Record<string, string>;

beforeAll(async () => {
  books = await createTestDatabase();
  db = await books.open();
  settings = {
    DATABASE_URL: books.runtimeUrl,
    KEY_PEPPERS: `p1:${randomBytes(32).toString('base64')}`,
    MASTER_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    SANDBOX_URL: 'http://127.0.0.1:1',
  };
  await createOperator(db, settings).prepare();
});
afterAll(() => books?.drop());

/** Does the same as a start of `npm start` with these keys in its environment. */
async function start(keys: Record<string, string>): Promise<ProviderChannel[]> {
  const config = testConfig({ ...settings, ...keys });
  const deps = { config, db, sealer: createSealer(config.secrets.masterKeys), catalog: createCatalogCache(db, 0) };
  return syncProviderChannels(deps, 'npm start');
}

const channelNamed = async (name: string) => (await listChannels(db)).channels.find((channel) => channel.name === name);

async function keyOf(name: string): Promise<string> {
  const channel = await channelNamed(name);
  if (!channel) throw new Error(`There is no channel ${name}`);
  const sealer = createSealer(testConfig(settings).secrets.masterKeys);
  return sealer.open(channel.credential.sealed, credentialContext(channel.id));
}

const keys = {
  OPENAI_API_KEY: 'sk-openai',
  GEMINI_API_KEY: 'gemini-key',
  ANTHROPIC_API_KEY: 'anthropic-key',
  FAL_KEY: 'id:fal-key',
  REPLICATE_API_TOKEN: 'r8_replicate',
  XAI_API_KEY: 'xai-key',
  DASHSCOPE_API_KEY: 'sk-dashscope',
  MINIMAX_API_KEY: 'minimax-key',
  RUNWAYML_API_SECRET: 'key_runway',
};

describe("a provider's key in the environment", () => {
  it('adds an encrypted channel at the documented address, with a higher priority than the sandbox', async () => {
    expect(await start({})).toEqual([]);
    expect(await start(keys)).toEqual([
      { channel: 'env-openai', variable: 'OPENAI_API_KEY', enabled: true },
      { channel: 'env-gemini', variable: 'GEMINI_API_KEY', enabled: true },
      { channel: 'env-anthropic', variable: 'ANTHROPIC_API_KEY', enabled: true },
      { channel: 'env-fal', variable: 'FAL_KEY', enabled: true },
      { channel: 'env-replicate', variable: 'REPLICATE_API_TOKEN', enabled: true },
      { channel: 'env-xai', variable: 'XAI_API_KEY', enabled: true },
      { channel: 'env-xai-chat', variable: 'XAI_API_KEY', enabled: true },
      { channel: 'env-dashscope', variable: 'DASHSCOPE_API_KEY', enabled: true },
      { channel: 'env-dashscope-chat', variable: 'DASHSCOPE_API_KEY', enabled: true },
      { channel: 'env-minimax', variable: 'MINIMAX_API_KEY', enabled: true },
      { channel: 'env-minimax-chat', variable: 'MINIMAX_API_KEY', enabled: true },
      { channel: 'env-runway', variable: 'RUNWAYML_API_SECRET', enabled: true },
    ]);
    expect(await channelNamed('env-openai')).toMatchObject({
      adapter: 'openai',
      baseUrl: 'https://api.openai.com/v1',
      groups: ['chat', 'images'],
      priority: 0,
      enabled: true,
    });
    expect(await keyOf('env-openai')).toBe('sk-openai');
    expect((await channelNamed('sandbox-a'))?.priority).toBe(1);
    const audit = await rowsOf(db, 'select before, after, detail from audit_entry', []);
    const rows = await rowsOf<{ credential: string }>(db, 'select credential from channel', []);
    for (const key of Object.values(keys)) expect(JSON.stringify([audit, rows])).not.toContain(key);
  });

  it('serves only the models that the provider sells, not every model in its wire format', async () => {
    await start(keys);
    const { channels, nowMs } = await listChannels(db);
    const entries = await createCatalogCache(db, 0).entries();
    const servedBy = (modelId: string) => {
      const entry = entries.find(({ model }) => model.id === modelId);
      if (!entry) throw new Error(`There is no model ${modelId}`);
      const { groups, upstream } = entry.private;
      const wanted = { modelId, groups, families: Object.keys(upstream), attemptedIds: new Set<string>(), nowMs };
      const serving = listServing(channels, wanted).map(({ name }) => name);
      expect(serving).toContainEqual(expect.stringMatching(/^sandbox-a/));
      return serving.filter((name) => name.startsWith('env-')).sort();
    };
    expect(servedBy('gpt-5-mini')).toEqual(['env-openai']);
    expect(servedBy('claude-sonnet-4.5')).toEqual(['env-anthropic']);
    expect(servedBy('gemini-2.5-flash')).toEqual(['env-gemini']);
    expect(servedBy('deepseek-v3.2')).toEqual([]);
    expect(servedBy('flux-1.1-pro')).toEqual(['env-fal', 'env-replicate']);
    expect(servedBy('nano-banana-pro')).toEqual(['env-fal', 'env-gemini']);
    expect(servedBy('gpt-image-2.5')).toEqual(['env-openai']);
    expect(servedBy('gemini-omni-flash')).toEqual(['env-fal', 'env-gemini']);
    expect(servedBy('grok-imagine-video')).toEqual(['env-xai']);
    expect(servedBy('grok-4.7')).toEqual(['env-xai-chat']);
    expect(servedBy('wan-3')).toEqual(['env-dashscope']);
    expect(servedBy('qwen3.8-max')).toEqual(['env-dashscope-chat']);
    expect(servedBy('hailuo-3')).toEqual(['env-minimax']);
    expect(servedBy('minimax-m3')).toEqual(['env-minimax-chat']);
    expect(servedBy('runway-aleph')).toEqual(['env-runway']);
    // Only the sandbox serves this model.
    expect(servedBy('aurora-image-1')).toEqual([]);
  });

  it('is encrypted again if it changes, and the channel is disabled while the key is absent', async () => {
    await start(keys);
    await start({ ...keys, FAL_KEY: 'id:fal-key-2' });
    expect(await keyOf('env-fal')).toBe('id:fal-key-2');
    const { FAL_KEY: _gone, ...others } = keys;
    expect((await start({ ...others, FAL_KEY: '' })).map(({ channel }) => channel)).not.toContain('env-fal');
    expect(await channelNamed('env-fal')).toMatchObject({ enabled: false });
    expect(await channelNamed('env-openai')).toMatchObject({ enabled: true });
    expect(await start(keys)).toContainEqual({ channel: 'env-fal', variable: 'FAL_KEY', enabled: true });
    expect(await keyOf('env-fal')).toBe('id:fal-key');
  });

  it('does not undo the changes of an operator to the groups and the enabled state', async () => {
    await start(keys);
    const sealer = createSealer(testConfig(settings).secrets.masterKeys);
    await setChannel({ db, sealer }, { channel: 'env-gemini', changes: { groups: ['chat'] }, actor: 'cli:me' });
    await setChannelEnabled({ db }, { channel: 'env-gemini', enabled: false, actor: 'cli:me' });
    expect(await start(keys)).toContainEqual({ channel: 'env-gemini', variable: 'GEMINI_API_KEY', enabled: false });
    expect(await channelNamed('env-gemini')).toMatchObject({ enabled: false, groups: ['chat'] });
    await setChannelEnabled({ db }, { channel: 'env-gemini', enabled: true, actor: 'cli:me' });
    expect(await start(keys)).toContainEqual({ channel: 'env-gemini', variable: 'GEMINI_API_KEY', enabled: true });
  });

  it('is never printed: errors and the banner name the variable, and other processes do not get the key', async () => {
    const wrong = () => testConfig({ ...settings, OPENAI_API_KEY: 'two words' });
    expect(wrong).toThrow(ConfigError);
    expect(wrong).toThrow(/^(?=[^]*OPENAI_API_KEY)(?![^]*two words)/);
    const facts = {
      base_url: 'http://127.0.0.1:8080',
      api_key: 'sk-demo',
      project_id: 'prj_demo',
      internal_job_token: 'token',
      webhook_secret: 'whsec_demo',
      database_url: 'postgresql://127.0.0.1:5432/tollgate',
      temporal_address: '127.0.0.1:7233',
      temporal_ui_url: '',
      sandbox_url: 'http://127.0.0.1:8090',
      admin_token: 'adm_1',
      console_url: 'http://127.0.0.1:8080/console',
    };
    const providers = await start({ OPENAI_API_KEY: 'sk-openai' });
    const text = banner(facts, { credits: '1 credit · $0.01', providers, home: '/tmp/x', notes: [] });
    expect(text).toMatch(/provider +env-openai +\(from OPENAI_API_KEY; tried before the sandbox/);
    expect(text).not.toContain('sk-openai');
    expect(Object.values(withoutProviderKeys<Record<string, string | undefined>>({ ...keys, PORT: '1' }))).toEqual([
      ...Object.values(keys).map(() => undefined),
      '1',
    ]);
  });
});
