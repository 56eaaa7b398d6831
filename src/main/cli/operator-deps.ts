import { randomBytes } from 'node:crypto';
import { loadCatalogSettings, loadConfig, type Config } from '../../config/load-config.ts';
import { openDatabase, type Database } from '../../db/database.ts';
import { assertSchemaVersion } from '../../db/migrate.ts';
import type { Deps } from '../../deps.ts';
import { createSealer } from '../../platform/crypto/seal.ts';
import { createSendSlots } from '../../platform/send-slots.ts';
import { createFileUrls } from '../file-urls.ts';
import { operatorEnvironment } from './operator-environment.ts';

export type Environment = Record<string, string | undefined>;

/** Opens the dependencies of a command. `close` ends every connection. */
export type Needs<D> = (env: Environment) => Promise<{ deps: D; close: () => Promise<void> }>;

/** For commands that only read files. */
export const nothing: Needs<object> = () => Promise.resolve({ deps: {}, close: () => Promise.resolve() });

/** For commands that only read the catalog's files, without an installation. */
export const catalogSettings: Needs<{ config: Pick<Config, 'catalog' | 'accounting'> }> = (env) =>
  Promise.resolve({ deps: { config: loadCatalogSettings(env) }, close: () => Promise.resolve() });

export interface DatabaseDeps {
  db: Database;
  /** Without the secrets, so that these commands also run where no secrets are configured. */
  config: Omit<Config, 'secrets'>;
}

/** The database alone: no Temporal, no listener. */
export const database: Needs<DatabaseDeps> = async (env) => {
  const unused = randomBytes(32).toString('base64');
  const config = loadConfig({ ...operatorEnvironment(env), KEY_PEPPERS: `p:${unused}`, MASTER_KEYS: `k:${unused}` });
  const db = await openOperatorDatabase(config.database);
  return { deps: { db, config }, close: () => db.close() };
};

export type SecretsDeps = Pick<Deps, 'db' | 'config' | 'sealer' | 'urls'>;

/** The database, and the keys to seal, digest and sign with. */
export const databaseAndSecrets: Needs<SecretsDeps> = async (env) => {
  const config = loadConfig(operatorEnvironment(env));
  const db = await openOperatorDatabase(config.database);
  const sealer = createSealer(config.secrets.masterKeys);
  return { deps: { db, config, sealer, urls: createFileUrls(config) }, close: () => db.close() };
};

export type UpstreamDeps = SecretsDeps & Pick<Deps, 'ledger' | 'logger' | 'workflows' | 'channels' | 'adapters'>;

/** The dependencies for ending a task: the ledger, the workflows and the providers. */
export const upstreams: Needs<UpstreamDeps> = async (env) => {
  // Loading Temporal's client takes longer than most commands take to run.
  const { openUpstreams } = await import('./open-upstreams.ts');
  const { deps, close } = await databaseAndSecrets(env);
  const opened = openUpstreams(deps.config, deps.db, deps.sealer);
  return {
    deps: { ...deps, ...opened.deps },
    async close() {
      await opened.close();
      await close();
    },
  };
};

/** The dependencies of a worker, for commands that run a worker's job. */
export const everything: Needs<UpstreamDeps & Pick<Deps, 'callbackSlots' | 'egress' | 'files'>> = async (env) => {
  const [opened, { createEgress }, { createFileStore }] = await Promise.all([
    upstreams(env),
    import('../../platform/egress/egress.ts'),
    import('../../platform/files/file-store.ts'),
  ]);
  const { config } = opened.deps;
  const egress = createEgress(config.egress);
  const files = await createFileStore(config.files);
  return { deps: { ...opened.deps, callbackSlots: createSendSlots(), egress, files }, close: opened.close };
};

async function openOperatorDatabase(settings: Config['database']) {
  // Adding up years of entries may take an operator minutes. No client request may.
  const db = openDatabase({ ...settings, poolMax: 2, statementTimeoutMs: 300_000 });
  try {
    await assertSchemaVersion(db);
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}
