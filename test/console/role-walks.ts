import { expect } from '@jest/globals';
import type { Role } from '../../src/domain/operators/role.ts';
import type { Scene, Walk } from './scene.ts';
import { startVisit, type Visit } from './visit.ts';

/** The pages and their buttons that change something or show content of clients, by the lowest role that sees them. */
const buttons: { path: (scene: Scene) => string; operator: readonly (string | RegExp)[]; owner?: readonly string[] }[] =
  [
    { path: () => '/playground', operator: ['Generate'] },
    { path: ({ stage }) => `/tasks/${stage.tasks.delivered}`, operator: ['Actions', 'Show them'] },
    { path: () => '/models/aurora-image-1', operator: ['Edit'] },
    { path: () => '/models', operator: ['Apply a catalog'] },
    { path: () => '/channels', operator: ['Test sandbox-a', 'Actions for sandbox-a'], owner: ['Add provider'] },
    { path: ({ stage }) => `/channels/${stage.channelId}`, operator: ['Edit'], owner: ['Add a key'] },
    { path: () => '/projects', operator: [], owner: ['New project'] },
    {
      path: ({ stage }) => `/projects/${stage.studio.projectId}`,
      operator: ['Add credits', 'Name and note', 'Disable', 'Actions for Website'],
      owner: ['New key'],
    },
    { path: () => '/deliveries', operator: [/^Send again/] },
    { path: () => '/jobs', operator: ['Run now: check-api-channels', 'Verify the ledger'] },
    { path: () => '/access', operator: [], owner: ['Add a person', 'New admin token'] },
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
  for (const { path, operator, owner = [] } of buttons) {
    await visit.open(path(scene));
    const offered = role === 'operator' ? operator : [];
    const hidden = role === 'operator' ? owner : [...operator, ...owner];
    for (const name of offered) await visit.button(name).waitFor();
    if (offered.length === 0) await visit.page.locator('[data-loading]').first().waitFor({ state: 'detached' });
    for (const name of hidden) expect([name, await visit.button(name).count()]).toEqual([name, 0]);
  }
  if (role === 'viewer') await expectReason(visit, scene);
  else await expectNoSecret(visit, scene);
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

async function expectNoSecret(visit: Visit, { stage }: Scene): Promise<void> {
  await visit.open(`/projects/${stage.studio.projectId}`);
  await visit.press('Actions for Website');
  await visit.page.getByRole('menuitem', { name: 'Revoke' }).waitFor();
  expect(await visit.page.getByRole('menuitem', { name: 'New secret' }).count()).toBe(0);
}
