import { loadConfig } from '../../src/config/load-config.ts';
import { buildDeps, type Built } from '../../src/main/build-deps.ts';
import { quickSettings } from './gateway-settings.ts';

/** The dependencies of a process over this database, with the usual settings of production and without a log. */
export const buildQuietDeps = (databaseUrl: string): Promise<Built> => {
  const { KEY_PEPPERS, MASTER_KEYS } = quickSettings;
  return buildDeps(loadConfig({ DATABASE_URL: databaseUrl, KEY_PEPPERS, MASTER_KEYS, LOG_LEVEL: 'silent' }), 'test');
};
