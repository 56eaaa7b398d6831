import { expect } from '@jest/globals';
import { awaitTested } from './await-tested.ts';
import { rowOf, rowsOf, type Row } from './rows.ts';
import type { EverydayWalk, Scene } from './scene.ts';

/** What is sold, and who serves it. */
export const catalogWalks: readonly EverydayWalk[] = [
  {
    promise: 'adds a provider after its free test, which shows what it would serve at which margin, and takes it out',
    actions: ['channels probe', 'channels add', 'channels disable'],
    clicksMax: 9,
    async walk({ visit, admin, gateway }) {
      const { dialog } = visit;
      await visit.go('Channels');
      await visit.press('Add provider');
      await visit.pick('Provider', 'OpenAI');
      await visit.fill('Name', 'second-openai');
      await visit.fill('Base URL', `${gateway.sandboxUrl}/sandbox-a/openai`);
      await dialog.getByLabel('API key').fill('sk-test-walk');
      await visit.confirm('Test');
      await awaitTested(visit, 'sk-test-walk');
      await dialog.getByRole('row', { name: /^gpt-5-mini Yes Per 1,000 tokens: .* \d/ }).waitFor();
      expect((await rowsOf(admin, '/channels')).map(({ name }) => name)).not.toContain('second-openai');
      await visit.confirm('Add');
      await visit.hear('Added second-openai.');
      const second = () => rowOf(admin, '/channels', { name: 'second-openai' });
      expect(await second()).toMatchObject({
        adapter: 'openai',
        enabled: true,
        groups: ['chat', 'images'],
        priority: 1,
      });
      await visit.choose('Actions for second-openai', 'Drain and disable');
      await visit.confirm('Disable');
      await visit.hear('second-openai is disabled.');
      expect(await second()).toMatchObject({ enabled: false });
    },
  },
  {
    promise: 'changes a price with its worth and its margin beside it, hides the model and gives it an alias, at once',
    actions: ['catalog check', 'catalog set'],
    clicksMax: 6,
    async prepare({ admin }) {
      const others = async (): Promise<Row[]> =>
        (await rowsOf(admin, '/catalog')).filter(({ id }) => id !== 'aurora-image-1');
      const before = await others();
      return async () => {
        expect(await admin.read('/catalog/aurora-image-1')).toMatchObject({
          private: { public: false, aliases: { 'aurora-next': {} } },
        });
        expect(await others()).toEqual(before);
        await sellAgain(admin);
      };
    },
    async walk({ visit }) {
      const { dialog, page } = visit;
      await visit.go('Models');
      await page.getByRole('region', { name: 'Models' }).getByRole('link', { name: 'Aurora Image 1' }).click();
      await visit.press('Edit');
      await visit.fill('Img size 1k', '1');
      await dialog
        .getByText(/margin -\d/)
        .first()
        .waitFor();
      await visit.picture('model-form-loss');
      await visit.fill('Img size 1k', '6');
      await dialog
        .getByText(/^\$0\.06 · margin \d/)
        .first()
        .waitFor();
      await dialog.getByRole('switch', { name: 'Visible to clients' }).click();
      await dialog.getByLabel('Aliases').first().fill('aurora-next');
      await page.keyboard.press('Enter');
      await visit.confirm('Check');
      await dialog
        .getByRole('table', { name: 'What you change' })
        .getByRole('row', { name: 'Private › public Yes No' })
        .waitFor();
      await visit.picture('model-form');
      await visit.confirm('Apply');
      await visit.hear('Changed Aurora Image 1.');
    },
  },
];

/** Makes the model of the pictures visible, without an alias. */
async function sellAgain(admin: Scene['admin']): Promise<void> {
  const { data: models } = (await admin.read('/catalog')) as unknown as { data: { id: string; private: Row }[] };
  const changed = models.map((model) =>
    model.id === 'aurora-image-1' ? { ...model, private: { ...model.private, public: true, aliases: {} } } : model,
  );
  await admin.change('PUT', '/catalog', { catalog: JSON.stringify({ models: changed }) });
}
