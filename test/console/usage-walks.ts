import { expect } from '@jest/globals';
import type { EverydayWalk, Walk } from './scene.ts';
import { rowsOf, type Row } from './rows.ts';
import type { Visit } from './visit.ts';

/** What requests came to. */
export const spendWalk: EverydayWalk = {
  promise: 'tells the spend by project, model and day, and saves it as a table',
  actions: [],
  clicksMax: 5,
  async walk({ visit, admin }) {
    await visit.go('Usage');
    const days = await chooseRows(visit, ['Project', 'Day']);
    await visit.page.waitForURL(({ searchParams }) => searchParams.get('rows') === 'model,project,day');
    const expected = await rowsOf(admin, `/usage?from=${days.from}&to=${days.to}&group_by=model,project,day`);
    expect(expected.length).toBeGreaterThan(3);
    const rows = visit.page.getByRole('region', { name: 'Usage by model, project, day' }).locator('tbody tr');
    await rows.nth(expected.length - 1).waitFor();
    expect(await rows.count()).toBe(expected.length);
    const lines = await download(visit);
    expect(lines[0]).toMatch(
      /^model,project_id,project_name,day,requests,succeeded,failed,refused,left,credits,cost_usd,unknown_costs,margin_usd,/,
    );
    expect(lines.slice(1).sort()).toEqual(expected.map(csvLine).sort());
    await visit.picture('usage');
  },
};

/** The views of the usage, and the pages that are not about anything. */
export const usageWalks: readonly Walk[] = [
  {
    promise: 'keeps the view of the usage in the address, by hour and by channel, with the rows of the API',
    async walk({ visit, admin }) {
      await visit.open('/usage?range=7&interval=hour&by=channel&measure=cost');
      await visit.page.getByRole('heading', { name: 'Cost per hour by channel' }).waitFor();
      const chart = visit.page.getByRole('table', { name: 'Usage by hour and channel' });
      await chart.waitFor();
      const [first] = await rowsOf(admin, `/usage?from=${weekAgo()}&group_by=channel`);
      await chart.getByRole('columnheader', { name: String(first?.['channel']), exact: true }).waitFor();
      await visit.picture('usage-hours');
      await visit.page.getByText('By day', { exact: true }).click();
      await visit.page.getByRole('heading', { name: 'Cost per day by channel' }).waitFor();
      await visit.page.goBack();
      await visit.page.getByRole('heading', { name: 'Cost per hour by channel' }).waitFor();
    },
  },
  {
    promise:
      "counts usage by the days of the viewer's zone up to 92 days, says which zone it is, and keeps it in the address",
    async walk({ gateway, browser, token, admin }) {
      const context = await browser.newContext({ timezoneId: 'Asia/Kolkata' });
      const page = await context.newPage();
      page.setDefaultTimeout(120_000);
      await page.goto(`${gateway.baseUrl}/console/usage?range=7&rows=day#token=${token}`);
      // Browsers call it by its earlier name too.
      const zone = /Asia\/(?:Kolkata|Calcutta)/.exec(
        (await page.getByText(/Days are those of Asia\/(?:Kolkata|Calcutta)\./).textContent()) ?? '',
      )?.[0];
      const midnight = async (label: string): Promise<number> =>
        Date.parse(`${await page.getByLabel(label, { exact: true }).inputValue()}T00:00+05:30`) / 1_000;
      const range = `from=${await midnight('From')}&to=${(await midnight('To')) + daySeconds}`;
      const days = await rowsOf(admin, `/usage?${range}&group_by=day&tz=Asia/Kolkata`);
      const rows = page.getByRole('region', { name: 'Usage by day' }).locator('tbody tr');
      await rows.first().waitFor();
      expect(await rows.locator('td:first-child').allTextContents()).toEqual(days.map(({ day }) => day));
      const waiting = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download CSV' }).click();
      const file = await waiting;
      expect(file.suggestedFilename()).toMatch(/^tollgate-usage-[\d-]+-Asia-(?:Kolkata|Calcutta)\.csv$/);
      await page.getByText('By hour', { exact: true }).click();
      await page.waitForURL(
        (url) => url.searchParams.get('tz') === zone && url.searchParams.get('interval') === 'hour',
      );
      await page
        .getByRole('columnheader', { name: `Hour (${zone})` })
        .first()
        .waitFor({ state: 'attached' });
      await page.goto(`${gateway.baseUrl}/console/usage?range=365&tz=${zone}&rows=day`);
      await page.getByText('Days are UTC, because the range is longer than 92 days.').waitFor();
      await page.getByRole('columnheader', { name: 'Day (UTC)' }).first().waitFor({ state: 'attached' });
      await context.close();
    },
  },
  {
    promise: 'says that there is no page at an unknown address, and has an icon',
    async walk({ visit }) {
      await visit.open('/no-such-page');
      await visit.page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
      await visit.picture('not-found');
      const icon = await visit.page.locator('link[rel=icon]').getAttribute('href');
      const answer = await visit.page.request.get(new URL(icon ?? '', visit.page.url()).href);
      expect([answer.status(), answer.headers()['content-type']]).toEqual([200, 'image/svg+xml']);
    },
  },
  {
    promise: 'says that a thing of an address does not exist, under a heading and without an offer to look again',
    async walk({ gateway, browser, token }) {
      const context = await browser.newContext();
      const page = await context.newPage();
      page.setDefaultTimeout(60_000);
      await page.goto(`${gateway.baseUrl}/console/overview#token=${token}`);
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      for (const address of ['tasks', 'requests', 'models', 'plans', 'channels', 'projects', 'keys']) {
        await page.goto(`${gateway.baseUrl}/console/${address}/none-of-this-name`);
        await page.getByRole('alert').or(page.getByText('There is no such channel')).first().waitFor();
        const headings = await page.getByRole('heading', { level: 1 }).count();
        const offers = await page.getByRole('button', { name: 'Try again' }).count();
        expect({ address, headings, offers }).toEqual({ address, headings: 1, offers: 0 });
      }
      await context.close();
    },
  },
  {
    promise: 'says that the console loads while its scripts are on their way',
    async walk({ visit, gateway, browser }) {
      const context = await browser.newContext();
      const page = await context.newPage();
      // The scripts never arrive.
      await page.route('**/*.js', () => undefined);
      await page.goto(`${gateway.baseUrl}/console/overview`, { waitUntil: 'commit' });
      await page.getByRole('status').getByText('Loading the console').waitFor();
      await context.close();
      await visit.open('/overview');
    },
  },
];

const daySeconds = 86_400;
const weekAgo = (): number => (Math.floor(Date.now() / 1_000 / daySeconds) - 6) * daySeconds;

/** Adds to what the rows are told apart by. Returns the range of the page. */
async function chooseRows(visit: Visit, names: string[]): Promise<{ from: number; to: number }> {
  const field = visit.page
    .getByRole('combobox', { name: 'Rows by' })
    .or(visit.page.getByRole('textbox', { name: 'Rows by' }));
  await field.first().click();
  for (const name of names) await visit.page.getByRole('option', { name, exact: true }).click();
  await visit.page.keyboard.press('Escape');
  const seconds = async (label: string): Promise<number> =>
    Date.parse(await visit.page.getByLabel(label, { exact: true }).inputValue()) / 1_000;
  return { from: await seconds('From'), to: (await seconds('To')) + daySeconds };
}

async function download(visit: Visit): Promise<string[]> {
  const waiting = visit.page.waitForEvent('download');
  await visit.press('Download CSV');
  const file = await waiting;
  expect(file.suggestedFilename()).toMatch(/^tollgate-usage-[\d-]+\.csv$/);
  let text = '';
  for await (const chunk of await file.createReadStream()) text += String(chunk);
  return text.split('\r\n');
}

const sums = [
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'cache_write_1h_tokens',
  'reasoning_tokens',
];
const csvLine = (row: Row): string =>
  [
    ...['model', 'project_id', 'project_name', 'day', 'requests'].map((name) => row[name] ?? ''),
    // Without the clients that left.
    Number(row['succeeded']) - Number(row['left_charged']),
    Number(row['failed']) - (Number(row['left']) - Number(row['left_charged'])),
    ...['refused', 'left', 'credits'].map((name) => row[name]),
    Number(row['cost_micro_usd']) / 1e6,
    row['unknown_costs'],
    Number(row['margin_micro_usd']) / 1e6,
    ...sums.map((name) => row[name]),
  ].join(',');
