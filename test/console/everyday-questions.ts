import { expect } from '@jest/globals';
import { awayFromMidnight } from '../support/away-from-midnight.ts';
import { eventually } from '../support/eventually.ts';
import { channelStateWords } from '../../src/domain/channels/channel-state.ts';
import { isFocused } from './by-keyboard.ts';
import { rowsOf } from './rows.ts';
import type { EverydayWalk, Scene } from './scene.ts';
import { spendWalk } from './usage-walks.ts';

/** Everyday questions, each answered by what the pages show. */
export const questionWalks: readonly EverydayWalk[] = [
  {
    promise: 'signs in and says what is healthy and what is not',
    actions: [],
    clicksMax: 2,
    async walk({ visit, token, admin }) {
      const { page } = visit;
      await page.getByRole('heading', { level: 1, name: 'Sign in to Tollgate' }).waitFor();
      await visit.fill('Admin token', token);
      await visit.press('Sign in');
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      const alarms = page.getByRole('region', { name: 'What needs you' });
      await alarms.getByText(/^sandbox-c-kling needs a look/).waitFor();
      await visit.go('Channels');
      const table = page.getByRole('region', { name: 'Channels' });
      await table.waitFor();
      const channels = (await rowsOf(admin, '/channels')) as { name: string; state: keyof typeof channelStateWords }[];
      for (const { name, state } of channels) {
        const row = table.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
        await row
          .getByText(new RegExp(`^${channelStateWords[state]}$`, 'i'))
          .first()
          .waitFor();
      }
      const [first = ''] = await table.locator('tbody tr').allTextContents();
      expect(first).toContain('sandbox-c-kling');
    },
  },
  {
    promise: 'tells from the id of a task why it failed, what it cost and what the customer may be told',
    actions: [],
    clicksMax: 1,
    async walk({ visit, stage: { tasks } }) {
      const { page } = visit;
      await searchFor(visit, '/', tasks.unknown);
      await page.getByRole('heading', { level: 1, name: 'Task' }).waitFor();
      await page.getByText('upstream_outcome_unknown').first().waitFor();
      await page.getByText(/^Attempt 1 at sandbox-/).waitFor();
      const sentence = new RegExp(`^Your image request ${tasks.unknown} .* ended early and cost nothing`);
      await page.getByText(sentence).waitFor();
      await visit.press('Copy the sentence for the customer');
      await eventually(async () => sentence.test(await page.evaluate<string>('navigator.clipboard.readText()')), {
        what: 'the sentence in the clipboard',
      });
    },
  },
  {
    promise: 'tells from the id of a chat why it was refunded and which channels were tried',
    actions: [],
    clicksMax: 0,
    async walk({ visit, stage: { chats } }) {
      const { page } = visit;
      await searchFor(visit, 'Control+k', chats.refunded);
      await page.getByRole('heading', { level: 1, name: 'Request' }).waitFor();
      await page.getByText("The provider's content policy refused the request.", { exact: false }).first().waitFor();
      await page.getByText(/ended early and cost nothing/).waitFor();
      await page.getByRole('heading', { name: 'What happened' }).waitFor();
    },
  },
  spendWalk,
  {
    promise: 'says who changed what yesterday, with the values before and after',
    actions: [],
    clicksMax: 4,
    async prepare({ admin, gateway, stage: { studio } }) {
      const id = studio.projectId;
      // A test may not wait longer than its limit of five minutes.
      await awayFromMidnight({ secondsLeft: 120 });
      await admin.change('PATCH', `/projects/${id}`, { note: 'Pays by invoice' });
      await gateway.database.transaction('begin', async (query) => {
        // Entries never change, and tests run as the owner of the tables.
        await query('', 'set local session_replication_role = replica');
        await query('', moveToYesterday, [id]);
      });
      await admin.change('PATCH', `/projects/${id}`, { note: 'Changed today' });
      return async () => void (await admin.change('PATCH', `/projects/${id}`, { note: null }));
    },
    async walk({ visit }) {
      const { page } = visit;
      await visit.go('Audit');
      await visit.pick('Time', 'Yesterday');
      const rows = page.getByRole('region', { name: 'Audit log' }).locator('tbody tr:not(td tr)');
      await rows.filter({ hasText: 'projects.set' }).filter({ hasText: 'Ada' }).locator('summary').click();
      await page.getByRole('table', { name: 'What projects.set changed' }).getByText('Pays by invoice').waitFor();
      // What was staged may have been yesterday too.
      expect(await rows.filter({ hasText: 'projects.set' }).count()).toBe(1);
      expect(await page.getByText('Changed today').count()).toBe(0);
    },
  },
];

/** Without the mouse, from any page. */
async function searchFor({ page }: Scene['visit'], keys: string, id: string): Promise<void> {
  const search = page.getByRole('searchbox', { name: 'Search' });
  await eventually(
    async () => {
      if (await isFocused(search)) return true;
      // A key that comes before the page listens is lost.
      await page.keyboard.press(keys);
      return isFocused(search);
    },
    { what: 'the focus in the search' },
  );
  await page.keyboard.insertText(id);
  await page.keyboard.press('Enter');
}

/** The newest entry about a project, to noon of the day before. */
const moveToYesterday = `update audit_entry set at = date_trunc('day', now()) - interval '12 hours'
  where id = (select max(id) from audit_entry where subject = $1)`;
