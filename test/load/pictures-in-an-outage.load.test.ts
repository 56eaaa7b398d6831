import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { endsOf, eventually, expectBooksInOrder } from '../faults/crowd.ts';
import { ownPostgres, type OwnServer } from '../faults/own-servers.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';

const pictures = 70;
/** The provider answers each create with its picture after 15 s, during the outage. */
const pictureMs = 15_000;
const awaySeconds = 20;

let postgres: OwnServer;
let gateway: Gateway;
beforeAll(async () => {
  postgres = await ownPostgres();
  gateway = await startGateway();
});
afterAll(async () => {
  await gateway?.stop();
  await postgres?.close();
});

describe('synchronous pictures', () => {
  it('whose provider answers while PostgreSQL is away are all delivered, and each is bought once', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 100_000, rpm: null, inFlightMax: null });
    const create = (n: number) =>
      gateway.accept(apiKey, mediaRoutes.image, {
        model: 'gpt-image-2.5',
        prompt: `picture ${n} of an outage [[latency=${pictureMs}]]`,
      });
    await Promise.all(Array.from({ length: pictures }, (_, n) => create(n)));
    const submits = async () => (await gateway.hits('of an outage', 'submit')).length;
    await eventually(60, async () => (await submits()) === pictures || 'too few submits');
    await postgres.stop();
    await sleep(awaySeconds * 1_000);
    await postgres.start();

    const ends = await endsOf(gateway, projectId, 600);
    const counts = Object.fromEntries(
      [...Map.groupBy(ends, ({ status }) => status)].map(([status, all]) => [status, all.length]),
    );
    process.stdout.write(
      `${pictures} pictures of ${pictureMs} ms, PostgreSQL away for ${awaySeconds} s: ${JSON.stringify(counts)}\n`,
    );
    expect(counts).toEqual({ succeeded: pictures });
    expect(await submits()).toBe(pictures);
    await expectBooksInOrder(gateway, { projectId, credits: 100_000 });
  });
});
