import { expect } from '@jest/globals';
import { rowOf, rowsOf } from './rows.ts';
import type { Action } from './scene.ts';

/** Who may use the console and the admin API, changed in the console. */
export const accessActions: readonly Action[] = [
  {
    actions: ['operators add', 'operators remove'],
    promise: 'lets a person sign in, and removes that person',
    async walk({ visit, admin }) {
      await visit.open('/access');
      await visit.press('Add a person');
      await visit.fill('Name', 'Linus');
      await visit.fill('Issuer', 'https://id.example.com');
      await visit.fill('Subject', 'walk-4711');
      await visit.confirm('Add');
      await visit.awaitMessage('Linus may sign in.');
      expect(await rowOf(admin, '/operators', { name: 'Linus' })).toMatchObject({
        subject: 'walk-4711',
        role: 'viewer',
      });
      await visit.picture('access-people');
      await visit.press('Remove Linus');
      await visit.confirm('Remove');
      await visit.awaitMessage('Linus is removed.');
      expect((await rowsOf(admin, '/operators')).filter(({ name }) => name === 'Linus')).toEqual([]);
    },
  },
  {
    actions: ['admin-tokens create', 'admin-tokens revoke'],
    promise: 'makes an admin token that works at once, and revokes it',
    async walk({ visit, admin, gateway }) {
      await visit.open('/access');
      await visit.press('New admin token');
      await visit.fill('Name', 'Nightly report');
      await visit.confirm('Create');
      const token = (await visit.dialog.getByText(/^adm_/).textContent()) ?? '';
      await visit.picture('token-secret');
      await visit.confirm('I have copied it');
      const session = () =>
        fetch(`${gateway.baseUrl}/api/admin/v1/session`, { headers: { authorization: `Bearer ${token}` } });
      expect((await session()).status).toBe(200);
      expect(await rowOf(admin, '/admin-tokens', { name: 'Nightly report' })).toMatchObject({ role: 'viewer' });
      await visit.press('Revoke Nightly report');
      await visit.confirm('Revoke');
      await visit.awaitMessage('The token is revoked.');
      expect((await session()).status).toBe(401);
    },
  },
  {
    actions: ['projects set'],
    promise: 'renames a project and notes something about it',
    async walk({ visit, admin, stage: { pilot } }) {
      const project = () => rowOf(admin, '/projects', { project_id: pilot.projectId });
      await visit.open(`/projects/${pilot.projectId}`);
      await visit.press('Name and note');
      await visit.fill('Name', 'Winter pilot');
      await visit.fill('Note', 'Ends in March');
      await visit.confirm('Save');
      await visit.awaitMessage('The project is changed.');
      await visit.page.getByText('Ends in March').waitFor();
      expect(await project()).toMatchObject({ name: 'Winter pilot', note: 'Ends in March' });
      await visit.press('Name and note');
      await visit.fill('Name', 'Autumn pilot');
      await visit.fill('Note', '');
      await visit.confirm('Save');
      await visit.awaitMessage('The project is changed.');
      expect(await project()).toMatchObject({ name: 'Autumn pilot', note: null });
    },
  },
  {
    actions: ['projects secret rotate', 'webhooks send-test'],
    promise: 'shows the callback secret of a project, makes a new one, and sends a signed sample to a receiver',
    async walk({ visit, admin, gateway, stage: { pilot } }) {
      const { page } = visit;
      const secret = async () => String((await admin.read(`/projects/${pilot.projectId}/secret`))['webhook_secret']);
      const former = await secret();
      await visit.open(`/projects/${pilot.projectId}`);
      await page.getByRole('tab', { name: 'Callbacks' }).click();
      await visit.press('Show the secret');
      await page.getByText(former).waitFor();
      await visit.press('New callback secret');
      await visit.confirm('Make a new secret');
      await visit.awaitMessage('The project has a new callback secret.');
      await page.getByText(await secret()).waitFor();
      expect(await secret()).not.toBe(former);
      const send = async (url: string, title: string): Promise<void> => {
        await visit.fill('URL of the receiver', url);
        await visit.press('Send');
        await page.getByText(title).waitFor();
      };
      await send(`${gateway.sandboxUrl}/_sandbox/inbox/down?status=503`, 'The receiver did not accept it');
      await send(`${gateway.sandboxUrl}/_sandbox/inbox/sample`, 'The receiver accepted it');
      await visit.picture('project-callbacks');
    },
  },
  {
    actions: ['ledger verify'],
    promise: 'proves that the books balance',
    async walk({ visit }) {
      await visit.open('/jobs');
      await visit.press('Verify the ledger');
      await visit.confirm('Verify');
      await visit.dialog.getByText('The books balance').waitFor();
      await visit.picture('ledger-verify');
      await visit.confirm('Close');
    },
  },
];
