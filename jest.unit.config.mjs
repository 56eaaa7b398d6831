import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import everything from './jest.config.mjs';

const { globalSetup: _setup, globalTeardown: _teardown, ...shared } = everything;

const servers =
  /^test\/(console|faults|main)\/|\/support\/(database|gateway|run-helper-client|temporal-namespace)\.ts$/;
/** Imports of values from modules of the project. */
const imports = /^import (?!type )(?!\{ (?:type \w+,? ?)+\} from)[^;]*?from '(\.[^']+)';|\bimport\('(\.[^']+)'\)/gm;

const seen = new Map();
/** Whether a file of `test` reaches PostgreSQL or Temporal, itself or by what it imports. */
function needsServers(file) {
  if (servers.test(file)) return true;
  if (!file.startsWith('test/') || !file.endsWith('.ts')) return false;
  if (!seen.has(file)) {
    seen.set(file, false);
    const text = readFileSync(join(import.meta.dirname, file), 'utf8');
    const found = [...text.matchAll(imports)].some(([, one, other]) => needsServers(join(dirname(file), one ?? other)));
    seen.set(file, found || text.includes('TEST_DATABASE_URL'));
  }
  return seen.get(file);
}

/** The test files that need neither PostgreSQL nor Temporal, for `npm run test:unit`. */
export default {
  ...shared,
  testMatch: globSync('test/**/*.test.ts', { cwd: import.meta.dirname })
    .filter((file) => !needsServers(file))
    .map((file) => `<rootDir>/${file}`),
};
