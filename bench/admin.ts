import type { Page } from 'playwright-core';
import { buildConsole } from '../scripts/build-console.mjs';
import { createAdminToken } from '../src/services/operators/create-admin-token.ts';
import { testConfig } from '../test/support/test-config.ts';
import { startBrowser } from '../test/console/browser.ts';
import { adminReads } from '../test/support/admin-reads.ts';
import { startGateway, type Gateway } from '../test/support/gateway.ts';
import { operatorHistory as history, writeOperatorHistory } from '../test/support/operator-history.ts';
import { consolePages } from './console-pages.ts';
import { calls, lineOf, measureRead, pathOf, readColumns, withQuery, getPage, type Measured } from './measure-reads.ts';
import { median, say, sayTable } from './report.ts';
import { startBenchServers } from './servers.ts';
import { countingStatements } from './statements.ts';

/** `npm run bench -- admin --quick` has a tenth of the rows. */
const isQuick = process.argv.includes('--quick');
const size = {
  entries: Number(process.env['BENCH_HISTORY'] ?? (isQuick ? 1_000_000 : 10_000_000)),
  entriesPerTask: 100,
  projects: 50,
  keys: 20,
  days: 60,
  audits: isQuick ? 10_000 : 100_000,
  scheduledJobRuns: isQuick ? 2_000 : 20_000,
};
const tasks = size.entries / size.entriesPerTask;
const limitMs = 1_000;
/** Pages of so many rows lead to the deep cursor. */
const stepRows = 10_000;
const stepsMax = 3;

/**
 * Measures every read of the admin API, the lists of the client API and the pages of the console on a large history, and fails if one takes
 * longer than a second. Prints a table and a last line of the slowest.
 */
export async function benchAdmin(): Promise<void> {
  // Throws if the table has an action whose inputs it does not know, before the long fill.
  adminReads('');
  const servers = await startBenchServers({ postgresSettings: countingStatements });
  await buildConsole();
  const gateway = await startGateway({
    workers: 0,
    env: { LOG_LEVEL: 'warn', DATABASE_STATEMENT_TIMEOUT_MS: '60000' },
  });
  try {
    const began = performance.now();
    const reader = await gateway.project({ credits: 1_000 });
    await writeOperatorHistory(gateway.databaseUrl, size);
    say(`${size.entries} entries and ${tasks} tasks written in ${((performance.now() - began) / 1_000).toFixed(0)} s`);
    await gateway.database.query('', 'create extension if not exists pg_stat_statements');
    // The client lists are those of the project with nearly all rows.
    await gateway.database.query('', `update api_key set project_id = $1 where id = $2`, [
      history.project,
      reader.keyId,
    ]);
    const deps = { db: gateway.database, config: testConfig(gateway.env) };
    const { token } = await createAdminToken(deps, { role: 'owner', name: 'bench', expiresAt: null, actor: 'bench' });

    const results = [
      ...(await measureActions(gateway, token, reader.projectId)),
      ...(await measureClientLists(gateway, reader.apiKey)),
    ];
    say(
      `\n${calls} calls each, the first one cold, on ${size.entries} entries, ${tasks} tasks and ${size.projects * size.keys} keys:\n`,
    );
    sayTable(
      readColumns,
      [...Map.groupBy(results, ({ name }) => name.split(', ')[0] ?? name)].map(([action, all]) => lineOf(action, all)),
    );
    const pages = await measurePages(gateway, token);
    say(`\nfrom navigation until the data is shown, ${calls} times each, the first one with an empty cache:\n`);
    sayTable(
      ['Page', 'median ms', 'worst ms'],
      pages.map(({ name, ms }) => [name, median(ms).toFixed(0), Math.max(...ms).toFixed(0)]),
    );
    const refused = results.filter(({ status }) => status !== 200);
    const slow = [...results, ...pages].filter(({ ms }) => Math.max(...ms) > limitMs);
    for (const { name, status } of refused) say(`${name} was answered with ${status}`);
    for (const { name, ms } of slow) say(`${name} took ${Math.max(...ms).toFixed(0)} ms`);
    if (refused.length + slow.length > 0) process.exitCode = 1;
    const worst = (all: readonly { ms: number[] }[]): string => Math.max(...all.flatMap(({ ms }) => ms)).toFixed(0);
    say(
      `reads=${results.length} slowest_read_ms=${worst(results)} slowest_page_ms=${worst(pages)} over_limit=${slow.length} (goal: 0)`,
    );
  } finally {
    await gateway.database.query('', `delete from hold where id like 'task\\_1%'`);
    await gateway.stop();
    await servers.close();
  }
}

/** Every action that reads, and each list also behind a deep cursor and with the longest page. */
async function measureActions(gateway: Gateway, token: string, sealedProject: string): Promise<Measured[]> {
  const results: Measured[] = [];
  for (const read of adminReads(sealedProject)) {
    const path = `/api/admin/v1${pathOf(read)}`;
    const measure = (name: string, own: Record<string, string> = {}): Promise<Measured> =>
      measureRead(gateway, { name, path: withQuery(path, own), token });
    results.push(await measure(read.name));
    const isList = 'after' in read.action.input;
    if (!isList || read.name.includes(',')) continue;
    const deep = await deepCursor(gateway, { path, token });
    if (deep === null) continue;
    results.push(await measure(`${read.name}, deep cursor`, { after: deep }));
    results.push(await measure(`${read.name}, 1,000 rows`, { limit: '1000' }));
  }
  return results;
}

/** The cursor of a page far from the first one; null for a list of one page. */
async function deepCursor(gateway: Gateway, { path, token }: { path: string; token: string }): Promise<string | null> {
  let after: string | null = null;
  for (let step = 0; step < stepsMax; step++) {
    const { body } = await getPage(
      gateway,
      withQuery(path, { limit: String(stepRows), ...(after !== null && { after }) }),
      token,
    );
    const { next_cursor: next } = JSON.parse(body) as { next_cursor: string | null };
    if (next === null) break;
    after = next;
  }
  return after;
}

const measureClientLists = async (gateway: Gateway, apiKey: string): Promise<Measured[]> => {
  const paths = [
    '/api/v1/tasks',
    '/api/v1/tasks?status=failed',
    '/api/v1/tasks?status=queued',
    '/api/v1/tasks?model=none_such',
    `/api/v1/tasks/${history.task(7)}`,
    '/api/v1/ledger',
    `/api/v1/ledger?key_id=${history.key}`,
    '/api/v1/ledger?key_id=none_such',
    '/api/v1/usage',
    '/api/v1/usage?group_by=day',
    '/api/v1/usage?group_by=day&tz=Europe/Berlin',
    '/api/v1/key',
  ];
  const results: Measured[] = [];
  for (const path of paths)
    results.push(
      await measureRead(gateway, { name: `GET ${path.replace(history.task(7), '{id}')}`, path, token: apiKey }),
    );
  return results;
};

/** Opens every page of the console in a new tab: the first time without anything in the cache of the browser. */
async function measurePages(gateway: Gateway, token: string): Promise<{ name: string; ms: number[] }[]> {
  const browser = await startBrowser();
  try {
    const pages = consolePages({ taskId: history.task(7), projectId: history.project, model: history.imageModel });
    const results: { name: string; ms: number[] }[] = [];
    for (const [name, path] of Object.entries(pages)) {
      const context = await browser.newContext();
      const signIn = await context.newPage();
      await signIn.goto(`${gateway.baseUrl}/console/overview#token=${token}`);
      await signIn.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
      await signIn.close();
      const ms: number[] = [];
      for (let call = 0; call < calls; call++)
        ms.push(await timeOfPage(await context.newPage(), `${gateway.baseUrl}/console${path}`));
      results.push({ name, ms });
      await context.close();
    }
    return results;
  } finally {
    await browser.close();
  }
}

/** Milliseconds from the navigation until the heading is there and nothing loads any more. */
async function timeOfPage(page: Page, url: string): Promise<number> {
  const began = performance.now();
  await page.goto(url, { waitUntil: 'commit' });
  await page.locator('h1').first().waitFor();
  await page.locator('main [role=status]:not(:empty)').first().waitFor({ state: 'detached' });
  const ms = performance.now() - began;
  await page.close();
  return ms;
}
