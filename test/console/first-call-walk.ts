import { expect } from '@jest/globals';
import { whyNoPython } from '../sdk/python-client.ts';
import { expectLinesToWork } from './key-lines.ts';
import { rowOf, rowsOf } from './rows.ts';
import type { EverydayWalk } from './scene.ts';

const noPython = whyNoPython();
const programs = ['OpenAI JavaScript', ...(noPython === null ? ['OpenAI Python'] : [])];

/** From nothing to an answer of a model. */
export const firstCallWalk: EverydayWalk = {
  promise: `leads from a new project over its credits and its key to the first call of ${programs.join(' and ')}${noPython === null ? '' : ` (the one of Python is skipped: ${noPython})`}`,
  actions: ['projects create', 'credits add', 'keys create'],
  clicksMax: 11,
  async walk({ visit, admin }) {
    const { page } = visit;
    await visit.go('Projects and keys');
    await visit.press('New project');
    await visit.fill('Name', 'First steps');
    await visit.confirm('Create');
    await visit.hear('Created First steps.');
    await visit.confirm('I have copied it');
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await visit.press('Add credits');
    await visit.fill('Credits', '500');
    await visit.fill('Reference', 'first payment');
    await visit.confirm('Add');
    await visit.hear(/^The project has 500 credits/);
    await visit.press('New key');
    await visit.fill('Name', 'First key');
    await visit.confirm('Create');
    await visit.hear('The key is created.');
    for (const name of programs) await expectLinesToWork(visit, name);
    await visit.confirm('I have copied it');
    const { project_id: project } = await rowOf(admin, '/projects', { name: 'First steps' });
    expect(await rowsOf(admin, `/ledger?project=${String(project)}`)).toMatchObject([
      ...programs.map(() => ({ kind: 'settle' })),
      { kind: 'topup', credits: 500 },
    ]);
  },
};
