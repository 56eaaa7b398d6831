import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { addCredits } from '../../src/services/ledger/add-credits.ts';
import { createKey } from '../../src/services/projects/create-key.ts';
import { createProject } from '../../src/services/projects/create-project.ts';
import { ensureChannel } from '../../packages/dev-stack/src/ensure-channel.ts';
import { testConfig } from './test-config.ts';
import type { Database } from '../../src/db/database.ts';
import type { Scope } from '../../src/domain/projects/scope.ts';
import { createSealer } from '../../src/platform/crypto/seal.ts';
import { projectFolder } from './program.ts';

export interface KeyOptions {
  scopes?: Scope[];
  ipRanges?: string[] | null;
  models?: string[] | null;
  budget?: number | null;
  rpm?: number | null;
  inFlightMax?: number | null;
}

export interface TestProject {
  projectId: string;
  keyId: string;
  apiKey: string;
  webhookSecret: string;
}

/** The work of an operator, without a process of the command line. */
export interface Operator {
  /** Creates a project with credits (1,000 by default) and one key. */
  project(options?: KeyOptions & { credits?: number }): Promise<TestProject>;
  key(projectId: string, options?: KeyOptions): Promise<{ keyId: string; apiKey: string }>;
  addCredits(projectId: string, amount: number): Promise<void>;
}

/** Runs the commands of the command line on a migrated database. `prepare` applies the catalog and adds the channels. */
export function createOperator(
  database: Database,
  env: Record<string, string>,
): Operator & { prepare(): Promise<void> } {
  const config = testConfig(env);
  const deps = { config, db: database, sealer: createSealer(config.secrets.masterKeys) };
  const key = (projectId: string, options: KeyOptions = {}) =>
    createKey(deps, { projectId, name: 'test', actor, ...options });
  return {
    async prepare() {
      // Loaded here, because a test that copies a prepared database does not need these modules.
      const [{ adapterFamilies }, { applyCatalog }, { readCatalogFiles }, { createCatalogCache }] = await Promise.all([
        import('../../src/adapters/registry.ts'),
        import('../../src/services/catalog/apply-catalog.ts'),
        import('../../src/services/catalog/load-catalog.ts'),
        import('../../src/caches/catalog-cache.ts'),
      ]);
      await applyCatalog(deps, { texts: await readCatalogFiles(join(projectFolder, config.catalog.file)), actor });
      const entries = await createCatalogCache(database, 0).entries();
      const groups = [...new Set(entries.flatMap((entry) => entry.private.groups))].sort();
      const [first] = Object.keys(adapterFamilies);
      for (const family of Object.keys(adapterFamilies)) {
        for (const { name, priority, weight } of sandboxChannels) {
          await ensureChannel(deps, {
            name: family === first ? name : `${name}-${family}`,
            adapter: family,
            baseUrl: `${config.development.sandboxUrl}/${name}/${family}`,
            credential: 'sandbox',
            groups,
            priority,
            weight,
            actor,
          });
        }
      }
    },
    async project({ credits = 1_000, ...options } = {}) {
      const { projectId, webhookSecret } = await createProject(deps, { name: 'test', actor });
      if (credits > 0) await addCredits(deps, { projectId, amount: credits, reference: 'start', actor });
      return { projectId, webhookSecret, ...(await key(projectId, options)) };
    },
    key,
    async addCredits(projectId, amount) {
      await addCredits(deps, { projectId, amount, reference: randomUUID(), actor });
    },
  };
}

const actor = 'test';

/** The channels that `npm start` creates. */
const sandboxChannels = [
  { name: 'sandbox-a', priority: 1, weight: 3 },
  { name: 'sandbox-b', priority: 1, weight: 1 },
  { name: 'sandbox-c', priority: 2, weight: 1 },
];
