import type { Page } from 'playwright-core';
import { buildConsole } from '../scripts/build-console.mjs';
import { createAdminToken } from '../src/services/operators/create-admin-token.ts';
import { startBrowser } from '../test/console/browser.ts';
import { adminReads } from '../test/support/admin-reads.ts';
import { startGateway, type Gateway } from '../test/support/gateway.ts';
import { operatorHistory as history, writeOperatorHistory } from '../test/support/operator-history.ts';
import { testConfig } from '../test/support/test-config.ts';
import { lineOf, measureRead, pathOf, readColumns, type Measured } from './measure-reads.ts';
import { median, say, sayTable } from './report.ts';
import { startBenchServers } from './servers.ts';
import { countingStatements } from './statements.ts';

const size = {
  entries: 100_000,
  entriesPerTask: 10,
  projects: 2_000,
  keys: 2,
  days: 60,
  audits: 20_000,
  scheduledJobRuns: 5_000,
};
const models = 300;
const channels = 40;
const databaseMsMax = 50;
const pageMsMax = 1_000;
const rounds = 5;

/**
 * Fills a gateway as a busy installation has it, clicks through every page of the console with every heading that sorts, and measures every
 * read of the admin API with each of its filters. Fails if a read takes the database longer than 50 ms, or if a page is shown later than a
 * second after its click.
 */
export async function benchConsole(): Promise<void> {
  const servers = await startBenchServers({ postgresSettings: countingStatements });
  await buildConsole();
  const gateway = await startGateway({ workers: 0, env: { LOG_LEVEL: 'warn' } });
  try {
    const sealed = await gateway.project({ credits: 1_000 });
    const deps = { db: gateway.database, config: testConfig(gateway.env) };
    const { token } = await createAdminToken(deps, { role: 'owner', name: 'bench', expiresAt: null, actor: 'bench' });
    await writeOperatorHistory(gateway.databaseUrl, size);
    await addModels(gateway, token);
    await addChannels(gateway);
    await gateway.database.query('', 'create extension if not exists pg_stat_statements');
    const { pages, requestedPaths } = await clickThrough(gateway, token);
    const reads = await measureReads(gateway, { token, sealedProject: sealed.projectId, requestedPaths });
    report(reads, pages);
    await sayPlans(gateway, reads);
  } finally {
    await gateway.database.query('', `delete from hold where id like 'task\\_1%'`);
    await gateway.stop();
    await servers.close();
  }
}

interface Entry {
  id: string;
  display_name: string;
  private: object;
}

/** Copies the entries of the catalog under further names. */
async function addModels(gateway: Gateway, token: string): Promise<void> {
  const send = async (method: string, body?: string): Promise<{ data: Entry[] }> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${gateway.baseUrl}/api/admin/v1/catalog`, { method, headers, ...(body && { body }) });
    if (!answer.ok) throw new Error(`${method} /catalog answered ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as { data: Entry[] };
  };
  const { data: entries } = await send('GET');
  const copies = Array.from({ length: models - entries.length }, (_, n) => {
    const entry = entries[n % entries.length] as Entry;
    const id = `${entry.id}-copy-${n}`;
    return { ...entry, id, display_name: `${entry.display_name} ${n}`, private: { ...entry.private, aliases: {} } };
  });
  await send('PUT', JSON.stringify({ catalog: JSON.stringify({ models: [...entries, ...copies] }) }));
}

/** Copies a channel of the sandbox, with its history. */
async function addChannels({ database }: Gateway): Promise<void> {
  await database.query(
    '',
    `insert into channel (id, name, adapter, base_url, credential, groups)
     select 'chn_more_' || n, 'channel-more-' || n, adapter, base_url, credential, groups
     from (select * from channel where name = 'sandbox-a-openai') one,
       generate_series(1, $1 - (select count(*)::int from channel)) n`,
    [channels],
  );
  await database.query(
    '',
    `insert into channel_history (channel_id, span, at, ok, refused, transient, unknown, durations)
     select c.id, h.span, h.at, h.ok, h.refused, h.transient, h.unknown, h.durations
     from channel c, channel_history h where c.name like 'channel-more-%' and h.channel_id = $1`,
    [history.channelId],
  );
  await database.query('', 'vacuum analyze');
}

interface Clicked {
  name: string;
  ms: number[];
}

/** The pages by their names, each with the click that leads to it from its list. */
const below: Readonly<Record<string, { name: string; link: string } | undefined>> = {
  Tasks: { name: 'Task', link: 'a[href*="/tasks/task_"]' },
  Requests: { name: 'Request', link: 'a[href*="/requests/req_"]' },
  Models: { name: 'Model', link: 'a[href*="/models/"]' },
  Plans: { name: 'Plan', link: 'a[href*="/plans/"]' },
  Channels: { name: 'Channel', link: 'a[href*="/channels/"]' },
  'Projects and keys': { name: 'Project', link: `a[href*="/projects/"]` },
};

/** Clicks on every link of the menu, on the first row of each list, and on every heading that sorts. Returns the times, and what was read. */
async function clickThrough(
  gateway: Gateway,
  token: string,
): Promise<{ pages: Clicked[]; requestedPaths: Set<string> }> {
  const browser = await startBrowser();
  const pages = new Map<string, number[]>();
  const requestedPaths = new Set<string>();
  try {
    for (let round = 0; round < rounds; round += 1) {
      // Without a cache, as after a release.
      const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
      const page = await context.newPage();
      page.setDefaultTimeout(120_000);
      page.on('request', (request) => {
        const [, path] = request.url().split('/api/admin/v1');
        if (path !== undefined && request.method() === 'GET') requestedPaths.add(path);
      });
      const timed = async (name: string, click: () => Promise<unknown>): Promise<void> =>
        void pages.set(name, [...(pages.get(name) ?? []), await timeOf(page, click)]);
      await timed('Overview, signing in', () => page.goto(`${gateway.baseUrl}/console/overview#token=${token}`));
      const menu = page.getByRole('navigation').getByRole('link');
      for (const name of await menu.allTextContents()) {
        await timed(name, () => menu.filter({ hasText: name }).first().click());
        const row = below[name];
        // Every heading once: the bench measures what it asks for.
        if (round === 0) await pressHeadings(page);
        if (!row) continue;
        await timed(row.name, () => page.locator(`main ${row.link}`).first().click());
        if (row.name === 'Project')
          for (const tab of await page.getByRole('tab').allTextContents())
            await timed(`Project, ${tab}`, () => page.getByRole('tab', { name: tab }).click());
      }
      await context.close();
    }
  } finally {
    await browser.close();
  }
  return { pages: [...pages].map(([name, ms]) => ({ name, ms })), requestedPaths };
}

/** Milliseconds from the click until the heading is there and nothing loads any more. */
async function timeOf(page: Page, click: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await click();
  await page.locator('main h1').first().waitFor();
  await page.evaluate('new Promise(requestAnimationFrame)');
  await page.locator('main [data-loading], main .mantine-Skeleton-root').first().waitFor({ state: 'detached' });
  return performance.now() - began;
}

/** Sorts by every column, rising and falling. */
async function pressHeadings(page: Page): Promise<void> {
  const headings = page.locator('main .sorter');
  for (let index = 0; index < (await headings.count()); index += 1) {
    await timeOf(page, () => headings.nth(index).click());
    await timeOf(page, () => headings.nth(index).click());
  }
}

/** Every read of the admin API with each of its filters, and what the pages asked for beyond that. */
async function measureReads(
  gateway: Gateway,
  {
    token,
    sealedProject,
    requestedPaths,
  }: { token: string; sealedProject: string; requestedPaths: ReadonlySet<string> },
): Promise<Measured[]> {
  const reads = new Map(adminReads(sealedProject).map((read) => [pathOf(read), read.name]));
  for (const path of requestedPaths) if (!reads.has(path)) reads.set(path, `pages: ${path.split('?')[0]}, ${path}`);
  const results: Measured[] = [];
  for (const [path, name] of reads)
    results.push(await measureRead(gateway, { name, path: `/api/admin/v1${path}`, token }));
  return results;
}

/** The plans of the statements that take too long, as PostgreSQL chooses them for any values. */
async function sayPlans({ database }: Gateway, reads: readonly Measured[]): Promise<void> {
  const slow = reads.filter(({ databaseMs }) => databaseMs > databaseMsMax);
  for (const [statement, [first]] of Map.groupBy(slow, (read) => read.statement)) {
    // The text of a counted statement has parameters where PostgreSQL wants constants, such as a date.
    const plan = await database
      .query<{ 'QUERY PLAN': string }>('', `explain (generic_plan) ${statement}`)
      .catch(() => []);
    say(`\n${first?.name}:\n${plan.map((line) => line['QUERY PLAN']).join('\n')}`);
  }
}

function report(reads: Measured[], pages: Clicked[]): void {
  say(
    `\n${size.entries} requests, ${size.entries / size.entriesPerTask} tasks, ${size.projects} projects, ${models} models, ${channels} channels:\n`,
  );
  sayTable(
    readColumns,
    [...Map.groupBy(reads, ({ name }) => name.split(', ')[0] ?? name)].map(([action, all]) => lineOf(action, all)),
  );
  say(`\nfrom a click until the page is shown, ${rounds} times each:\n`);
  sayTable(
    ['Page', 'median ms', 'worst ms'],
    pages.map(({ name, ms }) => [name, median(ms).toFixed(0), Math.max(...ms).toFixed(0)]),
  );
  // The pages ask for the page of a request before they know that it is a task.
  const refused = reads.filter(
    ({ status, name }) => status !== 200 && !(status === 404 && name.startsWith('pages: /chats/')),
  );
  const slow = reads.filter(({ databaseMs }) => databaseMs > databaseMsMax);
  const late = pages.filter(({ ms }) => median(ms) > pageMsMax);
  for (const { name, status } of refused) say(`${name} was answered with ${status}`);
  for (const { name, databaseMs, statement, statementMs } of slow)
    say(
      `${name} took the database ${databaseMs.toFixed(0)} ms, of which ${statementMs.toFixed(0)} ms: ${statement.replaceAll(/\s+/g, ' ').slice(0, 300)}`,
    );
  for (const { name, ms } of late) say(`${name} took ${median(ms).toFixed(0)} ms`);
  if (refused.length + slow.length + late.length > 0) process.exitCode = 1;
  const most = Math.max(...reads.map(({ databaseMs }) => databaseMs));
  const slowest = Math.max(...pages.map(({ ms }) => median(ms)));
  say(
    `reads=${reads.length} database_ms_max=${most.toFixed(1)} page_ms_max=${slowest.toFixed(0)} over_limit=${slow.length + late.length} (goal: 0)`,
  );
}
