import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chooseOwnPort } from '../support/own-port.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { largeAnswersOf, makeLargeTasks, readAnswer, type LargeAnswer } from './large-answers.ts';
import { UnreadConnections } from './unread-connections.ts';

/** A quarter of what `docker-compose.yml` gives an API server: a process takes 180 MB before its first request. */
const peakBytesMax = 400_000_000;
/** The kernel takes less of a connection that the client does not read. */
const kernelBytesMax = 5_000_000;
const pipelinedMax = 90;

let gateway: Gateway;
let project: TestProject;
let rows: (LargeAnswer & { bytes: number })[];
beforeAll(async () => {
  gateway = await startGateway({ asInProduction: true, env: { ADMIN_PORT: String(await chooseOwnPort()) } });
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
function pipelinedOf({ method, bytes }: LargeAnswer & { bytes: number }): number {
  if (method === 'POST') return 3;
  const filling = 1 + Math.ceil(kernelBytesMax / bytes);
  return filling > pipelinedMax ? 10 : filling;
}

/** The answers that the API server logged. */
const answers = (): { path: string; status: number; complete: boolean; ms: number }[] =>
  readFileSync(join(gateway.logFolder, 'api-1.log'), 'utf8')
    .split('\n')
    .filter((line) => line.includes('"msg":"request"'))
    .map((line) => JSON.parse(line) as ReturnType<typeof answers>[number]);

const refused = (): number => answers().filter(({ status }) => status === 503).length;

/** The routes of those requests of which no reader was cut off. */
function notCutOff(requests: readonly LargeAnswer[]): string[] {
  const cut = new Set(
    answers()
      .filter(({ complete, ms }) => !complete && ms > 15_000)
      .map(({ path }) => path),
  );
  return requests.map(routeOf).filter((route) => !cut.has(route));
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
    const held = rows.filter((row) => row.bytes * pipelinedOf(row) > kernelBytesMax);
    expect(held.length).toBeGreaterThan(12);
    const unread = new UnreadConnections(gateway);
    try {
      for (const row of rows) unread.open(row, 1, pipelinedOf(row));
      // A reader has 20 s, and 20 s more if the kernel took some bytes in the first ones.
      await eventually(() => Promise.resolve(notCutOff(held).length === 0), { secondsMax: 180 }).catch(() => undefined);
      expect(notCutOff(held)).toEqual([]);
      // Together they have more than the memory for answers, so that some are refused.
      for (const row of rows) unread.open(row, 9, Math.min(10, pipelinedOf(row)));
      await eventually(() => Promise.resolve(refused() > 0));
      expect(unread.peakBytes).toBeLessThan(peakBytesMax);
    } finally {
      unread.close();
    }
    for (const row of rows) await eventually(async () => (await readAnswer(gateway, row)).status === 200);
  });
});
