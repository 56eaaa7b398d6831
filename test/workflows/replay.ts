import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import { nodeBinary, projectFolder } from '../support/program.ts';

const run = promisify(execFile);
const Complaints = z.record(z.string(), z.string().nullable());

/**
 * Replays the histories of a folder with the current workflows, with `traced` as a worker with traces does. Returns the error of each, or null.
 */
export async function replay(histories: string, ...how: string[]): Promise<z.infer<typeof Complaints>> {
  const program = fileURLToPath(new URL('replay-histories.ts', import.meta.url));
  const { stdout } = await run(nodeBinary, ['--disable-warning=ExperimentalWarning', program, histories, ...how], {
    cwd: projectFolder,
    // The first replay after a change of the sources also bundles the workflows.
    timeout: 150_000,
  });
  return Complaints.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''));
}
