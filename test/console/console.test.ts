import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { oidcClient, startOidcIssuer, type OidcIssuer } from '../support/oidc-issuer.ts';
import { expectReachable } from './by-keyboard.ts';
import { walkFreshInstallation } from './fresh-walk.ts';
import { walkOidcSignIn } from './oidc-walk.ts';
import { expectFlawless, openConsole, type OpenConsole } from './open-console.ts';
import { pageViews, stageViews } from './views.ts';
import type { Visit } from './visit.ts';

let issuer: OidcIssuer;
let opened: OpenConsole;
/** The owner at the console. */
let visit: Visit;

beforeAll(async () => {
  issuer = await startOidcIssuer();
  opened = await openConsole({
    OIDC_ISSUER: issuer.url,
    OIDC_CLIENT_ID: oidcClient.id,
    OIDC_CLIENT_SECRET: oidcClient.secret,
  });
  await stageViews(opened);
  visit = opened.visit;
});
afterAll(async () => {
  await opened.close();
  await issuer.close();
});

const router = new URL('../../console/src/router.tsx', import.meta.url);
/** Without the one that leads to another. */
const routesOf = (source: string): string[] =>
  [...source.matchAll(/\bpath: '(\/[^']+)'/g)].map(([, path = '']) => path);

describe('the console', () => {
  it('lets a newcomer open the address of the banner, press Generate and see a picture', async () => {
    await visit.open(`/playground#token=${opened.token}`);
    await visit.press('Generate');
    await visit.page.locator('img.media').waitFor();
    const decoded =
      "document.querySelector('img.media').decode().then(() => document.querySelector('img.media').naturalWidth)";
    expect(await visit.page.evaluate(decoded)).toBe(1_024);
    expect(visit.page.url()).not.toContain('adm_');
    expect(visit.scriptBytes()).toBeGreaterThan(0);
    expect(visit.scriptBytes()).toBeLessThan(300_000);
    await visit.picture('playground');
  });

  it('has a view of every route', () => {
    const paths = pageViews.map(({ path }) => path(opened.stage).replace(/\?.*/, ''));
    for (const route of routesOf(readFileSync(router, 'utf8')))
      expect(paths).toContainEqual(expect.stringMatching(new RegExp(`^${route.replace(/\$\w+/g, '[^/]+')}$`)));
  });

  it.each(pageViews)('shows the page $name in every size and theme, and all of it to a keyboard', async (view) => {
    await visit.open(view.path(opened.stage));
    await visit.picture(view.name);
    await expectReachable(visit, 'main');
  });

  it('shows what is unfolded on a page', async () => {
    for (const change of ['disable', 'enable'])
      await opened.admin.change('POST', `/channels/sandbox-c-runway/${change}`);
    await visit.open('/audit?action=channels.disable');
    await visit.page.locator('details.detail summary').first().click();
    await visit.page.getByRole('table', { name: 'What channels.disable changed' }).waitFor();
    await visit.picture('audit-change');
    await visit.open('/tasks');
    await visit.page.getByRole('switch', { name: 'Show pictures' }).click();
    await visit.page.locator('img.thumbnail').first().waitFor();
    await visit.picture('tasks-pictures');
    await visit.open(`/tasks/${opened.stage.tasks.delivered}`);
    await visit.press('Show them');
    await visit.page.locator('img.media').waitFor();
    await visit.picture('task-content');
  });

  it('leads a fresh installation by its first steps, in every size and theme', () => walkFreshInstallation(opened));

  it('signs a person in by an identity provider, once an owner has entered it', () => walkOidcSignIn(opened, issuer));

  it('signs out, and then shows nothing but the sign-in page', async () => {
    await visit.open('/tasks');
    const { length: complaintsBefore } = visit.complaints;
    await visit.press(/Signed in as/);
    await visit.page.getByRole('menuitem', { name: 'Sign out' }).click();
    await visit.page.getByRole('heading', { name: 'Sign in to Tollgate' }).waitFor();
    // The page is read again every ten seconds. A read on its way when the session ends is refused.
    const isOnItsWay = (complaint: string): boolean => complaint.startsWith('401 GET ');
    const since = visit.complaints.splice(complaintsBefore);
    visit.complaints.push(...since.filter((complaint) => !isOnItsWay(complaint)));
    await visit.picture('sign-in');
    await visit.fill('Admin token', 'adm_wrong');
    await visit.press('Sign in');
    await visit.page.getByRole('alert').waitFor();
  });

  it('is flawless in every picture, answer and script on the way', () => expectFlawless(opened.visit));
});
