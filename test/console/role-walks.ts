import { expect } from '@jest/globals';
import { includesRole, type Role } from '../../src/domain/operators/role.ts';
import type { Scene, Walk } from './scene.ts';
import { focusIsIn } from './by-keyboard.ts';
import { startVisit, type Visit } from './visit.ts';
import { dialogViews, pageViews, type DialogView } from './views.ts';

/** The buttons that open no dialog and change something or show content of clients, by the lowest role that sees them. */
const buttons: readonly Pick<DialogView, 'path' | 'opener' | 'item' | 'role'>[] = [
  { path: () => '/playground', opener: 'Generate', role: 'operator' },
  { path: ({ tasks }) => `/tasks/${tasks.delivered}`, opener: 'Show them', role: 'operator' },
  { path: () => '/channels', opener: 'Test sandbox-a', role: 'operator' },
  { path: ({ studio }) => `/projects/${studio.projectId}?tab=callbacks`, opener: 'Show the secret', role: 'owner' },
  { path: ({ studio }) => `/projects/${studio.projectId}?tab=callbacks`, opener: 'Send', role: 'operator' },
];

/** What the console offers to the other roles. */
export const roleWalks: readonly Walk[] = (['viewer', 'operator'] as const).map((role) => ({
  promise: `offers a person with the role ${role} only what the admin API lets that role do`,
  walk: (scene) => visitAs(scene, role),
}));

async function visitAs(scene: Scene, role: Exclude<Role, 'owner'>): Promise<void> {
  const visit = await startVisit(scene.browser, scene.gateway.baseUrl);
  await visit.open(`/overview#token=${await scene.tokenOf(role, 'Grace')}`);
  await visit.page.getByRole('heading', { name: 'Overview' }).waitFor();
  for (const [path, offers] of Map.groupBy([...buttons, ...dialogViews], ({ path }) => path(scene.stage))) {
    await visit.open(path);
    for (const offer of offers.toSorted((one) => (includesRole(role, one.role) ? -1 : 1)))
      await expectOffer(visit, offer, role);
  }
  // No page reads what the role may not.
  for (const { path } of pageViews) await visit.open(path(scene.stage));
  if (role === 'viewer') await expectReason(visit, scene);
  expect(visit.complaints).toEqual([]);
  await visit.page.context().close();
}

/** A page of which nothing is left says what is missing. */
async function expectReason(visit: Visit, { visit: owner }: Scene): Promise<void> {
  await visit.open('/playground');
  await visit.page.getByText('You need the role operator').waitFor();
  await visit.picture('playground-viewer');
  owner.problems.push(...visit.problems);
}

/** Those that the role may use come first, so that the page is whole when the others are missed. */
async function expectOffer(
  visit: Visit,
  { opener, item, role: needed }: Pick<DialogView, 'opener' | 'item' | 'role'>,
  role: Role,
): Promise<void> {
  const button = visit.button(opener);
  const offered = includesRole(role, needed);
  if (offered) await button.waitFor();
  else await visit.page.locator('[data-loading]').first().waitFor({ state: 'detached' });
  if (item === undefined || (await button.count()) === 0) {
    expect([opener, (await button.count()) > 0]).toEqual([opener, offered]);
    return;
  }
  await button.click();
  await visit.page.getByRole('menuitem').first().waitFor();
  expect([item, await visit.page.getByRole('menuitem', { name: item, exact: true }).count()]).toEqual([
    item,
    offered ? 1 : 0,
  ]);
  // Escape closes a menu that has the focus, which it takes a moment after it has opened.
  await focusIsIn(visit.page, 'menu');
  await visit.page.keyboard.press('Escape');
  await visit.page.getByRole('menuitem').first().waitFor({ state: 'detached' });
}
