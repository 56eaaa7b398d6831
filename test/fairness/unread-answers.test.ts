import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { choosePort } from '../../src/main/servers/choose-port.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { largeAnswersOf, makeLargeTasks, readAnswer, type LargeAnswer } from './large-answers.ts';
import { UnreadConnections } from './unread-connections.ts';

/** A quarter of what `docker-compose.yml` gives an API server: a process takes 180 MB before its first request. */
const peakBytesMax = 400_000_000;
/** The kernel takes less of a connection that nobody reads. */
const kernelBytesMax = 6_000_000;
const pipelinedMax = 90;

let gateway: Gateway;
let project: TestProject;
let rows: (LargeAnswer & { bytes: number })[];
beforeAll(async () => {
  gateway = await startGateway({ asInProduction: true, env: { ADMIN_PORT: String(await choosePort(0, new Set())) } });
  project = await gateway.project({ credits: 1_000_000 });
  rows = [];
  for (const row of await largeAnswersOf(gateway, project, await makeLargeTasks(gateway, project, 60))) {
    const { status, bytes } = await readAnswer(gateway, row);
    if (status !== 200) throw new Error(`${row.path}: ${status}`);
    rows.push({ ...row, bytes });
  }
});
afterAll(() => gateway?.stop());

/** So many that a connection has more to send than the kernel takes, where they may be so many. */
const pipelinedOf = ({ method, bytes }: LargeAnswer & { bytes: number }): number =>
  method === 'POST' ? 3 : Math.min(pipelinedMax, 1 + Math.ceil(kernelBytesMax / bytes));

/** Of the answers that the API server logged: the routes of those whose reader was cut off. */
function cutOff(): Set<string> {
  const lines = readFileSync(join(gateway.logFolder, 'api-1.log'), 'utf8').split('\n');
  const answers = lines
    .filter((line) => line.includes('"msg":"request"'))
    .map((line) => JSON.parse(line) as { path: string; complete: boolean; ms: number });
  return new Set(answers.filter(({ complete, ms }) => !complete && ms > 15_000).map(({ path }) => path));
}

/** The path of a request as its route has it. */
const routeOf = ({ path }: LargeAnswer): string =>
  path
    .replace(/\?.*/, '')
    .replace(/task_\w+/, ':task_id')
    .replace(/(assets)\/.*/, '$1/:name')
    .replace(/file_\w+/, ':id');

describe('answers that nobody reads', () => {
  it('take a bounded memory on every route, until their connections are cut off', async () => {
    const unread = new UnreadConnections(gateway);
    try {
      // Before the many, which fill the memory for answers.
      for (const row of rows) unread.open(row, 1, pipelinedOf(row));
      for (const row of rows) unread.open(row, 9, Math.min(60, pipelinedOf(row)));
      const held = rows.filter((row) => row.bytes * pipelinedOf(row) > kernelBytesMax).map(routeOf);
      await eventually(() => {
        const cut = cutOff();
        return Promise.resolve(held.every((route) => cut.has(route)));
      }).catch((cause: unknown) => {
        const cut = cutOff();
        throw new Error(`not cut off: ${held.filter((route) => !cut.has(route)).join(', ')}`, { cause });
      });
      expect(held.length).toBeGreaterThan(12);
      expect(unread.peakBytes).toBeLessThan(peakBytesMax);
    } finally {
      unread.close();
    }
    for (const row of rows) await eventually(async () => (await readAnswer(gateway, row)).status === 200);
  });
});
