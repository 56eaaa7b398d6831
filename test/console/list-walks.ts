import { expect } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import type { AdminClient } from './admin-client.ts';
import type { Scene, Walk } from './scene.ts';
import type { Visit } from './visit.ts';

/** What a person looks for in the lists. */
export const listWalks: readonly Walk[] = [
  {
    promise: 'filters each list, and each filter shows the rows that the admin API names',
    async walk({ visit, admin, stage }) {
      const { studio, tasks } = stage;
      await filterBy(visit, admin, '/tasks', 'task_id', [
        { choose: ['Status', 'Failed'], asks: { status: 'failed' } },
        { choose: ['Type', 'Video'], asks: { type: 'video' } },
        { type: ['Model', 'flux-2-pro'], asks: { model: 'flux-2-pro' } },
        { type: ['Project', studio.projectId], asks: { project: studio.projectId } },
      ]);
      await filterBy(visit, admin, '/requests', 'request_id', [
        { choose: ['Outcome', 'Refunded'], asks: { outcome: 'refunded' } },
        { choose: ['Reason', 'Content policy violation'], asks: { reason: 'content_policy_violation' } },
        { type: ['Model', 'claude-haiku-5.5'], asks: { model: 'claude-haiku-5.5' } },
        { type: ['Channel', 'nobody'], asks: { channel: 'nobody' } },
        { type: ['Project', stage.pilot.projectId], asks: { project: stage.pilot.projectId } },
        { type: ['Key', stage.pilot.keyId], asks: { key: stage.pilot.keyId } },
        { choose: ['Time', 'Last 24 hours'], asks: { created_after: '24h' } },
        { choose: ['Type', 'Video'], asks: { type: 'video' } },
        { type: ['Took at least', '1'], asks: { min_ms: '1' } },
        { type: ['Charged at least', '100000'], asks: { min_credits: '100000' } },
      ]);
      await filterBy(visit, admin, '/deliveries', 'task_id', [
        { choose: ['State', 'Delivered'], asks: { state: 'delivered' } },
        { type: ['Project', studio.projectId], asks: { project: studio.projectId } },
        { type: ['Task', tasks.delivered], asks: { task: tasks.delivered } },
      ]);
      await filterBy(visit, admin, '/audit', 'subject', [
        { type: ['Action', 'keys.create'], asks: { action: 'keys.create' } },
        { type: ['About', studio.projectId], asks: { subject: studio.projectId } },
        { type: ['Who', 'nobody'], asks: { by: 'nobody' } },
      ]);
      await admin.change('POST', `/tasks/${tasks.unknown}/resolve`, { outcome: 'bought', reference: 'ticket 4711' });
      await visit.open('/tasks');
      await visit.page.getByRole('switch', { name: 'Unknown outcome only' }).click();
      await visit.page.getByRole('switch', { name: 'Unknown outcome only', checked: true }).waitFor();
      await visit.page.getByText('No task matches').waitFor();
      await visit.picture('tasks-none');
      await visit.press('Show all tasks');
      await rows(visit).nth(1).waitFor();
    },
  },
  {
    promise: 'leads from the overview and from the ledger to why a chat was refunded',
    async walk({ visit, stage }) {
      const { page } = visit;
      await visit.open('/overview');
      await page.getByRole('link', { name: 'Why chats were refunded' }).click();
      await page.getByRole('heading', { level: 1, name: 'Requests' }).waitFor();
      await page.locator(`a[href$="/requests/${stage.chats.refunded}"]`).click();
      await page.getByText("The provider's content policy refused the request.").waitFor();
      await page.getByRole('region', { name: 'Calls to providers' }).getByText('Refused').waitFor();
      await visit.open(`/projects/${stage.studio.projectId}`);
      await page.getByRole('tab', { name: 'Ledger' }).click();
      await page.getByRole('region', { name: 'Ledger' }).locator('a[href*="/requests/req_"]').first().click();
      await page.getByRole('heading', { level: 1, name: 'Request' }).waitFor();
    },
  },
  {
    promise: 'filters the channels and the models where they are shown',
    async walk({ visit, admin }) {
      await visit.open('/channels');
      const channels = (await admin.read('/channels'))['data'] as { adapter: string; state: string }[];
      await choose(visit, 'Adapter', 'kling');
      await expectRows(visit, channels.filter(({ adapter }) => adapter === 'kling').length);
      await choose(visit, 'State', 'Alarm');
      await expectRows(visit, 1);
      await visit.open('/models');
      const models = (await admin.read('/catalog'))['data'] as { type: string }[];
      await choose(visit, 'Type', 'Videos');
      await expectRows(visit, models.filter(({ type }) => type === 'video').length);
    },
  },
  {
    promise: 'pages through every list to its last row',
    async walk({ visit, admin, gateway, stage }) {
      await addRows(gateway.database, stage);
      const { projectId } = stage.shop;
      for (const [page, path] of [
        ['/tasks', '/tasks'],
        ['/requests', '/requests'],
        ['/projects', '/projects'],
        [`/projects/${projectId}`, `/keys?project=${projectId}`],
        ['/deliveries', '/deliveries'],
        ['/audit', '/audit'],
        ['/jobs', '/jobs'],
      ] as const) {
        await visit.open(page);
        await pageToEnd(visit, () => countOf(admin, path));
      }
      await visit.open(`/projects/${projectId}`);
      await visit.page.getByRole('tab', { name: 'Ledger' }).click();
      await pageToEnd(visit, () => countOf(admin, `/ledger?project=${projectId}`));
    },
  },
  {
    promise: 'sorts the models on the server, and reads of each only what the page shows',
    async walk({ visit, admin }) {
      const answered = visit.page.waitForResponse((answer) => /\/models\?/.test(answer.url()));
      await visit.open('/models');
      const sizes = [
        (await (await answered).body()).length,
        JSON.stringify(await admin.read('/catalog')).length,
      ] as const;
      expect(sizes[0]).toBeLessThan(sizes[1] / 3);
      for (const sort of ['display_name', '-display_name', undefined]) {
        await visit.press(/^Model/);
        await visit.page.waitForURL((url) => (url.searchParams.get('sort') ?? undefined) === sort);
        const listed = await admin.read(`/models${sort === undefined ? '' : `?sort=${sort}`}`);
        const [first] = listed['data'] as { id: string }[];
        await visit.page.locator(`tbody tr:first-child a[href$="/models/${first?.id}"]`).waitFor();
      }
    },
  },
  {
    promise: 'shows the last day of a list that is too long to be sorted, and says so',
    async walk({ gateway, browser, token }) {
      const context = await browser.newContext();
      const page = await context.newPage();
      page.setDefaultTimeout(120_000);
      // As for a list of more rows than a test has.
      await page.route(/\/requests\?(?!.*created_after).*sort=/, (route) =>
        route.fulfill({
          status: 400,
          json: { error: { message: 'More than 100,000 rows match.', code: 'invalid_value', param: 'sort' } },
        }),
      );
      await page.goto(`${gateway.baseUrl}/console/requests#token=${token}`);
      await page.getByRole('button', { name: 'Credits' }).click();
      await page.getByText('these are of the last 24 hours').waitFor();
      await page.waitForURL((url) => url.searchParams.get('created_after') === '24h');
      expect(new URL(page.url()).searchParams.get('sort')).toBe('-credits');
      await page.locator('tbody tr').first().waitFor();
      await context.close();
    },
  },
  {
    promise: 'keeps the rows for which an action failed, so that it can be tried again for them alone',
    async walk({ gateway, browser, token }) {
      const context = await browser.newContext();
      const page = await context.newPage();
      page.setDefaultTimeout(120_000);
      const redeliveries: string[] = [];
      await page.route(/\/redeliver$/, (route) => {
        redeliveries.push(route.request().url());
        const status = redeliveries.length === 1 ? 409 : 200;
        return route.fulfill({
          status,
          json: status === 200 ? { callback: 'pending' } : { error: { message: 'Too soon.' } },
        });
      });
      await page.goto(`${gateway.baseUrl}/console/deliveries#token=${token}`);
      await page.getByRole('checkbox', { name: 'Select all rows that are shown' }).check();
      const count = Number(/\d+/.exec((await page.getByText(/^\d+ tasks selected$/).textContent()) ?? '')?.[0]);
      expect(count).toBeGreaterThan(1);
      await page.getByRole('status').getByRole('button', { name: 'Send again' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Send again' }).click();
      await dialog.getByRole('alert').getByText('Too soon.').waitFor();
      expect(redeliveries).toHaveLength(count);
      await dialog.getByRole('heading', { name: 'Send again: 1 task' }).waitFor();
      await dialog.getByRole('button', { name: 'Send again' }).click();
      await page.getByText('Done for 1 of 1.').waitFor();
      expect(redeliveries.slice(count)).toEqual(redeliveries.slice(0, 1));
      await context.close();
    },
  },
  {
    promise: 'saves a summary as a table',
    async walk({ visit, admin }) {
      await admin.change('POST', '/jobs/scheduled-maintenance/run');
      // A run of more than ten seconds goes on after the answer.
      await eventually(async () => {
        const { data } = await admin.read('/jobs?name=scheduled-maintenance');
        return (data as { state: string }[]).every(({ state }) => state !== 'running');
      });
      await visit.open('/summaries');
      const download = visit.page.waitForEvent('download');
      await visit.press('Download CSV');
      const month = new Date().toISOString().slice(0, 7);
      const file = await download;
      expect(file.suggestedFilename()).toBe(`tollgate-${month}.csv`);
      const lines = (await textOf(file)).split('\r\n');
      const { data } = await admin.read(`/summary?month=${month}`);
      expect(lines[0]).toMatch(/^project_id,model,channel,requests,/);
      expect(lines).toHaveLength(1 + (data as unknown[]).length);
    },
  },
];

interface Filter {
  /** The label of a choice, and what is chosen. */
  choose?: [label: string, option: string];
  /** The label of a field, and what is typed. */
  type?: [label: string, text: string];
  /** The same question to the admin API. */
  asks: Record<string, string>;
}

async function filterBy(
  visit: Visit,
  admin: AdminClient,
  page: string,
  name: string,
  filters: Filter[],
): Promise<void> {
  for (const { choose: chosen, type: typed, asks } of filters) {
    await visit.open(page);
    if (chosen) await choose(visit, ...chosen);
    if (typed) {
      await visit.page.getByRole('textbox', { name: typed[0] }).fill(typed[1]);
      await visit.page.keyboard.press('Enter');
    }
    const { data } = await admin.read(`${page}?${new URLSearchParams(asks).toString()}`);
    const expected = (data as Record<string, unknown>[]).map((row) => String(row[name]));
    await visit.page.waitForURL(({ search }) => search.includes(Object.values(asks)[0] ?? ''));
    await expectRows(visit, expected.length);
    const shown = (await rows(visit).allTextContents()).join('\n');
    for (const value of expected) expect(shown).toContain(value.slice(0, 14));
  }
}

async function choose(visit: Visit, label: string, option: string): Promise<void> {
  await visit.page
    .getByRole('combobox', { name: label })
    .or(visit.page.getByRole('textbox', { name: label }))
    .first()
    .click();
  await visit.page.getByRole('option', { name: option, exact: true }).click();
}

/** The rows of the list. Those of a table within one, and of the credits that expire, do not count. */
const rows = (visit: Visit) => visit.page.locator('tbody tr:not(td tr, [aria-labelledby=expiring] tr)');

/** Waits until the list has this many rows, or says that nothing matches. */
async function expectRows(visit: Visit, count: number): Promise<void> {
  if (count === 0) return visit.page.getByText(/^No .* matches$/).waitFor();
  await rows(visit)
    .nth(count - 1)
    .waitFor();
  await rows(visit).nth(count).waitFor({ state: 'detached' });
}

/** Jobs and the audit log may get rows meanwhile. */
async function pageToEnd(visit: Visit, count: () => Promise<number>): Promise<void> {
  const before = await count();
  await rows(visit).first().waitFor();
  let shown = await rows(visit).count();
  expect(shown).toBeLessThan(before);
  while ((await visit.button('Show more').count()) > 0) {
    await visit.press('Show more');
    await rows(visit).nth(shown).waitFor();
    shown = await rows(visit).count();
  }
  expect(shown).toBeGreaterThanOrEqual(before);
  expect(shown).toBeLessThanOrEqual(await count());
}

async function countOf(admin: AdminClient, path: string): Promise<number> {
  const { data } = await admin.read(`${path}${path.includes('?') ? '&' : '?'}limit=10000`);
  return (data as unknown[]).length;
}

async function textOf(download: { createReadStream(): Promise<NodeJS.ReadableStream> }): Promise<string> {
  let text = '';
  for await (const chunk of await download.createReadStream()) text += String(chunk);
  return text;
}

/** More rows than each list shows on one page. The books have no part in them. */
async function addRows(database: Scene['gateway']['database'], { shop }: Scene['stage']): Promise<void> {
  const ofShop = `'${shop.projectId}', '${shop.keyId}'`;
  const count = 60;
  const statements = [
    `set local session_replication_role = replica`,
    `insert into project (id, name, callback_secret) select 'prj_more_' || n, 'Customer ' || n, '' from generate_series(1, ${count}) n`,
    `insert into credit_account (project_id) select 'prj_more_' || n from generate_series(1, ${count}) n on conflict do nothing`,
    `insert into api_key (id, project_id, name) select 'key_more_' || n, '${shop.projectId}', 'Key ' || n from generate_series(1, ${count}) n`,
    `insert into task (id, project_id, key_id, request_id, type, model_id, status, admission, snapshot, credits_quoted, output, completed_at,
       deadline_at, expires_at)
     select 'task_more_' || n, ${ofShop}, 'req_more', 'image', 'aurora-image-1', 'succeeded', 'reserved', '{}', 4, '[]', now(), now(), now()
     from generate_series(1, ${count}) n`,
    `insert into delivery (id, task_id, project_id, event_id, state, ended_at)
     select 'dlv_more_' || n, 'task_more_' || n, '${shop.projectId}', 'evt_more_' || n, 'delivered', now() from generate_series(1, ${count}) n`,
    `insert into audit_entry (actor, action, subject) select 'test', 'keys.set', 'key_more_' || n from generate_series(1, ${count}) n`,
    `insert into job_run (id, name, trigger, state, started_at, lease_until, ended_at)
     select 'run_more_' || n, 'check-api-channels', 'schedule', 'succeeded', now(), now(), now() from generate_series(1, ${count}) n`,
    `insert into ledger_entry (project_id, kind, credits, balance_after, reference)
     select '${shop.projectId}', 'topup', 0, 0, 'more ' || n from generate_series(1, ${count}) n`,
    `insert into ledger_entry (project_id, key_id, request_id, kind, credits, balance_after, model_id, held, began_at, reason)
     select ${ofShop}, 'req_' || lpad(n::text, 26, '0'), 'refund', 0, 0, 'gpt-5-mini', 1, now(), 'upstream_timeout' from generate_series(1, ${count}) n`,
  ];
  await database.transaction('begin', async (query) => {
    for (const statement of statements) await query('', statement);
  });
}
