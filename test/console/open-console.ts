import { expect } from '@jest/globals';
import { buildConsole } from '../../scripts/build-console.mjs';
import type { Role } from '../../src/domain/operators/role.ts';
import { createAdminToken } from '../../src/services/operators/create-admin-token.ts';
import { startGateway } from '../support/gateway.ts';
import { testConfig } from '../support/test-config.ts';
import { createAdminClient } from './admin-client.ts';
import { startBrowser } from './browser.ts';
import type { Scene } from './scene.ts';
import { setStage } from './stage.ts';
import { startVisit, type Visit } from './visit.ts';

/** A console with its gateway, a browser, and an owner who may sign in with `token`. */
export interface OpenConsole extends Scene {
  close(): Promise<void>;
}

/** Builds the console if it has changed, starts a gateway with this environment, and fills it with what `setStage` stages. */
export async function openConsole(env: Record<string, string> = {}): Promise<OpenConsole> {
  await buildConsole();
  const [gateway, browser] = await Promise.all([startGateway({ env }), startBrowser()]);
  const tokenOf = async (role: Role, name: string): Promise<string> => {
    const deps = { db: gateway.database, config: testConfig(gateway.env) };
    return (await createAdminToken(deps, { role, name, expiresAt: null, actor: 'test' })).token;
  };
  const token = await tokenOf('owner', 'Ada');
  const admin = createAdminClient(gateway.baseUrl, token);
  const stage = await setStage(gateway, admin);
  const visit = await startVisit(browser, gateway.baseUrl);
  return {
    gateway,
    browser,
    admin,
    stage,
    visit,
    token,
    tokenOf,
    async close() {
      await browser.close();
      await gateway.stop();
    },
  };
}

/** Signs the owner in, as the address of the start-up banner does. */
export async function signIn({ visit, token }: OpenConsole): Promise<void> {
  await visit.open(`/overview#token=${token}`);
  // The page of somebody who is not signed in yet has a heading too.
  await visit.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
}

/**
 * Expects that no picture of a visit has a violation of accessibility or content wider than its place, that no script failed and the policy of the
 * page refused nothing, and that every answer is as the OpenAPI documents say.
 */
export async function expectFlawless(visit: Visit): Promise<void> {
  expect(visit.problems).toEqual([]);
  expect([...visit.complaints, ...visit.refusedReads]).toEqual([]);
  const found = await Promise.all(visit.answers);
  expect(found.length).toBeGreaterThan(0);
  expect(found.filter((sentence) => sentence !== null)).toEqual([]);
}
