import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/**
 * `npm run test:coverage`: runs Jest with its coverage, adds what the processes ran that the tests started (API servers, workers,
 * commands), and prints one table of `src`. Arguments go to Jest.
 */
const project = join(import.meta.dirname, '..');
const folder = join(project, 'node_modules', '.cache', 'tollgate', 'coverage');
const raw = join(folder, 'processes');
rmSync(folder, { recursive: true, force: true });
mkdirSync(raw, { recursive: true });

const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
const coverage = ['--coverage', '--coverageProvider=v8', '--coverageReporters=json', `--coverageDirectory=${folder}`];
const { status } = spawnSync(
  process.execPath,
  [...flags, ...coverage, '--collectCoverageFrom=src/**/*.ts', ...process.argv.slice(2)],
  { cwd: project, stdio: 'inherit', env: { ...process.env, NODE_V8_COVERAGE: raw } },
);

// Jest reports its own processes. V8's notes about them have the lines of the transformed code.
for (const name of readdirSync(raw)) {
  const file = join(raw, name);
  if (/node_modules\/jest(-\w+)?\//.test(readFileSync(file, 'utf8'))) rmSync(file);
}

const require = createRequire(import.meta.url);
const { Report } = require('c8');
// Parts of Jest's reporters and of c8.
const { createCoverageMap } = require('istanbul-lib-coverage');
const { createContext } = require('istanbul-lib-report');
const reports = require('istanbul-reports');

const settings = { include: ['src/**/*.ts'], exclude: [], extension: ['.ts'], src: [join(project, 'src')] };
const report = new Report({
  ...settings,
  tempDirectory: raw,
  resolve: project,
  excludeNodeModules: true,
  reporter: [],
});
const coverageMap = createCoverageMap(JSON.parse(readFileSync(join(folder, 'coverage-final.json'), 'utf8')));
coverageMap.merge(await report.getCoverageMapFromAllCoverageFiles());
reports.create('text', { maxCols: 140 }).execute(createContext({ dir: folder, coverageMap }));
process.exit(status ?? 1);
