import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { createAdminToken } from '../../src/services/admin/create-admin-token.ts';
import { testConfig } from '../support/test-config.ts';
import type { Role } from '../../src/domain/operators/role.ts';
import { allActions } from '../../src/admin/table.ts';
import type { ActionRoute } from '../../src/admin/define-action.ts';
import { buildConsole } from '../../scripts/build-console.mjs';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { oidcClient, startOidcIssuer, type OidcIssuer } from '../support/oidc-issuer.ts';
import { actions, notInTheConsole } from './actions.ts';
import { createAdminClient, type AdminClient } from './admin-client.ts';
import { startBrowser } from './browser.ts';
import { keyboardWalks } from './keyboard-walks.ts';
import { listWalks } from './list-walks.ts';
import { playgroundWalks } from './playground-walks.ts';
import { roleWalks } from './role-walks.ts';
import { walkOidcSignIn } from './oidc-walk.ts';
import type { Scene } from './scene.ts';
import { setStage, type Stage } from './stage.ts';
import { startVisit, type Visit } from './visit.ts';

let gateway: Gateway;
let issuer: OidcIssuer;
let browser: Browser;
let admin: AdminClient;
let stage: Stage;
/** The owner at the console. */
let visit: Visit;
let token: string;

beforeAll(async () => {
  await buildConsole();
  issuer = await startOidcIssuer();
  const env = {
    OIDC_ISSUER: issuer.url,
    OIDC_CLIENT_ID: oidcClient.id,
    OIDC_CLIENT_SECRET: oidcClient.secret,
  };
  [gateway, browser] = await Promise.all([startGateway({ env }), startBrowser()]);
  token = await tokenOf('owner', 'Ada');
  admin = createAdminClient(gateway.baseUrl, token);
  stage = await setStage(gateway, admin);
  visit = await startVisit(browser, gateway.baseUrl);
});
afterAll(async () => {
  await browser.close();
  await gateway.stop();
  await issuer.close();
});

const tokenOf = async (role: Role, name: string): Promise<string> => {
  const deps = { db: gateway.database, config: testConfig(gateway.env) };
  return (await createAdminToken(deps, { role, name, expiresAt: null, actor: 'test' })).token;
};

const scene = (): Scene => ({ visit, gateway, admin, stage, browser, tokenOf });

/** The pages, by the names of their pictures. */
const pages = (): Record<string, string> => ({
  overview: '/overview',
  tasks: '/tasks',
  task: `/tasks/${stage.tasks.delivered}`,
  'task-failed': `/tasks/${stage.tasks.unknown}`,
  requests: '/requests',
  request: `/requests/${stage.chats.refunded}`,
  'request-charged': `/requests/${stage.chats.charged}`,
  models: '/models',
  plans: '/plans',
  model: '/models/aurora-image-1',
  channels: '/channels',
  channel: `/channels/${stage.channelId}`,
  projects: '/projects',
  project: `/projects/${stage.studio.projectId}`,
  deliveries: '/deliveries',
  audit: '/audit',
  jobs: '/jobs',
  summaries: '/summaries',
  access: '/access',
});

describe('the console', () => {
  it('lets a newcomer open the address of the banner, press Generate and see a picture', async () => {
    await visit.open(`/playground#token=${token}`);
    await visit.press('Generate');
    await visit.page.locator('img.media').waitFor();
    const decoded =
      "document.querySelector('img.media').decode().then(() => document.querySelector('img.media').naturalWidth)";
    expect(await visit.page.evaluate(decoded)).toBe(1_024);
    expect(visit.page.url()).not.toContain('adm_');
    expect(visit.scriptBytes()).toBeGreaterThan(0);
    expect(visit.scriptBytes()).toBeLessThan(350_000);
    await visit.picture('playground');
  });

  it.each(actions)('$promise', async ({ actions, walk }) => {
    const before = visit.changes.length;
    await walk(scene());
    const sent = visit.changes.slice(before);
    for (const action of actions) expect(sent).toContainEqual(expect.stringMatching(requestOf(action)));
  });

  it('walks every action that changes something, or says why it is not in the console', () => {
    const changing = allActions().filter(({ action: { route } }) => !('local' in route) && route.method !== 'GET');
    const covered = [...actions.flatMap(({ actions }) => actions), ...Object.keys(notInTheConsole)];
    expect([...new Set(covered)].sort()).toEqual(changing.map(({ name }) => name).sort());
    expect(Object.values(notInTheConsole)).not.toContain('');
  });

  it('shows every page, at desktop and phone width, light and dark', async () => {
    for (const [name, path] of Object.entries(pages())) {
      await visit.open(path);
      await visit.picture(name);
    }
    await visit.open('/audit?action=channels.disable');
    await visit.page.locator('details.detail summary').first().click();
    await visit.page.getByRole('table', { name: 'What channels.disable changed' }).waitFor();
    await visit.picture('audit-change');
    await visit.open('/tasks');
    await visit.page.getByRole('switch', { name: 'Show pictures' }).click();
    await visit.page.locator('img.thumbnail').first().waitFor();
    await visit.picture('tasks-pictures');
    await visit.open(`/tasks/${stage.tasks.delivered}`);
    await visit.press('Show them');
    await visit.page.locator('img.media').waitFor();
    await visit.picture('task-content');
    await visit.open(`/projects/${stage.studio.projectId}`);
    for (const tab of ['Usage', 'Ledger']) {
      await visit.page.getByRole('tab', { name: tab }).click();
      await visit.page
        .getByRole('table')
        .or(visit.page.getByRole('list', { name: tab }))
        .first()
        .waitFor();
      await visit.picture(`project-${tab.toLowerCase()}`);
    }
  });

  it.each([...playgroundWalks, ...roleWalks, ...keyboardWalks, ...listWalks])('$promise', ({ walk }) => walk(scene()));

  it('signs a person in by an identity provider, once an owner has entered it', () => walkOidcSignIn(scene(), issuer));

  it('signs out, and then shows nothing but the sign-in page', async () => {
    await visit.open('/tasks');
    await visit.press(/Signed in as/);
    await visit.page.getByRole('menuitem', { name: 'Sign out' }).click();
    await visit.page.getByRole('heading', { name: 'Sign in to Tollgate' }).waitFor();
    await visit.picture('sign-in');
    await visit.fill('Admin token', 'adm_wrong');
    await visit.press('Sign in');
    await visit.page.getByRole('alert').waitFor();
  });

  it('has no violation of accessibility and no content wider than its place, in every picture', () => {
    expect(visit.problems).toEqual([]);
  });

  it('runs without an error of a script, and loads nothing that its policy refuses', () => {
    expect(visit.complaints).toEqual([]);
  });

  it('is answered as the OpenAPI documents say', async () => {
    const found = await Promise.all(visit.answers);
    expect(found.length).toBeGreaterThan(50);
    expect(found.filter((sentence) => sentence !== null)).toEqual([]);
  });
});

/** What a browser sends for an action, such as `POST /keys/key_1/rotate`. */
function requestOf(name: string): RegExp {
  const route = allActions().find((each) => each.name === name)?.action.route as ActionRoute | undefined;
  return new RegExp(`^${route?.method} ${route?.path.replace(/:\w+/g, '[^/]+')}$`);
}
