import type { Browser, Locator, Page, Response } from 'playwright-core';
import { eventually } from '../support/eventually.ts';
import { undocumented } from '../support/undocumented.ts';
import { inspect, sizes } from './walk.ts';

/** A person at the console: what they press and read, and what the browser reported meanwhile. */
export interface Visit {
  page: Page;
  /** Opens a page below `/console` and waits for its heading. */
  open(path: string): Promise<void>;
  /** Opens a page by the menu, and waits for its heading. */
  go(name: string): Promise<void>;
  /** Chooses an option of a field that opens a list, in the dialog if there is one. */
  pick(label: string, option: string): Promise<void>;
  /** The first button with this name. */
  button(name: string | RegExp): Locator;
  press(name: string | RegExp): Promise<void>;
  /** Opens a menu and presses one of its items. */
  choose(menu: string, item: string): Promise<void>;
  /** The open dialog. */
  dialog: Locator;
  /** Types into a field of the open dialog, or of the page if there is none. */
  fill(label: string, text: string): Promise<void>;
  /** Presses a button of the open dialog. */
  confirm(name: string): Promise<void>;
  /** Waits for what the console says after an action. It goes away by itself. */
  hear(text: string | RegExp): Promise<void>;
  /** Waits for what the console says after an action, and puts it away. */
  awaitMessage(text: string | RegExp): Promise<void>;
  /** Keeps pictures of the page or its dialog, and notes what is wrong with them. */
  picture(name: string): Promise<void>;
  /** What is wrong with the pictures. */
  problems: string[];
  /** Errors of scripts, what the policy of the page refused, and answers with an error that no test expected. */
  complaints: string[];
  /** Reads that a loaded machine refused with 503 and that the console, which asks again, has no answer to yet. */
  refusedReads: Set<string>;
  /** What each answer of both APIs has beyond their documents, from which the types of the console are made, or lacks. */
  answers: Promise<string | null>[];
  /** Every request that changes something, as `POST /projects`, below the prefix of the admin API. */
  changes: string[];
  /** The bytes of script that were loaded, compressed. */
  scriptBytes(): number;
}

/** Whether somebody is signed in, a person without a role, and whether the month has a summary. */
const expectedRefusals = /\/(session|session\/oidc\/callback\?.*|summary\?month=[\d-]+)$/;

function noteStatus(response: Response, complaints: string[], refusedReads: Set<string>): void {
  const [method, url, status] = [response.request().method(), response.url(), response.status()];
  if (status < 400) refusedReads.delete(url);
  else if (status === 503 && method === 'GET' && url.includes('/api/admin/')) refusedReads.add(url);
  else if (!expectedRefusals.test(url)) complaints.push(`${status} ${method} ${url}`);
}

export async function startVisit(browser: Browser, baseUrl: string): Promise<Visit> {
  const context = await browser.newContext({ viewport: sizes.desktop, reducedMotion: 'reduce' });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: baseUrl });
  await context.addInitScript({ content: noteAlerts });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const problems: string[] = [];
  const complaints: string[] = [];
  const changes: string[] = [];
  const answers: Promise<string | null>[] = [];
  const refusedReads = new Set<string>();
  let scriptBytes = 0;
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // The browser itself also reports answers with an error status, which the next listener judges.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load')) complaints.push(message.text());
  });
  page.on('request', (request) => {
    const [, path] = request.url().split('/api/admin/v1');
    if (path !== undefined && request.method() !== 'GET') changes.push(`${request.method()} ${path}`);
  });
  page.on('response', (response) => {
    if (response.url().endsWith('.js')) scriptBytes += Number(response.headers()['content-length'] ?? 0);
    noteStatus(response, complaints, refusedReads);
    // An answer that the browser had and only asked about (304) comes without its headers.
    const isWhole = response.headers()['content-type'] !== undefined;
    if (isWhole && response.url().includes('/api/')) answers.push(undocumentedIn(response));
  });
  const dialog = page.getByRole('dialog');
  const button = (name: string | RegExp): Locator => page.getByRole('button', { name, exact: true }).first();
  return {
    page,
    dialog,
    button,
    problems,
    complaints,
    refusedReads,
    changes,
    answers,
    scriptBytes: () => scriptBytes,
    async open(path) {
      // The console that asks again is gone with its document.
      refusedReads.clear();
      await page.goto(`${baseUrl}/console${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
    },
    async go(name) {
      await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
    },
    async pick(label, option) {
      const container = (await dialog.isVisible()) ? dialog : page;
      const named = { name: label, exact: true };
      await container.getByRole('combobox', named).or(container.getByRole('textbox', named)).first().click();
      await page.getByRole('option', { name: option, exact: true }).click();
    },
    press: (name) => button(name).click(),
    async choose(menu, item) {
      await button(menu).click();
      await page.getByRole('menuitem', { name: item }).click();
    },
    async fill(label, text) {
      const container = (await dialog.isVisible()) ? dialog : page;
      if (container === dialog) await hasOpened(dialog);
      // The label of a required field has a mark that is no part of its name, and a password is no textbox.
      const named = container
        .getByRole('textbox', { name: label, exact: true })
        .or(container.locator('input[type=password]'));
      await named.first().fill(text);
    },
    confirm: (name) => dialog.getByRole('button', { name, exact: true }).last().click(),
    hear: (text) => hear(page, text),
    awaitMessage: (text) => awaitMessage(page, text),
    async picture(name) {
      problems.push(...(await inspect(page, name)));
    },
  };
}

/**
 * A dialog takes the focus a moment after it has opened, and a text goes to what has the focus. A dialog whose button is at work may have none,
 * so this does not wait for long.
 */
const hasOpened = (dialog: Locator): Promise<void> =>
  dialog
    .locator(':focus')
    .waitFor({ timeout: 1_000 })
    .catch(() => undefined);

/** Keeps the text of each message, because a message goes away after four seconds, in which a busy machine may not have looked. */
const noteAlerts = `(() => {
  window.alerts = [];
  const alert = '[role=alert]';
  new MutationObserver((changes) => {
    for (const added of changes.flatMap(({ addedNodes }) => [...addedNodes]).filter((node) => node instanceof Element))
      window.alerts.push(...[...(added.matches(alert) ? [added] : []), ...added.querySelectorAll(alert)].map((one) => one.textContent));
  }).observe(document, { childList: true, subtree: true });
})()`;

/** Waits until this document has shown a message with this text, once for each. */
async function hear(page: Page, text: string | RegExp): Promise<void> {
  const pattern = typeof text === 'string' ? new RegExp(text.replace(/[$.?*+^()[\]{}|\\]/g, '\\$&'), 'i') : text;
  const taken = `(() => {
    const index = window.alerts.findIndex((each) => ${String(pattern)}.test(each));
    return index >= 0 && window.alerts.splice(index, 1).length > 0;
  })()`;
  await eventually(() => page.evaluate<boolean>(taken).catch(() => false), { what: `the message ${String(text)}` });
}

/** Hears a message and puts it away. It may have gone away by itself. */
async function awaitMessage(page: Page, text: string | RegExp): Promise<void> {
  await hear(page, text);
  const note = page.getByRole('alert').filter({ hasText: text });
  for (const close of await note.getByRole('button', { name: 'Close' }).all())
    await close.dispatchEvent('click', {}, { timeout: 1_000 }).catch(() => undefined);
  await note.first().waitFor({ state: 'detached' });
}

async function undocumentedIn(response: Response): Promise<string | null> {
  // `allHeaders` also has the cookies, but nothing once the page was left or closed.
  const sent = Object.entries({ ...response.headers(), ...(await response.allHeaders().catch(() => ({}))) });
  // Several cookies come as lines of one header.
  const headers = new Headers(sent.map(([name, value]): [string, string] => [name, value.replaceAll('\n', ', ')]));
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
