import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { largeAnswersOf, makeLargeTasks, UnreadConnections, type LargeAnswer } from './unread-answers.ts';

/** A quarter of what `docker-compose.yml` gives an API server: a process takes 180 MB before its first request. */
const peakBytesMax = 400_000_000;
/** Where rows are parsed and written, the heap grows before it is collected. */
const parsedPeakBytesMax = 900_000_000;

let gateway: Gateway;
let project: TestProject;
let rows: LargeAnswer[];
beforeAll(async () => {
  gateway = await startGateway();
  project = await gateway.project({ credits: 1_000_000 });
  rows = await largeAnswersOf(gateway, project, await makeLargeTasks(gateway, project, 60));
});
afterAll(() => gateway?.stop());

/** Of the answers that the API server logged: the routes of those whose reader was cut off. */
function cutOff(): Set<string> {
  const lines = readFileSync(join(gateway.logFolder, 'api-1.log'), 'utf8').split('\n');
  const answers = lines
    .filter((line) => line.includes('"msg":"request"'))
    .map((line) => JSON.parse(line) as { path: string; complete: boolean; ms: number });
  return new Set(answers.filter(({ complete, ms }) => !complete && ms > 15_000).map(({ path }) => path));
}

const needsKey = ({ headers }: LargeAnswer): boolean => headers?.['authorization'] !== undefined;

describe('answers that nobody reads', () => {
  it.each([
    {
      what: 'without a key',
      isOne: (row: LargeAnswer) => !needsKey(row),
      peakMax: peakBytesMax,
      cut: '/docs/assets/:name',
    },
    { what: 'with a key', isOne: needsKey, peakMax: parsedPeakBytesMax, cut: '/api/v1/tasks/:task_id' },
  ])('take a bounded memory on every route $what, which is free again afterwards', async ({ isOne, peakMax, cut }) => {
    const tested = rows.filter(isOne);
    const unread = new UnreadConnections(gateway);
    try {
      for (const row of tested) unread.open(row, 10, row.method === 'POST' ? 3 : 60);
      await eventually(() => Promise.resolve(cutOff().has(cut)));
      expect(unread.peakBytes).toBeLessThan(peakMax);
    } finally {
      unread.close();
    }
    for (const { path, method = 'GET', headers, body } of tested) {
      await eventually(async () => {
        const answer = await fetch(gateway.baseUrl + path, {
          method,
          headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
          ...(body && { body: JSON.stringify(body) }),
        });
        await answer.arrayBuffer();
        return answer.status === 200;
      });
    }
  });
});
