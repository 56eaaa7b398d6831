import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAdminToken } from '../../src/services/operators/create-admin-token.ts';
import { testConfig } from '../support/test-config.ts';
import { chooseOwnPort } from '../support/own-port.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { noise } from '../support/pictures.ts';
import { upload } from '../support/upload.ts';
import type { GreedyRequest } from './greedy-callers.ts';
import { greedyBodies, greedyLists } from './greedy-requests.ts';
import { largeBodies } from './large-bodies.ts';
import { startGreedyCallers, workUntil } from './other-tenant.ts';
import { PeakMemory } from './peak-memory.ts';

/** A fifth of the bodies that `test/load` sends, on a gateway with a fifth of the memory for them. */
const scale = 0.2;
const settings = async () => ({
  BODIES_BUFFERED_MAX_BYTES: '51000000',
  ADMIN_PORT: String(await chooseOwnPort()),
});
/** Half of what `docker-compose.yml` gives an API server, which takes 180 MB before its first request. */
const peakBytesMax = 768_000_000;

let gateway: Gateway;
let attacker: TestProject;
let victim: TestProject;
let fileUrl: string;
beforeAll(async () => {
  gateway = await startGateway({ asInProduction: true, env: await settings() });
  [attacker, victim] = [await gateway.project({ credits: 100_000_000 }), await gateway.project({ credits: 100_000 })];
  fileUrl = (await upload({ baseUrl: gateway.baseUrl, apiKey: victim.apiKey }, await noise(200))).url;
});
afterAll(() => gateway?.stop());

/** The statuses with which each request was answered, but for those that say that the project already uses more than its share. */
async function statusesOf(requests: readonly GreedyRequest[], callers: number): Promise<Record<string, string[]>> {
  const greedy = startGreedyCallers(requests, callers);
  const statuses = (): Record<string, string[]> =>
    Object.fromEntries(
      requests.map(({ name }) => [
        name,
        Object.keys(greedy.seen()[name] ?? {}).filter((status) => !['0', '503'].includes(status)),
      ]),
    );
  try {
    // It throws where a request of the other project does not succeed.
    await workUntil(gateway, {
      project: victim,
      fileUrl,
      clients: 2,
      pauseMs: 500,
      isOver: () => Object.values(statuses()).every((some) => some.length > 0),
    });
    return statuses();
  } finally {
    await greedy.stop();
  }
}

describe('one project whose callers repeat large bodies', () => {
  it.each([
    ['of pictures, texts and parts', 2, (name: string) => !name.includes('bomb')],
    ['that unpack to far more', 1, (name: string) => name.includes('bomb')],
  ])('%s leaves every request of another one to succeed, in a bounded memory', async (_what, callers, isOne) => {
    const requests = largeBodies(gateway, attacker, scale).filter(({ name }) => isOne(name));
    const peak = new PeakMemory(gateway);
    try {
      const expected = ({ name }: GreedyRequest): string =>
        name.includes('bomb') ? '413' : /picture|blanks/.test(name) ? '200' : '400';
      expect(await statusesOf(requests, callers)).toEqual(
        Object.fromEntries(requests.map((request) => [request.name, [expected(request)]])),
      );
      expect(peak.bytes).toBeLessThan(peakBytesMax);
    } finally {
      peak.stop();
    }
  });
});

describe('one project and one operator whose callers repeat every list and every body with an array', () => {
  it('leave every request of another project to succeed, and are answered themselves', async () => {
    const { taskId } = await gateway.create(attacker.apiKey, mediaRoutes.image, {
      model: 'aurora-image-1',
      prompt: 'a red fox',
    });
    const deps = { db: gateway.database, config: testConfig(gateway.env) };
    const admin = { name: 'greedy', role: 'owner', expiresAt: null, actor: 'test' } as const;
    const { token } = await createAdminToken(deps, admin);
    const requests = [
      ...greedyLists(gateway, { project: attacker, taskId, adminToken: token }),
      ...greedyBodies(gateway, attacker, 9_900),
    ];
    expect(requests.length).toBeGreaterThan(40);
    const statuses = await statusesOf(requests, 1);
    expect(Object.entries(statuses).filter(([, [status]]) => Number(status) >= 500)).toEqual([]);
  });
});
