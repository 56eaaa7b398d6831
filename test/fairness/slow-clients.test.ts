import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { noise } from '../support/pictures.ts';
import { upload } from '../support/upload.ts';
import { startSlowClients, workUntil } from './other-tenant.ts';

/**
 * A twentieth of the attack that `test/load` makes, on a gateway with a twentieth of the places and of the memory for bodies. One
 * project may have 375 readers at the same time.
 */
const attack = { uploads: 25, bodies: 4, readers: 400 };
const settings = { HTTP_IN_FLIGHT_MAX: '25', BODIES_BUFFERED_MAX_BYTES: '16000000', IMAGE_WAITS_MAX: '8' };

let gateway: Gateway;
let attacker: TestProject;
let victim: TestProject;
beforeAll(async () => {
  gateway = await startGateway({ env: settings });
  [attacker, victim] = [await gateway.project(), await gateway.project({ credits: 100_000 })];
});
afterAll(() => gateway.stop());

const senderOf = ({ apiKey }: TestProject) => ({ baseUrl: gateway.baseUrl, apiKey });

/** The answers that the API server logged for files, with how each ended. */
const downloads = (): { status: number; complete: boolean; ms: number }[] =>
  readFileSync(join(gateway.logFolder, 'api-1.log'), 'utf8')
    .split('\n')
    .filter((line) => line.includes('"path":"/files/:id"'))
    .map((line) => JSON.parse(line) as ReturnType<typeof downloads>[number]);

describe('slow uploads, stalled bodies and slow readers of one project', () => {
  it('are cut off or refused, while every chat, create, poll and download of another project succeeds', async () => {
    const large = await upload(senderOf(attacker), await noise(1_600));
    const own = await upload(senderOf(victim), await noise(200));
    // Once without the attack, so that caches and connections are warm.
    await workUntil(gateway, { project: victim, fileUrl: own.url, clients: 2, isOver: () => true });
    const slow = startSlowClients({ ...attack, baseUrl: gateway.baseUrl, apiKey: attacker.apiKey, fileUrl: large.url });
    try {
      await eventually(() => {
        const { uploads, bodies, readers } = slow.seen();
        return Promise.resolve(uploads.openMax === attack.uploads && bodies.openMax > 0 && readers.openMax > 300);
      });
      const isCutOff = (): boolean =>
        downloads().some(({ status, complete, ms }) => status === 200 && !complete && ms > 15_000);
      let roundsEnded = 0;
      const times = await workUntil(gateway, {
        project: victim,
        fileUrl: own.url,
        clients: 2,
        // Without a pause this work takes more CPU time than the attack.
        pauseMs: 4_000,
        isOver: () =>
          (roundsEnded += 1) > 2 &&
          isCutOff() &&
          [slow.seen().uploads, slow.seen().bodies].every(({ ended }) => (ended[408] ?? 0) > 0),
      });
      expect(times.chat.length).toBeGreaterThan(2);
      const { uploads, bodies, readers } = slow.seen();
      expect({ uploads: uploads.ended[408], bodies: bodies.ended[408], readers: readers.ended[503] }).toEqual({
        uploads: expect.any(Number),
        bodies: expect.any(Number),
        readers: expect.any(Number),
      });
    } finally {
      await slow.stop();
    }
  });
});

describe('requests of one project that wait for an image', () => {
  it('leave waits and places to another project', async () => {
    const ask = ({ apiKey }: TestProject, prompt: string) =>
      gateway.create(apiKey, '/api/v1beta/models/aurora-image-1:generateContent', {
        contents: [{ parts: [{ text: prompt }] }],
      });
    const statuses: number[] = [];
    const crowd = Array.from({ length: 20 }, async (_, index) => {
      statuses.push((await ask(attacker, `crowd ${index} [[latency=20000]]`)).status);
    });
    await eventually(() => Promise.resolve(statuses.length === 13));
    expect(new Set(statuses)).toEqual(new Set([503]));
    expect((await ask(victim, 'a red fox')).status).toBe(200);
    await Promise.all(crowd);
    expect(statuses.filter((status) => status === 200)).toHaveLength(7);
  });
});
