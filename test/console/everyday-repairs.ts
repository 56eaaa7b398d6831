import { expect } from '@jest/globals';
import { mediaRoutes } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { rowOf, rowsOf } from './rows.ts';
import type { EverydayWalk } from './scene.ts';

/** What an operator does about things that happen. */
export const repairWalks: readonly EverydayWalk[] = [
  {
    promise: 'sends all failed callbacks again at once',
    actions: ['tasks redeliver'],
    clicksMax: 6,
    async prepare({ admin, gateway, stage: { shop } }) {
      const inboxes = ['till', 'ledger'].map((name) => `${gateway.sandboxUrl}/_sandbox/inbox/${name}`);
      const body = { model: 'aurora-image-1', prompt: 'A receipt' };
      for (const inbox of inboxes)
        await gateway.accept(shop.apiKey, mediaRoutes.image, { ...body, callback_url: `${inbox}?status=410&times=1` });
      // The one of the stage is gone too.
      const failed = async () => (await rowsOf(admin, '/deliveries?state=gone')).length;
      await eventually(async () => (await failed()) === 3, { what: 'the receivers that are gone' });
      const received = async (inbox: string): Promise<number> => {
        const calls = JSON.parse(await (await fetch(`${inbox}/received`)).text()) as Received[];
        // A worker that was delayed may send one callback twice, under one id.
        return new Set(calls.map(({ headers }) => headers['webhook-id'])).size;
      };
      return async () => {
        for (const inbox of inboxes) await eventually(async () => (await received(inbox)) === 2);
      };
    },
    async walk({ visit }) {
      const { page } = visit;
      await visit.go('Deliveries');
      await visit.pick('State', 'Gone');
      await page.waitForURL(/state=gone/);
      await page.getByRole('region', { name: 'Deliveries' }).locator('tbody tr:nth-child(3):last-child').waitFor();
      await page.getByRole('checkbox', { name: 'Select all rows that are shown' }).check();
      await page.getByText('3 tasks selected').waitFor();
      await page.getByRole('status').getByRole('button', { name: 'Send again' }).click();
      await visit.confirm('Send again');
      await visit.hear('Done for 3 of 3.');
    },
  },
  {
    promise: 'compares two models in the playground by answer, price, time and channel',
    actions: [],
    clicksMax: 6,
    async walk({ visit, admin }) {
      const { page } = visit;
      await visit.go('Playground');
      await visit.pick('Model', 'GPT-5 mini');
      await visit.pick('Compare with', 'Claude Haiku 5.5');
      await page.getByText(/Claude Haiku 5\.5: about \d+ tokens in: /).waitFor();
      await visit.fill('System prompt', 'Answer in one sentence.');
      await page.getByRole('textbox', { name: 'Temperature' }).fill('0.5');
      await visit.press('Send');
      for (const name of ['GPT-5 mini', 'Claude Haiku 5.5']) {
        const answers = page.getByRole('region', { name: `Answers of ${name}` });
        await answers.getByText(/\d credits? · .* · \d+ tokens · /).waitFor();
        await answers.getByText(/^sandbox-/).waitFor();
        const link = answers.getByRole('link', { name: /^req_/ });
        const shown = await admin.read(`/chats/${await link.textContent()}`);
        expect(shown).toMatchObject({ outcome: 'succeeded' });
        expect(await link.getAttribute('href')).toContain(`/console/requests/${String(shown['request_id'])}`);
      }
      await visit.picture('playground-comparison');
    },
  },
  {
    promise: 'silences an alarm with a reason, which the overview shows with the end of the silence, and ends it',
    actions: ['alarms silence', 'alarms unsilence'],
    clicksMax: 4,
    async prepare({ visit, admin, gateway: { database } }) {
      const change = (call: string) => database.query('', `select ${call} from channel where name = 'sandbox-b'`);
      await change(`raise_channel_alarm(id, '*', 'account')`);
      await visit.open('/overview');
      return async () => {
        expect(await rowsOf(admin, '/alarms/silences')).toEqual([]);
        await change(`note_channel_success(id, '*', 0)`);
      };
    },
    async walk({ visit, admin }) {
      const { page } = visit;
      await page.getByRole('button', { name: /^Silence for …: sandbox-b needs a look/ }).click();
      await visit.fill('Reason', 'the invoice is paid');
      await visit.picture('alarm-silence');
      await visit.confirm('Silence');
      await page.getByText(/^Silenced until .*: the invoice is paid$/).waitFor();
      await visit.picture('overview-silenced');
      expect(await rowOf(admin, '/alarms/silences', { name: 'account' })).toMatchObject({ subject: 'sandbox-b' });
      await visit.press(/^End the silence: sandbox-b needs a look/);
      await visit.confirm('End the silence');
      await page.getByRole('button', { name: /^Silence for …: sandbox-b needs a look/ }).waitFor();
    },
  },
];

/** One call as the sandbox's inbox lists it. */
interface Received {
  headers: Record<string, string>;
}
