import { buildDeps, type Built } from '../../src/main/build-deps.ts';
import { quickSettings } from './gateway-settings.ts';
import { testConfig } from './test-config.ts';

/** The dependencies of a process over this database, with the usual settings of production, the patience of tests and without a log. */
export const buildQuietDeps = (databaseUrl: string): Promise<Built> => {
  const { KEY_PEPPERS, MASTER_KEYS, DATABASE_STATEMENT_TIMEOUT_MS, DATABASE_CONNECT_TIMEOUT_MS } = quickSettings;
  const patience = { DATABASE_STATEMENT_TIMEOUT_MS, DATABASE_CONNECT_TIMEOUT_MS };
  const settings = { DATABASE_URL: databaseUrl, KEY_PEPPERS, MASTER_KEYS, LOG_LEVEL: 'silent', ...patience };
  return buildDeps(testConfig(settings), 'test');
};
