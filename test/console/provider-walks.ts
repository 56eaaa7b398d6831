import { expect } from '@jest/globals';
import { rowOf, rowsOf } from './rows.ts';
import type { Action } from './scene.ts';

/** A provider from its free test to its end, with a browser alone. */
export const providerActions: readonly Action[] = [
  {
    actions: ['channels probe', 'channels add', 'channels set', 'channels disable'],
    promise:
      'adds a provider after its free test, shows what it would serve at which margin, changes it, and takes it out',
    async walk({ visit, admin, gateway }) {
      const { page, dialog } = visit;
      await visit.open('/channels');
      const before = (await rowsOf(admin, '/channels')).length;
      await visit.press('Add provider');
      await dialog
        .getByRole('combobox', { name: 'Provider' })
        .or(dialog.getByLabel('Provider', { exact: true }))
        .first()
        .click();
      await page.getByRole('option', { name: 'OpenAI', exact: true }).click();
      await visit.fill('Name', 'second-openai');
      await visit.fill('Base URL', 'http://127.0.0.1:1/v1');
      await dialog.getByLabel('API key').fill('sk-test-walk');
      await visit.confirm('Test');
      await dialog.getByText('The test failed').waitFor();
      await dialog.getByRole('button', { name: 'Add anyway' }).waitFor();
      await visit.picture('provider-refused');
      await visit.fill('Base URL', `${gateway.sandboxUrl}/sandbox-a/openai`);
      await visit.confirm('Test');
      await dialog.getByText('The test succeeded').waitFor();
      await dialog.getByRole('row', { name: /^gpt-5-mini Yes Per 1,000 tokens: .* \d/ }).waitFor();
      await visit.picture('provider-add');
      expect((await rowsOf(admin, '/channels')).length).toBe(before);
      await visit.confirm('Add');
      await visit.awaitMessage('Added second-openai.');
      const added = await rowOf(admin, '/channels', { name: 'second-openai' });
      expect(added).toMatchObject({ adapter: 'openai', enabled: true, groups: ['chat', 'images'], priority: 1 });

      await visit.choose('Actions for second-openai', 'Edit');
      await dialog.getByRole('textbox', { name: 'Priority' }).fill('9');
      await visit.picture('channel-edit');
      await visit.confirm('Save');
      await visit.awaitMessage('second-openai is changed.');
      await visit.open(`/channels/${String(added['channel_id'])}`);
      await visit.press('Add a key');
      await dialog.getByLabel('API key').fill('sk-further-abcd');
      await visit.confirm('Add');
      await visit.awaitMessage('The key is added.');
      await page.getByText('…abcd').waitFor();
      await visit.picture('channel-keys');
      await visit.press(/^Remove the key …walk/);
      await visit.confirm('Remove');
      await visit.awaitMessage('The key is removed.');
      expect(await rowOf(admin, '/channels', { name: 'second-openai' })).toMatchObject({
        priority: 9,
        credentials: [{ last4: 'abcd' }],
      });

      await visit.open('/channels');
      await visit.choose('Actions for second-openai', 'Drain and disable');
      await visit.confirm('Disable');
      await visit.awaitMessage('second-openai is disabled.');
      expect(await rowOf(admin, '/channels', { name: 'second-openai' })).toMatchObject({ enabled: false });
    },
  },
];
