import { expect } from '@jest/globals';
import type { Row } from './rows.ts';
import type { Action, Scene } from './scene.ts';
import { startVisit, type Visit } from './visit.ts';

const path = '/catalog/aurora-image-1';

/** Opens the form of a model and types another price of its smallest picture. */
async function typePrice(visit: Visit, price: string): Promise<void> {
  await visit.open('/models/aurora-image-1');
  await visit.press('Edit');
  await visit.fill('Img size 1k', price);
}

async function checkAndApply(visit: Visit, title = 'The entry is valid'): Promise<void> {
  await visit.confirm('Check');
  await visit.dialog.getByText(title).waitFor();
  await visit.confirm('Apply');
}

/** Another operator, with a browser of their own. */
export async function otherOperator({ browser, gateway, tokenOf }: Scene): Promise<Visit> {
  const other = await startVisit(browser, gateway.baseUrl);
  await other.open(`/overview#token=${await tokenOf('operator', 'Grace')}`);
  await other.page.getByRole('heading', { name: 'Overview' }).waitFor();
  return other;
}

/** The catalog, changed by forms. */
export const priceActions: readonly Action[] = [
  {
    actions: ['catalog set'],
    promise:
      'keeps what two operators change of one model at the same time, and shows the second one the change of the first',
    async walk(scene) {
      const { visit, admin } = scene;
      const other = await otherOperator(scene);
      const priceOf = async (value: string): Promise<unknown> => {
        const { parameters } = (await admin.read(path)) as {
          parameters: { pricingRules: { match: Row; credits: number }[] };
        };
        return parameters.pricingRules.find(({ match }) => match['value'] === value)?.credits;
      };
      const [small, large] = [await priceOf('1k'), await priceOf('2k')];
      await typePrice(visit, '5');
      await typePrice(other, '7');
      await other.fill('Img size 2k', '13');
      await checkAndApply(other);
      await other.awaitMessage('Changed Aurora Image 1.');

      await checkAndApply(visit);
      await visit.dialog.getByText('Changed meanwhile').waitFor();
      await visit.dialog.getByText(/^Grace/).waitFor();
      expect(visit.complaints.splice(0)).toEqual([expect.stringMatching(/^409 PUT \S+\/catalog\/aurora-image-1$/)]);
      await visit.picture('model-changed-meanwhile');
      expect([await priceOf('1k'), await priceOf('2k')]).toEqual([7, 13]);
      await checkAndApply(visit);
      await visit.awaitMessage('Changed Aurora Image 1.');
      expect([await priceOf('1k'), await priceOf('2k')]).toEqual([5, 13]);
      expect([small, large]).not.toEqual([5, 13]);

      await visit.open('/audit?action=catalog.set');
      await visit.page.getByText('aurora-image-1').first().waitFor();
      expect(other.complaints).toEqual([]);
      await other.page.context().close();
    },
  },
  {
    actions: ['catalog check', 'catalog set'],
    promise: 'changes any member as JSON, and refuses what is none or invalid',
    async walk({ visit }) {
      const { dialog } = visit;
      await visit.open('/models/aurora-image-1');
      await visit.press('Edit');
      await dialog.getByRole('button', { name: 'Advanced' }).click();
      const field = dialog.getByLabel('Catalog entry');
      const entry = await field.inputValue();
      await field.fill('{"id": "aurora-image-1"');
      await visit.confirm('Check');
      await dialog.getByText('This is not JSON').first().waitFor();
      await field.fill(entry.replace(/"min_credits_per_request": \d+/, '"min_credits_per_request": 1'));
      await visit.confirm('Check');
      await dialog.getByText(/must equal the lowest rule/).waitFor();
      expect(visit.complaints.splice(0)).toEqual([expect.stringMatching(/^400 POST \S+\/catalog\/check$/)]);
      await visit.picture('model-edit-error');
      expect(await dialog.getByRole('button', { name: 'Apply' }).isVisible()).toBe(false);
      await field.fill(entry.replace(/"description": [^\n]+/, '"description": "Written as JSON",'));
      await checkAndApply(visit);
      await visit.awaitMessage('Changed Aurora Image 1.');
      await visit.page.getByText('Written as JSON').waitFor();
    },
  },
  {
    actions: ['catalog apply'],
    promise: 'applies a catalog file once it has shown what the file changes',
    async walk({ visit, admin }) {
      const { data } = (await admin.read('/catalog')) as { data: { id: string; display_name: string }[] };
      const models = data.map((each) =>
        each.id === 'gpt-5-mini' ? { ...each, display_name: 'GPT-5 mini of a file' } : each,
      );
      await visit.open('/models');
      await visit.press('Apply a catalog');
      const buffer = Buffer.from(JSON.stringify({ models }));
      await visit.dialog
        .locator('input[type=file]')
        .setInputFiles({ name: 'catalog.yaml', mimeType: 'text/yaml', buffer });
      await visit.confirm('Compare');
      await visit.dialog.getByRole('row', { name: /^gpt-5-mini Display name .* GPT-5 mini of a file$/ }).waitFor();
      await visit.picture('catalog-apply');
      await visit.confirm('Apply');
      await visit.awaitMessage('0 models added, 1 changed, 0 removed.');
      expect(await admin.read('/catalog/gpt-5-mini')).toMatchObject({ display_name: 'GPT-5 mini of a file' });
    },
  },
];
