import { expect } from '@jest/globals';
import { chooseModels, expectLinesToWork } from './key-lines.ts';
import { rowOf, rowsOf } from './rows.ts';
import type { Walk } from './scene.ts';

/** Whole jobs of a person who has a browser alone, from a page of the menu to the end. */
export const journeyWalks: readonly Walk[] = [
  {
    promise: 'leads from a new project over its credits and its key to the first call of an SDK',
    async walk({ visit, admin }) {
      const { page } = visit;
      await visit.open('/overview');
      await page.getByRole('link', { name: 'Projects and keys' }).click();
      await visit.press('New project');
      await visit.fill('Name', 'First steps');
      await visit.confirm('Create');
      await visit.awaitMessage('Created First steps.');
      await visit.confirm('I have copied it');
      await page.getByRole('heading', { name: 'First steps' }).waitFor();
      await visit.press('Add credits');
      await visit.fill('Credits', '500');
      await visit.fill('Reference', 'first payment');
      await visit.confirm('Add');
      await visit.awaitMessage(/^The project has 500 credits/);
      await visit.press('New key');
      await visit.fill('Name', 'First key');
      await chooseModels(visit);
      await visit.confirm('Create');
      await visit.awaitMessage('The key is created.');
      await expectLinesToWork(visit, 'OpenAI JavaScript');
      await visit.confirm('I have copied it');
      const { project_id: project } = await rowOf(admin, '/projects', { name: 'First steps' });
      expect(await rowsOf(admin, `/ledger?project=${String(project)}`)).toMatchObject([
        { kind: 'settle' },
        { kind: 'topup', credits: 500 },
      ]);
    },
  },
  {
    promise: 'says who changed what, with the values before and after',
    async walk({ visit, admin, stage: { studio } }) {
      const { page } = visit;
      await admin.change('PATCH', `/projects/${studio.projectId}`, { note: 'Pays by invoice' });
      await visit.open('/overview');
      await page.getByRole('link', { name: 'Audit' }).click();
      const row = page.getByRole('row').filter({ hasText: 'projects.set' }).filter({ hasText: 'Ada' }).first();
      await row.locator('summary').first().click();
      await page.getByRole('table', { name: 'What projects.set changed' }).getByText('Pays by invoice').waitFor();
      await admin.change('PATCH', `/projects/${studio.projectId}`, { note: null });
    },
  },
];
