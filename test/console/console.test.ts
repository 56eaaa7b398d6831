import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page, Response } from 'playwright-core';
import { createAdminToken } from '../../src/commands/admin/create-admin-token.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { buildConsole } from '../../scripts/build-console.mjs';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { undocumented } from '../support/undocumented.ts';
import { startBrowser } from './browser.ts';
import { inspect } from './walk.ts';

let gateway: Gateway;
let browser: Browser;
let page: Page;
let project: TestProject;
let token: string;
/** What the browser reported: errors of scripts, and everything that the policy of the page refused. */
const complaints: string[] = [];
/** What each answer of both APIs has beyond their documents, from which the types of the console are made, or lacks. */
const answers: Promise<string | null>[] = [];
/** The bytes of script that the first page took, compressed. */
let scriptBytes = 0;

beforeAll(async () => {
  await buildConsole();
  [gateway, browser] = await Promise.all([startGateway(), startBrowser()]);
  project = await gateway.project({ credits: 100_000 });
  const deps = { db: gateway.database, config: loadConfig(gateway.env) };
  ({ token } = await createAdminToken(deps, { role: 'owner', name: 'Ada', expiresAt: null, actor: 'test' }));
  const context = await browser.newContext();
  page = await context.newPage();
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // The browser itself also reports answers with an error status, which the next listener judges.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load')) complaints.push(message.text());
  });
  page.on('response', (response) => {
    if (response.url().endsWith('.js')) scriptBytes += Number(response.headers()['content-length'] ?? 0);
    if (response.status() >= 400 && !expectedRefusals.test(response.url()))
      complaints.push(`${response.status()} ${response.url()}`);
    if (response.url().includes('/api/')) answers.push(undocumentedIn(response));
  });
});
afterAll(async () => {
  await browser.close();
  await gateway.stop();
});

/** Whether somebody is signed in, and whether the month has a summary. */
const expectedRefusals = /\/(session|summary\?month=[\d-]+)$/;

async function undocumentedIn(response: Response): Promise<string | null> {
  const headers = new Headers(await response.allHeaders());
  // A page that is left no longer has the bodies of its answers.
  const text = /json/.test(headers.get('content-type') ?? '') ? await response.text().catch(() => null) : null;
  return undocumented({
    method: response.request().method(),
    url: response.url(),
    status: response.status(),
    headers,
    text,
  });
}

const open = async (path: string): Promise<void> => {
  await page.goto(`${gateway.baseUrl}/console${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
};
const press = (name: string | RegExp): Promise<void> => page.getByRole('button', { name }).first().click();
/** Presses a button of the open dialog. */
const confirm = (name: string): Promise<void> => page.getByRole('dialog').getByRole('button', { name }).click();

describe('the console', () => {
  it('lets a newcomer open the address of the banner, press Generate and see a picture', async () => {
    await open(`/playground#token=${token}`);
    await press('Generate');
    await page.locator('img.media').waitFor();
    const decoded =
      "document.querySelector('img.media').decode().then(() => document.querySelector('img.media').naturalWidth)";
    expect(await page.evaluate(decoded)).toBe(1_024);
    expect(page.url()).not.toContain('adm_');
    expect(scriptBytes).toBeGreaterThan(0);
    expect(scriptBytes).toBeLessThan(350_000);
    expect(await inspect(page, 'playground')).toEqual([]);
  });

  it('streams the answer of a chat model, and shows what it cost', async () => {
    await open('/playground?model=gpt-5-mini');
    await press('Send');
    await page.getByText(/\d credits? · \d+ tokens/).waitFor();
    expect(await inspect(page, 'playground-chat')).toEqual([]);
  });

  it('creates a project, credits and a key, whose secret it shows once', async () => {
    await open('/projects');
    await press('New project');
    await page.getByRole('textbox', { name: 'Name' }).fill('Northern lights');
    await confirm('Create');
    await page.getByText(/^whsec_/).waitFor();
    expect(await inspect(page, 'secret')).toEqual([]);
    await confirm('I have copied it');
    await page.getByRole('heading', { name: 'Northern lights' }).waitFor();
    await press('Add credits');
    await page.getByRole('textbox', { name: 'Reference' }).fill('invoice 7');
    await confirm('Add');
    await page.getByText('1,000', { exact: true }).waitFor();
    await press('New key');
    await confirm('Create');
    const secret = await page.getByText(/^sk-/).textContent();
    await confirm('I have copied it');
    await page.getByText('Active').first().waitFor();
    const models = await fetch(`${gateway.baseUrl}/api/v1/key`, { headers: { authorization: `Bearer ${secret}` } });
    expect(await models.json()).toMatchObject({ balance: { available: 1_000 } });
  });

  it('tests a channel, and takes it out of service after asking', async () => {
    await open('/channels');
    await press('Test sandbox-a');
    await page.getByText('Answers and accepts the credential').waitFor();
    await press('Actions for sandbox-c');
    await page.getByRole('menuitem', { name: 'Drain and disable' }).click();
    await confirm('Disable');
    await page.getByText('sandbox-c is disabled.').waitFor();
  });

  it('shows every page without a violation of accessibility, at desktop and phone width, light and dark', async () => {
    const taskId = await gateway.accept(project.apiKey, '/api/v1/images/generate', {
      model: 'aurora-image-1',
      prompt: 'a paper boat',
    });
    await gateway.poll(project.apiKey, taskId);
    const pages = {
      overview: '/overview',
      tasks: '/tasks',
      task: `/tasks/${taskId}`,
      models: '/models',
      model: '/models/aurora-image-1',
      channels: '/channels',
      projects: '/projects',
      project: `/projects/${project.projectId}`,
      deliveries: '/deliveries',
      audit: '/audit',
      jobs: '/jobs',
      summaries: '/summaries',
    };
    const problems: string[] = [];
    for (const [name, path] of Object.entries(pages)) {
      await open(path);
      await page
        .getByRole('status')
        .first()
        .waitFor({ state: 'detached' })
        .catch(() => undefined);
      problems.push(...(await inspect(page, name)));
    }
    expect(problems).toEqual([]);
  });

  it('signs out, and then shows nothing but the sign-in page', async () => {
    await open('/tasks');
    await press(/Signed in as/);
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Tollgate' }).waitFor();
    expect(await inspect(page, 'sign-in')).toEqual([]);
    await page.getByRole('textbox', { name: 'Admin token' }).fill('adm_wrong');
    await press('Sign in');
    await page.getByRole('alert').waitFor();
  });

  it('runs without an error of a script, and loads nothing that its policy refuses', () => {
    expect(complaints).toEqual([]);
  });

  it('is answered as the OpenAPI documents say', async () => {
    const found = await Promise.all(answers);
    expect(found.length).toBeGreaterThan(50);
    expect(found.filter((sentence) => sentence !== null)).toEqual([]);
  });
});
