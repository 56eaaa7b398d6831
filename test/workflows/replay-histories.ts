import { Worker } from '@temporalio/worker';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { readdir, readFile } from 'node:fs/promises';
import { workflowBundle } from '../../src/main/workflow-bundle.ts';

/**
 * Replays the recorded histories of the folder named on the command line with the current workflows, and with `traced` as a worker with traces runs them. Prints one JSON object with,
 * for each history, null or the error of its replay. This is a separate program because the runtime of Temporal's
 * workers is installed once for the life of a process.
 */
const folder = new URL(`file://${process.argv[2] ?? ''}/`);
const names = (await readdir(folder)).filter((name) => name.endsWith('.json'));
const histories = await Promise.all(
  names.map(async (name) => ({
    workflowId: name.replace('.json', ''),
    history: historyFromJSON(JSON.parse(await readFile(new URL(name, folder), 'utf8'))),
  })),
);
const complaints: Record<string, string | null> = {};
for await (const { workflowId, error } of Worker.runReplayHistories(
  { workflowBundle: await workflowBundle({ traced: process.argv[3] === 'traced' }) },
  histories,
)) {
  complaints[workflowId] = error ? String(error) : null;
}
process.stdout.write(`${JSON.stringify(complaints)}\n`);
