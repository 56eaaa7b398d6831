import { expect } from '@jest/globals';
import { accessActions } from './access-walks.ts';
import { creditActions } from './credit-actions.ts';
import { priceActions } from './price-walks.ts';
import { meetingActions } from './two-operators.ts';
import { providerActions } from './provider-walks.ts';
import { rowOf, rowsOf } from './rows.ts';
import type { Action } from './scene.ts';
import { chooseModels, expectLinesToWork } from './key-lines.ts';
import type { Visit } from './visit.ts';

/** Every action, in an order in which the later ones find what they need. */
export const actions: readonly Action[] = [
  {
    actions: ['projects create'],
    promise: 'creates a project, whose callback secret it shows once',
    async walk({ visit, admin }) {
      await visit.open('/projects');
      await visit.press('New project');
      await visit.fill('Name', 'Northern lights');
      await visit.confirm('Create');
      await visit.dialog.getByText(/^whsec_/).waitFor();
      await visit.awaitMessage('Created Northern lights.');
      await visit.picture('project-secret');
      await visit.confirm('I have copied it');
      await visit.page.getByRole('heading', { name: 'Northern lights' }).waitFor();
      await visit.dialog.waitFor({ state: 'detached' });
      expect(await rowOf(admin, '/projects', { name: 'Northern lights' })).toMatchObject({
        status: 'active',
        balance: 0,
      });
      expect(await visit.page.getByText(/whsec_/).count()).toBe(0);
    },
  },
  ...creditActions,
  {
    actions: ['plans create', 'plans set', 'projects set', 'plans delete'],
    promise: 'creates a plan, previews its prices, gives it to a project and takes it away, changes and deletes it',
    async walk({ visit, admin, stage: { shop } }) {
      await visit.open('/plans');
      await visit.press('New plan');
      await visit.fill('Name', 'partners');
      await visit.fill('Rules', '[{"models": "type:image", "multiplier": 1.5}]');
      await visit.confirm('Create');
      await visit.awaitMessage('Created partners.');
      await visit.open('/plans/partners');
      await visit.page.getByRole('row', { name: /^aurora-image-1 .*4 · \S+ to 16 .* 6 · \S+ to 24 / }).waitFor();
      await visit.picture('plan');
      await visit.press('Change the rules');
      await visit.fill('Rules', '[{"models": "*", "multiplier": 2}]');
      await visit.confirm('Save');
      await visit.awaitMessage('Changed partners.');
      await visit.page.getByRole('row', { name: /^aurora-image-1 .*4 · \S+ to 16 .* 8 · \S+ to 32 / }).waitFor();

      for (const [choice, message, plan] of [
        ['partners', 'The project has the plan partners.', 'partners'],
        ['Prices of the catalog', 'The project has the prices of the catalog.', null],
      ] as const) {
        await visit.open(`/projects/${shop.projectId}`);
        await visit.press('Change the plan');
        await visit.dialog
          .getByRole('combobox', { name: 'Plan' })
          .or(visit.dialog.getByRole('textbox', { name: 'Plan' }))
          .first()
          .click();
        await visit.page.getByRole('option', { name: choice }).click();
        await visit.confirm('Save');
        await visit.awaitMessage(message);
        expect(await rowOf(admin, '/projects', { project_id: shop.projectId })).toMatchObject({ plan });
      }

      await visit.open('/plans/partners');
      await visit.press('Delete');
      await visit.confirm('Delete');
      await visit.awaitMessage('Deleted partners.');
      expect((await rowsOf(admin, '/plans')).map(({ name }) => name)).not.toContain('partners');
    },
  },
  {
    actions: ['projects disable', 'projects enable'],
    promise: 'disables a project and enables it again',
    async walk({ visit, admin, stage: { shop } }) {
      await visit.open(`/projects/${shop.projectId}`);
      for (const [act, status] of [
        ['Disable', 'disabled'],
        ['Enable', 'active'],
      ] as const) {
        await visit.press(act);
        await visit.confirm(act);
        await visit.awaitMessage(`Paper Boat Shop is ${act.toLowerCase()}d.`);
        expect(await rowOf(admin, '/projects', { project_id: shop.projectId })).toMatchObject({ status });
      }
    },
  },
  {
    actions: ['keys create'],
    promise: 'creates a key with limits, whose secret it shows once and which works at once',
    async walk({ visit, admin, gateway, stage: { shop } }) {
      await visit.open(`/projects/${shop.projectId}`);
      await visit.press('New key');
      await visit.fill('Name', 'Mobile app');
      await visit.fill('Requests per minute', '120');
      await visit.fill('Credits per day (UTC)', '2000');
      await chooseModels(visit);
      await visit.confirm('Create');
      const secret = await secretIn(visit);
      await visit.picture('key-secret');
      for (const name of ['curl', 'OpenAI JavaScript', 'Anthropic', 'Google', 'Picture'])
        await expectLinesToWork(visit, name);
      await visit.confirm('I have copied it');
      await visit.dialog.waitFor({ state: 'detached' });
      await visit.button('Actions for Mobile app').waitFor();
      expect(await visit.page.getByText(secret).count()).toBe(0);
      expect(await rowOf(admin, `/keys?project=${shop.projectId}`, { name: 'Mobile app' })).toMatchObject({
        rpm: 120,
        budget_daily: 2_000,
        scopes: ['chat', 'media', 'read'],
        models: ['gpt-5-mini', 'aurora-image-1'],
        state: 'active',
      });
      expect((await gateway.get(secret, '/api/v1/key')).status).toBe(200);
    },
  },
  {
    actions: ['keys set'],
    promise: 'changes the limits of a key and removes one',
    async walk({ visit, admin, stage: { shop } }) {
      await visit.open(`/projects/${shop.projectId}`);
      await visit.choose('Actions for Mobile app', 'Change its limits');
      await visit.fill('Requests per minute', '');
      await visit.fill('Credits in all', '90000');
      await visit.confirm('Save');
      await visit.awaitMessage('The key is changed.');
      expect(await rowOf(admin, `/keys?project=${shop.projectId}`, { name: 'Mobile app' })).toMatchObject({
        rpm: null,
        budget: 90_000,
        budget_daily: 2_000,
        models: ['gpt-5-mini', 'aurora-image-1'],
      });
    },
  },
  {
    actions: ['keys rotate'],
    promise: 'gives a key a new secret, beside which the old one works on',
    async walk({ visit, gateway, stage: { studio } }) {
      await visit.open(`/projects/${studio.projectId}`);
      await visit.choose('Actions for Website', 'New secret');
      await visit.confirm('Make a new secret');
      const secret = await secretIn(visit);
      await visit.confirm('I have copied it');
      for (const each of [secret, studio.apiKey]) expect((await gateway.get(each, '/api/v1/key')).status).toBe(200);
    },
  },
  {
    actions: ['keys revoke'],
    promise: 'revokes a key',
    async walk({ visit, admin, gateway, stage: { shop } }) {
      const spare = await gateway.key(shop.projectId);
      await visit.open(`/projects/${shop.projectId}`);
      await visit.choose('Actions for test', 'Revoke');
      await visit.confirm('Revoke');
      await visit.awaitMessage('The key is revoked.');
      expect(await rowOf(admin, `/keys?project=${shop.projectId}`, { key_id: spare.keyId })).toMatchObject({
        state: 'revoked',
      });
      expect((await gateway.get(spare.apiKey, '/api/v1/key')).status).toBe(401);
      await visit.button('Actions for test').waitFor({ state: 'detached' });
    },
  },
  {
    actions: ['tasks cancel'],
    promise: 'cancels a running task and refunds it',
    async walk({ visit, admin, gateway, stage: { studio } }) {
      const taskId = await gateway.accept(studio.apiKey, '/api/v1/images/generate', {
        model: 'aurora-image-1',
        prompt: 'a boat that never lands [[fail=never]]',
      });
      await visit.open(`/tasks/${taskId}`);
      await visit.choose('Actions', 'Cancel and refund');
      await visit.confirm('Cancel and refund');
      await visit.awaitMessage('Canceled. 4 credits · $0.04 refunded.');
      await visit.page.getByText('Canceled', { exact: true }).first().waitFor();
      expect(await admin.read(`/tasks/${taskId}`)).toMatchObject({
        status: 'canceled',
        credits: { charged: 0, refunded: 4 },
      });
    },
  },
  {
    actions: ['tasks resolve'],
    promise: 'records what became of a task with an unknown outcome',
    async walk({ visit, admin, stage: { tasks } }) {
      await visit.open(`/tasks/${tasks.unknown}`);
      await visit.choose('Actions', 'Record the outcome');
      await visit.dialog.getByLabel('Yes, it billed the job').check();
      await visit.fill('Evidence', 'ticket 4711');
      await visit.confirm('Record');
      await visit.awaitMessage('The outcome is recorded.');
      await visit.page.getByText('Billed (ticket 4711)').waitFor();
      expect(await admin.read(`/tasks/${tasks.unknown}`)).toMatchObject({
        resolution: { outcome: 'bought', reference: 'ticket 4711' },
      });
    },
  },
  {
    actions: ['tasks redeliver'],
    promise: 'sends a callback again, from the task and from the list of deliveries, but not for a task without one',
    async walk({ visit, admin, stage: { tasks } }) {
      await visit.open(`/tasks/${tasks.delivered}`);
      await visit.choose('Actions', 'Send the callback again');
      await visit.confirm('Send');
      await visit.awaitMessage('The callback is on its way.');
      await visit.open(`/deliveries?task=${tasks.delivered}&state=delivered`);
      await visit.press(/^Send again/);
      await visit.confirm('Send');
      await visit.awaitMessage('The callback is on its way.');
      expect(await rowsOf(admin, `/deliveries?task=${tasks.delivered}`)).toHaveLength(3);
      await visit.open(`/tasks/${tasks.plain}`);
      await visit.press('Actions');
      await visit.page.getByRole('menuitem').first().waitFor();
      expect(await visit.page.getByRole('menuitem', { name: 'Send the callback again' }).count()).toBe(0);
    },
  },
  {
    actions: ['credits adjust'],
    promise: 'gives credits of a task back, once for each reason',
    async walk({ visit, admin, stage: { tasks, shop } }) {
      await visit.open(`/tasks/${tasks.plain}`);
      for (const message of ['3 credits · $0.03 given back.', 'already given back']) {
        await visit.choose('Actions', 'Give credits back');
        await visit.fill('Credits', '3');
        await visit.fill('Reason', 'the mug is grey');
        await visit.confirm('Give back');
        await visit.awaitMessage(message);
      }
      await visit.page.getByText('Adjusted by an operator').waitFor();
      const entries = await rowsOf(admin, `/ledger?project=${shop.projectId}&task=${tasks.plain}`);
      expect(entries.filter(({ kind }) => kind === 'adjust')).toMatchObject([{ credits: 3 }]);
    },
  },
  ...meetingActions,
  ...priceActions,
  {
    actions: ['channels test'],
    promise: 'tests a channel and keeps the answer beside it',
    async walk({ visit }) {
      await visit.open('/channels');
      const message = visit.button('Test sandbox-a-openai').locator('xpath=../..').getByRole('status').getByText(/\S/);
      const test = async (): Promise<string> => {
        await visit.press('Test sandbox-a-openai');
        await message.waitFor();
        return message.innerText();
      };
      const first = await test();
      // On a machine that stands still for ten seconds the free call times out, and the page shows that.
      expect(/time|ended by the caller/.test(first) ? await test() : first).toContain(
        'Answers and accepts the credential',
      );
    },
  },
  {
    actions: ['channels verify'],
    promise: 'asks a provider which models of a channel it has',
    async walk({ visit }) {
      await visit.open('/channels');
      await visit.choose('Actions for sandbox-a-openai', 'Verify its models');
      await visit.dialog.getByRole('cell', { name: 'gpt-5-mini' }).first().waitFor();
      await visit.confirm('Close');
    },
  },
  {
    actions: ['channels set'],
    promise: 'changes priority and weight of a channel',
    async walk({ visit, admin }) {
      await visit.open('/channels');
      await visit.choose('Actions for sandbox-c-xai', 'Priority and weight');
      await visit.fill('Weight', '7');
      await visit.confirm('Save');
      await visit.awaitMessage('sandbox-c-xai is changed.');
      expect(await rowOf(admin, '/channels', { name: 'sandbox-c-xai' })).toMatchObject({ weight: 7, priority: 2 });
    },
  },
  {
    actions: ['channels disable', 'channels enable'],
    promise: 'drains a channel and puts it back into service',
    async walk({ visit, admin }) {
      await visit.open('/channels');
      for (const [item, act, enabled] of [
        ['Drain and disable', 'Disable', false],
        ['Enable', 'Enable', true],
      ] as const) {
        await visit.choose('Actions for sandbox-c-runway', item);
        await visit.confirm(act);
        await visit.awaitMessage(`sandbox-c-runway is ${act.toLowerCase()}d.`);
        expect(await rowOf(admin, '/channels', { name: 'sandbox-c-runway' })).toMatchObject({ enabled });
      }
    },
  },
  ...providerActions,
  ...accessActions,
  {
    actions: ['jobs run'],
    promise: 'runs a job, whose end the list shows',
    async walk({ visit, admin }) {
      await visit.open('/jobs');
      await visit.press('Run now: scheduled-maintenance');
      await visit.confirm('Run now');
      // A run of more than ten seconds goes on after the answer.
      await visit.awaitMessage(/The run has succeeded\.|It runs\. The list shows its end\./);
      await visit.page.getByRole('row', { name: /^scheduled-maintenance Succeeded / }).waitFor();
      expect(await rowOf(admin, '/jobs', { name: 'scheduled-maintenance' })).toMatchObject({
        state: 'succeeded',
        trigger: 'operator',
      });
    },
  },
];

/** The API key that the open dialog shows. */
async function secretIn(visit: Visit): Promise<string> {
  return (await visit.dialog.getByText(/^sk-/).textContent()) ?? '';
}
