import { randomBytes } from 'node:crypto';
import { loadConfig, type Config } from '../../config/load-config.ts';
import { openDatabase, type Database } from '../../db/database.ts';
import { assertSchemaVersion } from '../../db/migrate.ts';
import type { Deps } from '../../deps.ts';
import { createSealer } from '../../platform/crypto/seal.ts';
import { createFileUrls } from '../file-urls.ts';
import { operatorEnvironment } from './operator-environment.ts';

export type Environment = Record<string, string | undefined>;

/** Opens what a command works with. `close` ends every connection. */
export type Needs<D> = (env: Environment) => Promise<{ deps: D; close: () => Promise<void> }>;

/** For commands that only look at files. */
export const nothing: Needs<object> = () => Promise.resolve({ deps: {}, close: () => Promise.resolve() });

export interface DatabaseDeps {
  db: Database;
  /** Without the secrets, so that these commands also run where there are none. */
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
  return { deps: { db, ...secretTools(config) }, close: () => db.close() };
};

export type UpstreamDeps = SecretsDeps & Pick<Deps, 'ledger' | 'logger' | 'workflows' | 'channels' | 'adapters'>;

/** All that it takes to end a task: the ledger, the workflows and the upstreams. */
export const upstreams: Needs<UpstreamDeps> = async (env) => {
  // Temporal's client takes longer to load than most commands take to run.
  const { openUpstreams } = await import('./open-upstreams.ts');
  const config = loadConfig(operatorEnvironment(env));
  const db = await openOperatorDatabase(config.database);
  const opened = openUpstreams(config, db);
  return {
    deps: { db, ...secretTools(config), ...opened.deps },
    async close() {
      await opened.close();
      await db.close();
    },
  };
};

/** What a worker works with, for commands that do a worker's work. */
export const everything: Needs<UpstreamDeps & Pick<Deps, 'egress' | 'files'>> = async (env) => {
  const [opened, { createEgress }, { createFileStore }] = await Promise.all([
    upstreams(env),
    import('../../platform/egress/egress.ts'),
    import('../../platform/files/file-store.ts'),
  ]);
  const { config } = opened.deps;
  const egress = createEgress(config.egress);
  return { deps: { ...opened.deps, egress, files: await createFileStore(config.files) }, close: opened.close };
};

function secretTools(config: Config): Omit<SecretsDeps, 'db'> {
  return {
    config,
    sealer: createSealer(config.secrets.masterKeys),
    urls: createFileUrls(config),
  };
}

async function openOperatorDatabase({ url, connectTimeoutMs }: Config['database']) {
  const db = await openDatabase({
    url,
    poolMax: 2,
    connectTimeoutMs,
    // An operator may add up years; a client may not.
    statementTimeoutMs: 300_000,
  });
  try {
    await assertSchemaVersion(db);
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}
