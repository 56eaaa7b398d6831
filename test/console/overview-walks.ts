import { expect } from '@jest/globals';
import { answerMs, pressEnter } from './by-keyboard.ts';
import type { Walk } from './scene.ts';

/** The first page leads to everything that it counts, and lists do things with many rows. */
export const overviewWalks: readonly Walk[] = [
  {
    promise: 'opens from the overview what each figure counts, what fails, and what an alarm is about',
    async walk({ visit }) {
      const { page } = visit;
      await visit.open('/overview');
      await page.getByText('Median time of chats').waitFor();
      await page.getByText('Median time of media').waitFor();
      await page.getByText(/refused by providers, \d+ left by clients/).waitFor();
      await page.getByRole('link', { name: 'Failed', exact: true }).click();
      await page.waitForURL(/\/requests\?.*outcome=failed/);
      await page.goBack();
      const failing = page.getByRole('region', { name: 'What fails' });
      await page.getByRole('radiogroup', { name: 'Range' }).getByText('Week').click();
      await page.waitForURL(/range=168/);
      await page.getByRole('heading', { name: 'Requests per 6 hours' }).waitFor();
      await page.getByText(/against the week before/).waitFor();
      const within = /created_after=\d+&created_before=\d+/;
      await failing.getByRole('table', { name: 'Models that fail' }).getByRole('link').first().click();
      await page.waitForURL(/\/requests\?.*model=/);
      expect(page.url()).toMatch(within);
      await visit.open('/overview?range=168');
      const receivers = failing.getByRole('table', { name: 'Receivers of callbacks that fail' });
      const host = (await receivers.getByRole('link').first().textContent()) ?? '';
      await receivers.getByRole('link').first().click();
      await page.waitForURL((url) => url.searchParams.get('host') === host);
      expect(await page.getByRole('textbox', { name: 'Receiver' }).inputValue()).toBe(host);
      await visit.open('/overview?range=168');
      const failures = page.getByRole('region', { name: 'The last failures' });
      await failures.getByRole('table').getByRole('link').first().click();
      await page.waitForURL(/\/(tasks|requests)\/\w+_/);
      await visit.open('/overview');
      await page.getByRole('link', { name: 'Open sandbox-c-kling' }).click();
      await page.getByRole('heading', { level: 1, name: 'sandbox-c-kling' }).waitFor();
    },
  },
  {
    promise: 'keeps what providers refused out of the last failures, behind a link of its own',
    async walk({ visit, stage }) {
      const { page } = visit;
      await visit.open('/overview?range=168');
      const failures = page.getByRole('region', { name: 'The last failures' });
      const failed = failures.getByRole('table').getByRole('link');
      await failed.first().waitFor();
      const addresses = await Promise.all((await failed.all()).map((link) => link.getAttribute('href')));
      expect(addresses).not.toContain(`/console/requests/${stage.chats.refunded}`);
      expect(await failures.getByText('Content policy violation').count()).toBe(0);
      await failures.getByRole('link', { name: 'What providers refused' }).click();
      await page.waitForURL(/\/requests\?.*outcome=refused/);
      await page.getByText('Content policy violation').first().waitFor();
    },
  },
  {
    promise: 'moves every figure of the overview with its range, and opens each bar by the keyboard',
    async walk({ visit, admin }) {
      const { page } = visit;
      for (const [hours, range, bars] of [
        ['1', 'hour', 12],
        ['24', 'day', 24],
        ['168', 'week', 28],
      ] as const) {
        await visit.open(`/overview?range=${hours}`);
        await page.getByText(`against the ${range} before`).first().waitFor();
        const { range: read } = (await admin.read(`/overview?range=${range}`)) as unknown as {
          range: { from: number; bars: { requests: number }[] };
        };
        expect(read.bars).toHaveLength(bars);
        for (const name of ['Requests', 'Success', 'Failed', 'Median time of chats', 'Slowest 5% of all']) {
          const href = await page.getByRole('main').getByRole('link', { name, exact: true }).getAttribute('href');
          expect(href).toMatch(/\/requests\?.*created_after=\d+/);
        }
        for (const name of ['Margin', 'Credits charged']) {
          const href = await page.getByRole('main').getByRole('link', { name, exact: true }).getAttribute('href');
          expect(href).toContain(`range=${range}`);
        }
        if (range !== 'day') await visit.picture(`overview-${range}`);
      }
      const bar = page.getByRole('link', { name: /: [1-9]\d* succeeded, \d+ failed, refused or left$/ }).first();
      // The bars move with the time, so that a refresh may draw the first one anew before the key arrives.
      const within = /\/requests\?created_after=\d+&created_before=\d+/;
      await pressEnter(bar, () => page.waitForURL(within, { timeout: answerMs }));
      await page.locator('tbody tr').first().waitFor();
    },
  },
  {
    promise: 'sorts all rows of a list on the server, and keeps the order in the address and the history',
    async walk({ visit, admin }) {
      const { page } = visit;
      await visit.open('/tasks');
      await visit.press('Credits');
      await page.waitForURL(/sort=-credits/);
      const { data } = await admin.read('/tasks?sort=-credits&limit=1');
      const [dearest] = data as { task_id: string }[];
      await page.locator(`tbody tr:first-child a[href$="/tasks/${dearest?.task_id}"]`).waitFor();
      await page
        .getByRole('columnheader', { name: /Credits/ })
        .and(page.locator('[aria-sort=descending]'))
        .waitFor();
      await page.goBack();
      await page.waitForURL((url) => !url.search.includes('sort'));
    },
  },
  {
    promise: 'sends the callbacks of several rows again at once',
    async walk({ visit, stage }) {
      const { page } = visit;
      await visit.open(`/deliveries?task=${stage.tasks.delivered}`);
      await page.getByRole('checkbox', { name: 'Select all rows that are shown' }).check();
      await page.getByText('1 task selected').waitFor();
      await page.getByRole('status').getByRole('button', { name: 'Send again' }).click();
      await visit.confirm('Send again');
      await visit.awaitMessage('Done for 1 of 1.');
      expect(visit.changes.filter((change) => change.endsWith(`${stage.tasks.delivered}/redeliver`)).length).toBe(1);
    },
  },
  {
    promise: 'saves the tasks, the requests, the audit log and the ledger as they are filtered',
    async walk({ visit, admin, stage }) {
      const ledger = `project=${stage.studio.projectId}`;
      for (const [path, api, name] of [
        ['/tasks?status=failed', '/tasks?status=failed', 'tasks'],
        ['/requests?outcome=refunded&sort=-took_ms', '/requests?outcome=refunded', 'requests'],
        ['/audit?action=keys.create', '/audit?action=keys.create', 'audit'],
        [`/projects/${stage.studio.projectId}?tab=ledger`, `/ledger?${ledger}`, 'ledger'],
      ] as const) {
        await visit.open(path);
        const download = visit.page.waitForEvent('download');
        await visit.press('Download CSV');
        const file = await download;
        expect(file.suggestedFilename()).toMatch(new RegExp(`^tollgate-${name}-\\d{4}-\\d\\d-\\d\\d\\.csv$`));
        let text = '';
        for await (const chunk of await file.createReadStream()) text += String(chunk);
        const { data } = await admin.read(`${api}&limit=10000`);
        expect(text.split('\r\n')).toHaveLength(1 + (data as unknown[]).length);
        if (name === 'tasks' || name === 'requests') expect(text).toMatch(/^.*project_name.*key_name/);
        await visit.awaitMessage(/rows are saved/);
      }
    },
  },
];
