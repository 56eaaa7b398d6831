import { bundleWorkflowCode, type WorkflowBundle } from '@temporalio/worker';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = dirname(dirname(fileURLToPath(import.meta.url)));
const cacheDirectory = join(dirname(source), 'node_modules', '.cache', 'tollgate');

/** What the bundle of `traced` workflows has beside the workflows. */
const traceInterceptors = join(source, 'platform', 'observe', 'opentelemetry', 'workflow-interceptors.ts');

/**
 * The bundled workflows. Built once per version of their sources (about three seconds) and cached in a file. If the file cannot be
 * written, the bundle stays in memory; with `mustRemember` that is an error. With `traced`, the bundle has the interceptors that record
 * spans.
 */
export async function workflowBundle({ traced = false, mustRemember = false } = {}): Promise<WorkflowBundle> {
  const file = join(cacheDirectory, `${traced ? 'traced-' : ''}workflows-${await sourcesHash()}.js`);
  const remembered = await readFile(file, 'utf8').catch(() => null);
  if (remembered !== null) return { code: remembered };
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(source, 'workflows', 'index.ts'),
    workflowInterceptorModules: traced ? [traceInterceptors] : [],
    logger: quiet,
  });
  // Best effort: an image with a read-only root already has the file.
  await remember(file, code).catch((error: unknown) => {
    if (mustRemember) throw error;
  });
  return { code };
}

async function remember(file: string, code: string): Promise<void> {
  await mkdir(cacheDirectory, { recursive: true });
  const unfinished = `${file}.${process.pid}`;
  await writeFile(unfinished, code);
  await rename(unfinished, file);
}

async function sourcesHash(): Promise<string> {
  const hash = createHash('sha256');
  for (const layer of ['workflows', 'domain']) {
    const folder = join(source, layer);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    for (const file of files.sort()) hash.update(relative(folder, file)).update(await readFile(file));
  }
  for (const file of [traceInterceptors, join(dirname(source), 'package-lock.json')]) hash.update(await readFile(file));
  return hash.digest('hex').slice(0, 24);
}

const nothing = () => undefined;
const quiet = { log: nothing, trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing };
