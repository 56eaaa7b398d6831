import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { chooseOwnPort } from '../support/own-port.ts';
import { largeAnswersOf, makeLargeTasks, readAnswer, type LargeAnswer } from '../fairness/large-answers.ts';
import { UnreadConnections } from '../fairness/unread-connections.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { recordPeaks, type Peak } from './results.ts';

const connections = 500;
/** Most of the answers of this time are made in its first second. */
const secondsPerRoute = 5;
const peakBytesMax = 400_000_000;

let gateway: Gateway;
let rows: LargeAnswer[];
beforeAll(async () => {
  gateway = await startGateway({ asInProduction: true, env: { ADMIN_PORT: String(await chooseOwnPort()) } });
  const project = await gateway.project({ credits: 1_000_000 });
  rows = await largeAnswersOf(gateway, project, await makeLargeTasks(gateway, project, 60));
});
afterAll(() => gateway?.stop());

const nameOf = ({ method, path, headers = {}, body }: LargeAnswer): string => {
  const accept = headers['accept'] ?? headers['accept-encoding'];
  const isStream = body !== undefined && 'stream' in body && body.stream === true;
  const route = path
    .replace(/task_\w+/, ':task_id')
    .replace(/index-.*/, 'index.js')
    .replace(/file_.*/, ':id');
  return `\`${method ?? 'GET'} ${route}\`${accept ? ` as ${accept}` : ''}${isStream ? ', streamed' : ''}`;
};

describe('the memory of one API server', () => {
  it(`stays below 400 MB while ${connections} connections read none of the answers, on each route`, async () => {
    const peaks: Peak[] = [];
    for (const row of rows) {
      // The memory of the answers before is free again.
      const bytes = await eventually(async () => {
        const answer = await readAnswer(gateway, row);
        return answer.status === 200 && answer.bytes;
      });
      const unread = new UnreadConnections(gateway);
      try {
        // The half of them pipeline.
        const pipelined = row.method === 'POST' ? 2 : 20;
        unread.open(row, connections / 2, 1);
        unread.open(row, connections / 2, pipelined);
        await sleep(secondsPerRoute * 1_000);
      } finally {
        unread.close();
      }
      const peak = { route: nameOf(row), answerBytes: bytes, peakBytes: unread.peakBytes };
      peaks.push(peak);
      process.stdout.write(`${peak.route}: ${bytes} bytes, peak ${(peak.peakBytes / 1e6).toFixed()} MB\n`);
    }
    await recordPeaks(peaks);
    expect(peaks.filter(({ peakBytes }) => peakBytes >= peakBytesMax)).toEqual([]);
  });
});
