import { expect } from '@jest/globals';
import { awaitTested } from './await-tested.ts';
import { rowOf } from './rows.ts';
import type { Action } from './scene.ts';

/** A provider with a browser alone: its failed test, its settings and its keys. */
export const providerActions: readonly Action[] = [
  {
    actions: ['channels probe', 'channels add', 'channels set'],
    promise:
      'says that the free test of a provider failed, adds it once the test succeeds, and changes it and its keys',
    async walk({ visit, admin, gateway }) {
      const { page, dialog } = visit;
      await visit.open('/channels');
      await visit.press('Add provider');
      await visit.pick('Provider', 'OpenAI');
      await visit.fill('Name', 'third-openai');
      await visit.fill('Base URL', 'http://127.0.0.1:1/v1');
      await dialog.getByLabel('API key').fill('sk-test-walk');
      await visit.confirm('Test');
      await dialog.getByText('The test failed').waitFor();
      await dialog.getByRole('button', { name: 'Add anyway' }).waitFor();
      await visit.picture('provider-refused');
      await visit.fill('Base URL', `${gateway.sandboxUrl}/sandbox-a/openai`);
      await visit.confirm('Test');
      await awaitTested(visit, 'sk-test-walk');
      await visit.picture('provider-add');
      await visit.confirm('Add');
      await visit.awaitMessage('Added third-openai.');
      const added = await rowOf(admin, '/channels', { name: 'third-openai' });

      await visit.choose('Actions for third-openai', 'Edit');
      await dialog.getByRole('textbox', { name: 'Priority' }).fill('9');
      await visit.confirm('Save');
      await visit.awaitMessage('third-openai is changed.');
      await visit.open(`/channels/${String(added['channel_id'])}`);
      await visit.press('Add a key');
      await dialog.getByLabel('API key').fill('sk-further-abcd');
      await visit.confirm('Add');
      await visit.awaitMessage('The key is added.');
      await page.getByText('…abcd').waitFor();
      await visit.press('Limits of the key …abcd');
      await visit.fill('Requests per minute', '90');
      await visit.fill('Calls at the same time', '3');
      await visit.picture('channel-key-limits');
      await visit.confirm('Save');
      await visit.awaitMessage('The limits of the key are changed.');
      await page.getByText(/^Limits: 0 of 90 requests a minute; 0 of 3 at the same time/).waitFor();
      await visit.picture('channel-keys');
      await visit.press(/^Remove the key …walk/);
      await visit.confirm('Remove');
      await visit.awaitMessage('The key is removed.');
      expect(await rowOf(admin, '/channels', { name: 'third-openai' })).toMatchObject({
        priority: 9,
        limits: { rpm: null, parallel: null },
        credentials: [{ last4: 'abcd', limits: { rpm: 90, tpm: null, parallel: 3 } }],
      });
    },
  },
];
