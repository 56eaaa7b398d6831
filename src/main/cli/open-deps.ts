import { randomBytes } from 'node:crypto';
import { loadCatalogSettings, loadConfig, type Config } from '../../config/load-config.ts';
import { meetPooler } from '../../db/pooler.ts';
import { openDatabase } from '../../db/database.ts';
import { assertSchemaVersion } from '../../db/migrate.ts';
import { createSealer } from '../../platform/crypto/seal.ts';
import { createSendSlots } from '../../platform/send-slots.ts';
import type { OpenDeps, ActionDeps } from '../../admin/action-deps.ts';
import { createFileUrls } from '../file-urls.ts';
import { operatorEnvironment, type Environment } from './operator-environment.ts';

/** Opens what an action needs from the environment. `close` ends every connection. */
export function openLocally(env: Environment): { open: OpenDeps; close: () => Promise<void> } {
  const opened: (() => Promise<void>)[] = [];
  return {
    async open(need) {
      const { deps, close } = await openers[need](env);
      opened.push(close);
      return deps;
    },
    async close() {
      for (const close of opened) await close();
    },
  };
}

type Opener<Need extends keyof ActionDeps> = (
  env: Environment,
) => Promise<{ deps: ActionDeps[Need]; close: () => Promise<void> }>;

const openers: { [Need in keyof ActionDeps]: Opener<Need> } = {
  catalogSettings(env) {
    let opened: ReturnType<typeof openers.database> | undefined;
    const openDatabase = async () => (await (opened ??= openers.database(env))).deps.db;
    const close = async () => (await opened)?.close();
    return Promise.resolve({ deps: { config: loadCatalogSettings(env), openDatabase }, close });
  },

  async database(env) {
    const unused = randomBytes(32).toString('base64');
    const config = loadConfig({ ...operatorEnvironment(env), KEY_PEPPERS: `p:${unused}`, MASTER_KEYS: `k:${unused}` });
    const db = await openOperatorDatabase(config.database);
    return { deps: { db, config }, close: () => db.close() };
  },

  async secrets(env) {
    const config = loadConfig(operatorEnvironment(env));
    const db = await openOperatorDatabase(config.database);
    const sealer = createSealer(config.secrets.masterKeys);
    return { deps: { db, config, sealer, urls: createFileUrls(config) }, close: () => db.close() };
  },

  async importer(env) {
    const { deps, close } = await openers.secrets(env);
    return { deps: { ...deps, env }, close };
  },

  async upstreams(env) {
    // Loading Temporal's client takes longer than most commands take to run.
    const { openUpstreams } = await import('./open-upstreams.ts');
    const { deps, close } = await openers.secrets(env);
    const opened = openUpstreams(deps.config, deps.db, deps.sealer);
    return {
      deps: { ...deps, ...opened.deps },
      async close() {
        await opened.close();
        await close();
      },
    };
  },

  async worker(env) {
    const [opened, { createEgress }, { createFileStore }] = await Promise.all([
      openers.upstreams(env),
      import('../../platform/egress/egress.ts'),
      import('../../platform/files/file-store.ts'),
    ]);
    const { config } = opened.deps;
    const egress = createEgress(config.egress);
    const files = await createFileStore(config.files);
    const deps = { ...opened.deps, callbackSlots: createSendSlots(), egress, files, answerWithinSeconds: Infinity };
    return { deps, close: opened.close };
  },

  async listener(env) {
    const { createListener } = await import('./listen-webhooks.ts');
    return { deps: createListener(env), close: () => Promise.resolve() };
  },

  async shadow(env) {
    const { createShadow } = await import('./shadow-requests.ts');
    return { deps: createShadow(env), close: () => Promise.resolve() };
  },
};

async function openOperatorDatabase(settings: Config['database']) {
  await meetPooler(settings.url);
  // Adding up years of entries may take minutes, and a third statement waits for one of the two connections. No request of a client may take as long.
  const db = openDatabase({ ...settings, poolMax: 2, connectTimeoutMs: 30_000, statementTimeoutMs: 300_000 });
  try {
    await assertSchemaVersion(db);
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}
