import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from './lock.mjs';
import { obtainTemporal } from './obtain-temporal.mjs';
import { runWithProgress } from './run-with-progress.mjs';

/**
 * Makes a fresh clone ready, before `npm start` and `npm test`: the packages of the lock file, Node 24 among them, and a Temporal
 * server. Quick and silent when all is there. Plain Node 20 without packages, because it is what runs first.
 *
 * `--temporal` wants the server even when TEMPORAL_ADDRESS is set: the tests stop and wipe the one they use. `--packages` wants
 * the packages only.
 */
const project = fileURLToPath(new URL('..', import.meta.url));
const modules = join(project, 'node_modules');
const lockFile = join(project, 'package-lock.json');
const stampFile = join(modules, '.tollgate-installed');
// Outside the project, whose folders an install replaces and git watches.
const installLock = join(
  tmpdir(),
  `tollgate-install-${createHash('sha256').update(project).digest('hex').slice(0, 16)}.lock`,
);

try {
  await preparePackages();
  checkNode();
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
    // Not npm ci: it refuses our lock file, which lacks optional packages of other systems that its registry did not have. An
    // install keeps to the file's versions too, and --no-save leaves the file as it is.
    const run = await npm(['install', '--no-save'], `installing packages (${why})`);
    if (run.code !== 0) {
      throw new Error(`npm could not install the packages:\n${run.output.trim().split('\n').slice(-20).join('\n')}`);
    }
    writeFileSync(stampFile, lockHash());
  });
}

/** True when node_modules is what the lock file says: by our stamp, else by npm's own record of what it installed. */
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

/** npm of the person's own Node, not of the packages that are about to be replaced. */
function npm(args, label) {
  const { npm_execpath: cli, npm_node_execpath: node } = process.env;
  const viaCli =
    cli?.endsWith('npm-cli.js') && node && existsSync(cli) && existsSync(node) && !node.startsWith(modules);
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes(`node_modules${sep}.bin`));
  // Errors only: some packages name a newer Node than the one that runs npm, and the gateway itself runs on the Node it installs.
  // Dev packages are installed whatever NODE_ENV says.
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

/** The gateway runs TypeScript by Node 24's own type stripping; that Node comes with the packages. */
function checkNode() {
  const node = join(modules, '.bin', 'node');
  const run = spawnSync(node, ['--version'], { encoding: 'utf8', timeout: 15_000 });
  if (run.status === 0 && /^v24\./.test(run.stdout)) return;
  throw new Error(`${node} is not a working Node 24. Remove node_modules and run this again.`);
}
