import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from './lock.mjs';
import { runWithProgress } from './run-with-progress.mjs';

const project = fileURLToPath(new URL('..', import.meta.url));
const folder = join(project, 'console');
/** Vite needs a newer Node than the one that a person may start this with. */
const nodeBinary =
  Number(process.versions.node.split('.')[0]) >= 22 ? process.execPath : join(project, 'node_modules', '.bin', 'node');
const stampFile = join(folder, 'dist', '.built-from');

/**
 * Builds the console into console/dist, unless it was built from the same sources and packages. Plain Node without packages, because it
 * runs before the first start. Throws with the end of Vite's output if the build fails.
 */
export async function buildConsole() {
  const sources = sourcesHash(project);
  if (isBuiltFrom(sources)) return;
  await withLock(join(tmpdir(), `tollgate-console-${sources.slice(0, 16)}.lock`), async () => {
    if (isBuiltFrom(sources)) return;
    const { code, output } = await runWithProgress({
      command: nodeBinary,
      args: [
        join(project, 'node_modules', 'vite', 'bin', 'vite.js'),
        'build',
        '--config',
        join(folder, 'vite.config.ts'),
      ],
      cwd: project,
      // Under Jest it is `test`, for which Vite would bundle the development version of React.
      env: { ...process.env, NODE_ENV: 'production' },
      label: 'building the console (some seconds, once)',
      timeoutSeconds: 5 * 60,
    });
    if (code !== 0) {
      throw new Error(`Vite could not build the console:\n${output.trim().split('\n').slice(-20).join('\n')}`);
    }
    writeFileSync(stampFile, sources);
  });
}

const isBuiltFrom = (sources) => existsSync(stampFile) && readFileSync(stampFile, 'utf8') === sources;

/** What the console is built from, beside the packages: .dependency-cruiser.cjs lets it import nothing else. */
const folders = ['console/src', 'src/domain', 'src/schemas'];
const files = ['console/index.html', 'console/vite.config.ts', 'console/tsconfig.json', 'package-lock.json'];

/**
 * A hash of everything that decides what Vite writes in the project folder `root`. Of the folder's path too, because the lock is outside
 * of it.
 */
export function sourcesHash(root) {
  const below = folders.flatMap((name) =>
    readdirSync(join(root, name), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort(),
  );
  const hash = createHash('sha256').update(root);
  for (const file of [...below, ...files.map((name) => join(root, name))]) hash.update(file).update(readFileSync(file));
  return hash.digest('hex');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await buildConsole();
  } catch (error) {
    process.stderr.write(`tollgate: ${error.message}\n`);
    process.exit(1);
  }
}
