import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { rowOf } from './rows.ts';
import type { Walk } from './scene.ts';
import { pageViews } from './views.ts';

/** The console says what it does not know, and never shows something else in its place. */
export const truthWalks: readonly Walk[] = [
  {
    promise:
      'says on every page that the gateway does not answer and since when the page was not updated, and is right again by itself',
    async walk({ visit, stage }) {
      await visit.open('/overview');
      await visit.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      const context = visit.page.context();
      const tabs: { name: string; tab: Page }[] = [];
      for (const { name, path } of pageViews) {
        const tab = await context.newPage();
        tab.setDefaultTimeout(120_000);
        await tab.goto(new URL(`/console${path(stage)}`, visit.page.url()).href);
        await tab.getByRole('heading', { level: 1 }).waitFor();
        tabs.push({ name, tab });
      }
      const whichDoNot = async (wait: (tab: Page) => Promise<void>): Promise<string[]> => {
        const ends = await Promise.all(
          tabs.map(({ name, tab }) =>
            wait(tab).then(
              () => '',
              () => name,
            ),
          ),
        );
        return ends.filter((name) => name !== '');
      };
      await context.route('**/api/**', (route) => route.abort());
      const whichDoNotSay = await whichDoNot(async (tab) => {
        await tab.getByText(/^Not updated since \d\d:\d\d/).waitFor();
        await tab.getByRole('alert').filter({ hasText: 'The gateway does not answer' }).first().waitFor();
      });
      await context.unroute('**/api/**');
      const whichStay = await whichDoNot(async (tab) => {
        await tab.getByText(/^Not updated since /).waitFor({ state: 'detached' });
        await tab.getByText('The gateway does not answer').first().waitFor({ state: 'detached' });
      });
      for (const { tab } of tabs) await tab.close();
      expect({ whichDoNotSay, whichStay }).toEqual({ whichDoNotSay: [], whichStay: [] });
    },
  },
  {
    promise: 'says in a dialog that the gateway does not answer, keeps what was typed, and sends it once it answers',
    async walk({ visit, admin, stage: { pilot } }) {
      const { page, dialog } = visit;
      await visit.open(`/projects/${pilot.projectId}`);
      await visit.press('Name and note');
      await visit.fill('Note', 'Written in an outage');
      await page.route('**/api/**', (route) => route.abort());
      await visit.confirm('Save');
      await dialog.getByRole('alert').filter({ hasText: 'That did not work' }).waitFor();
      await visit.picture('dialog-away');
      await page.unroute('**/api/**');
      await visit.confirm('Save');
      await visit.awaitMessage('The project is changed.');
      expect(await rowOf(admin, '/projects', { project_id: pilot.projectId })).toMatchObject({
        note: 'Written in an outage',
      });
      await admin.change('PATCH', `/projects/${pilot.projectId}`, { note: null });
    },
  },
  {
    promise:
      'shows a failed try of a callback as failed and why, a callback that is tried again, and one that was replaced',
    async walk({ visit, stage }) {
      const { page } = visit;
      const taskId = stage.tasks.undelivered;
      await visit.open(`/tasks/${taskId}`);
      await page.getByText('Callback, try 1 failed').waitFor();
      await page.getByText('The receiver answered 503').first().waitFor();
      await page.getByText('Callback: Retrying').waitFor();
      await page.getByText(/the next one at /).waitFor();
      await visit.press('Send now');
      await visit.confirm('Send');
      await visit.awaitMessage('The callback is on its way.');
      await page.getByText('Callback: Replaced').waitFor();
      await visit.picture('task-retrying');
      await visit.open(`/deliveries?task=${taskId}&state=replaced`);
      await page.getByRole('region', { name: 'Deliveries' }).getByText('Replaced').first().waitFor();
      await visit.open(`/deliveries?task=${taskId}&state=pending`);
      await page.getByRole('region', { name: 'Deliveries' }).getByText('Retrying').waitFor();
    },
  },
  {
    promise: 'names a hidden model the same in the list and on its page, and chooses no other model for it',
    async walk({ visit, admin }) {
      const { page } = visit;
      const { data } = (await admin.read('/catalog')) as unknown as {
        data: { id: string; display_name: string; private: { public: boolean; retired?: string } }[];
      };
      const hidden = data.find(({ private: { public: isPublic, retired } }) => !isPublic && retired === undefined);
      const id = hidden?.id ?? (await hideOne(admin, data));
      await visit.open('/models?state=hidden');
      await page.locator(`a[href$="/models/${id}"]`).waitFor();
      await page.getByRole('region', { name: 'Models' }).getByText('Hidden', { exact: true }).first().waitFor();
      await visit.open(`/models/${id}`);
      await page.locator('dd').getByText('Hidden', { exact: true }).waitFor();
      await visit.open('/plans/resellers');
      const planned = page.getByRole('region', { name: 'Prices' }).locator('tr').filter({ hasText: id });
      await planned.getByText('Hidden', { exact: true }).waitFor();
      for (const wanted of [id, 'no-such-model']) {
        await visit.open(`/playground?model=${wanted}`);
        await page
          .getByRole('alert')
          .filter({ hasText: `The model ${wanted} cannot be used` })
          .waitFor();
        expect(await page.getByRole('button', { name: 'Generate' }).count()).toBe(0);
      }
      await visit.picture('playground-unusable');
    },
  },
  {
    promise: 'says of a chat that broke off that nobody knows its cost, on its page, in the overview and in the usage',
    async walk({ visit, gateway, stage }) {
      const { page } = visit;
      const messages = [{ role: 'user', content: 'What breaks off [[fail=reset]]' }];
      const request = { model: 'gpt-5-mini', max_tokens: 50, messages };
      const answer = await gateway.create(stage.studio.apiKey, '/api/v1/chat/completions', request);
      await visit.open(`/requests/${answer.headers.get('x-request-id') ?? ''}`);
      await page
        .locator('dd')
        .filter({ hasText: /^Unknown$/ })
        .waitFor();
      const calls = page.getByRole('region', { name: 'Calls to providers' });
      await calls.getByRole('cell', { name: 'Unknown', exact: true }).first().waitFor();
      await visit.picture('request-unknown-cost');
      const atLeast = /^(?:cost )?at least \$[\d.]+ · \d+ unknown$/;
      await visit.open('/overview');
      await page.getByText(atLeast).waitFor();
      await page.getByText(/^at most -?\$/).waitFor();
      await visit.open('/usage?by=model');
      await page.locator('.figure').filter({ hasText: atLeast }).waitFor();
      await page.getByText(/^Failed · refused · left$/).waitFor();
      await page.getByRole('region', { name: 'Usage by model' }).getByText(atLeast).first().waitFor();
      await visit.picture('usage-unknown-costs');
    },
  },
  {
    promise: 'marks the projects in the menu on the page of a project and on that of a key',
    async walk({ visit, stage: { studio } }) {
      for (const path of [`/projects/${studio.projectId}`, `/keys/${studio.keyId}`]) {
        await visit.open(path);
        await visit.page.locator('nav a[aria-current=page]').filter({ hasText: 'Projects and keys' }).waitFor();
        expect(await visit.page.locator('nav a[aria-current=page]').count()).toBe(1);
      }
    },
  },
  {
    promise: 'shows one row where every request of a model costs and earns the same, and two where they do not',
    async walk({ visit }) {
      const rows = visit.page.getByRole('region', { name: 'Margins' }).locator('tbody tr');
      await visit.open('/models/flux-2-pro');
      await rows.filter({ hasText: /^Every/ }).waitFor();
      expect(await rows.count()).toBe(1);
      await visit.open('/models/aurora-image-1');
      await rows.filter({ hasText: /^Dearest.*4k/ }).waitFor();
      await rows.filter({ hasText: /^Cheapest.*1k/ }).waitFor();
    },
  },
  {
    promise: 'writes times in the zone of the browser or in UTC, with the zone',
    async walk({ visit }) {
      const { page } = visit;
      await visit.open('/audit');
      await visit.press(/Signed in as/);
      await page.getByRole('menuitem', { name: 'Show times in UTC' }).click();
      await page.getByText(/^Read at \d\d:\d\d:\d\d UTC/).waitFor();
      expect(await page.locator('tbody time').first().getAttribute('title')).toMatch(/ \d\d:\d\d:\d\d UTC$/);
      await visit.press(/Signed in as/);
      await page.getByRole('menuitem', { name: 'Show local times' }).click();
    },
  },
  {
    promise: 'finds the changes of whoever is signed in, by the name that the page shows and by the identity',
    async walk({ visit }) {
      const { page } = visit;
      await visit.open('/audit');
      await visit.press('My changes');
      await page.waitForURL(/by=Ada/);
      await page
        .locator('tbody .who')
        .filter({ hasText: /^Ada \(atk_/ })
        .first()
        .waitFor();
      await page.getByRole('textbox', { name: 'Who' }).fill('aDA');
      await page.keyboard.press('Enter');
      await page.waitForURL(/by=aDA/);
      await page
        .locator('tbody .who')
        .filter({ hasText: /^Ada \(atk_/ })
        .first()
        .waitFor();
    },
  },
];

/** Hides the last model of the catalog, which no other walk uses. */
async function hideOne(
  admin: Parameters<Walk['walk']>[0]['admin'],
  models: { id: string; private: { public: boolean; retired?: string } }[],
): Promise<string> {
  const last = models.findLast(({ private: { retired } }) => retired === undefined);
  if (!last) throw new Error('the catalog has no model that is sold');
  const changed = models.map((model) =>
    model === last ? { ...model, private: { ...model.private, public: false } } : model,
  );
  await admin.change('PUT', '/catalog', { catalog: JSON.stringify({ models: changed }) });
  return last.id;
}
