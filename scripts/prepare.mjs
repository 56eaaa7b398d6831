import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildConsole } from './build-console.mjs';
import { withLock } from './lock.mjs';
import { obtainTemporal } from './obtain-temporal.mjs';
import { runWithProgress } from './run-with-progress.mjs';

/**
 * Prepares a fresh clone before `npm start` and `npm test`: installs the packages of the lock file, Node 24 among them, builds the console, and a
 * Temporal server. Quick and silent if everything exists. Plain Node 20 without packages, because it runs first.
 *
 * `--temporal` gets a server even if TEMPORAL_ADDRESS is set, because the tests stop and wipe their server. `--packages` installs
 * packages only.
 */
const project = fileURLToPath(new URL('..', import.meta.url));
const modules = join(project, 'node_modules');
const lockFile = join(project, 'package-lock.json');
const stampFile = join(modules, '.tollgate-installed');
// Outside the project, because an install replaces its folders and git tracks them.
const installLock = join(
  tmpdir(),
  `tollgate-install-${createHash('sha256').update(project).digest('hex').slice(0, 16)}.lock`,
);

try {
  await preparePackages();
  checkNode();
  if (!process.argv.includes('--packages')) await buildConsole();
  const wantsServer = !process.env.TEMPORAL_ADDRESS && !process.argv.includes('--packages');
  if (wantsServer || process.argv.includes('--temporal')) await obtainTemporal(process.env);
} catch (error) {
  process.stderr.write(`tollgate: ${error.message}\n`);
  process.exit(1);
}

async function preparePackages() {
  if (isInstalled()) return;
  await withLock(installLock, async () => {
    if (isInstalled()) return;
    const why = existsSync(modules) ? 'the lock file changed' : 'about a minute, once';
    // npm ci refuses the lock file, because it lacks optional packages of other systems. npm install uses the same versions, and
    // --no-save does not change the file.
    const run = await npm(['install', '--no-save'], `installing packages (${why})`);
    if (run.code !== 0) {
      throw new Error(`npm could not install the packages:\n${run.output.trim().split('\n').slice(-20).join('\n')}`);
    }
    writeFileSync(stampFile, lockHash());
  });
}

/** Whether node_modules matches the lock file, by our stamp file or by npm's own record. */
function isInstalled() {
  try {
    if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === lockHash()) return true;
    const wanted = JSON.parse(readFileSync(lockFile, 'utf8')).packages;
    const there = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')).packages;
    const complete = Object.entries(wanted).every(
      ([path, entry]) =>
        path === '' ||
        (there[path]
          ? there[path].version === entry.version
          : Boolean(entry.optional || entry.devOptional || entry.peer)),
    );
    if (complete) writeFileSync(stampFile, lockHash());
    return complete;
  } catch {
    return false;
  }
}

function lockHash() {
  return createHash('sha256').update(readFileSync(lockFile)).digest('hex');
}

/** Runs npm with the user's own Node, not with the one in the packages, which are about to be replaced. */
function npm(args, label) {
  const { npm_execpath: cli, npm_node_execpath: node } = process.env;
  const viaCli =
    cli?.endsWith('npm-cli.js') && node && existsSync(cli) && existsSync(node) && !node.startsWith(modules);
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes(`node_modules${sep}.bin`));
  // npm prints errors only, because it would warn about packages that need the newer Node that it is about to install. Dev packages
  // are installed whatever NODE_ENV says.
  const flags = [
    '--loglevel=error',
    '--no-audit',
    '--no-fund',
    '--engine-strict=false',
    '--ignore-scripts=false',
    '--include=dev',
    '--include=optional',
  ];
  return runWithProgress({
    command: viaCli ? node : 'npm',
    args: [...(viaCli ? [cli] : []), ...args, ...flags],
    cwd: project,
    env: { ...process.env, PATH: path.join(delimiter) },
    label,
    timeoutSeconds: 20 * 60,
  });
}

/** The gateway needs Node 24, which runs TypeScript by type stripping. The packages include it. */
function checkNode() {
  const node = join(modules, '.bin', 'node');
  const run = spawnSync(node, ['--version'], { encoding: 'utf8', timeout: 15_000 });
  if (run.status === 0 && /^v24\./.test(run.stdout)) return;
  throw new Error(`${node} is not a working Node 24. Remove node_modules and run this again.`);
}
