import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { startBrowser } from '../console/browser.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { startClientPage, type ClientPage } from './client-page.ts';

/** Tests of the built `packages/tollgate-js` in Chromium, as a module of a page without a bundler. */
describe('tollgate-js in a page', () => {
  let browser: Browser;
  let page: Page;
  let gateway: Gateway;
  let clientPage: ClientPage;
  let project: TestProject;
  beforeAll(async () => {
    clientPage = await startClientPage();
    [gateway, browser] = await Promise.all([
      startGateway({ env: { RATE_LIMIT_REST_SECONDS: '12', CORS_ORIGINS: clientPage.origin } }),
      startBrowser(),
    ]);
    project = await gateway.project({ credits: 1_000 });
    page = await browser.newPage();
    page.setDefaultTimeout(120_000);
    await page.exposeFunction('goOn', () => gateway.kill('worker-1', 'SIGCONT'));
  });
  afterAll(async () => {
    await browser?.close();
    await clientPage?.close();
    await gateway?.stop();
  });

  /** Runs the body of an asynchronous function in the page, with a client and a request for a picture. */
  const run = (body: string, options: object = {}): Promise<unknown> => {
    const settings = { baseUrl: gateway.baseUrl, apiKey: project.apiKey, ...options };
    return page.evaluate(`(async () => {
      const { Tollgate, TollgateConnectionError, TollgateError } = await import('/tollgate-js/browser.js');
      const tollgate = new Tollgate(${JSON.stringify(settings)});
      const fox = { model: 'aurora-image-1', prompt: 'a red fox on a page' };
      ${body}
    })()`);
  };

  it('creates a picture, follows its events to the end, waits for another and shows it', async () => {
    await page.goto(clientPage.origin);
    // The first task cannot end before its first event has come.
    await gateway.kill('worker-1', 'SIGSTOP');
    const seen = await run(`
      const created = await tollgate.create('image', fox);
      const events = [];
      for await (const { type, task } of tollgate.events(created.task_id)) {
        events.push(type, task.task_id === created.task_id);
        await goOn();
      }
      const task = await tollgate.createAndWait('image', fox);
      const picture = new Image();
      picture.src = task.output[0].url;
      await picture.decode();
      return { first: events[0], last: events.at(-2), isSame: events.at(-1), status: task.status, width: picture.naturalWidth };
    `);
    expect(seen).toEqual({
      first: 'task.updated',
      last: 'task.succeeded',
      isSame: true,
      status: 'succeeded',
      width: expect.any(Number),
    });
  });

  it('reads what the gateway refuses, with the field and the id of the request', async () => {
    const seen = await run(`
      const error = await tollgate.create('image', { ...fox, img_size: '9k' }).catch((thrown) => thrown);
      return { isRefusal: error instanceof TollgateError, ...error };
    `);
    expect(seen).toMatchObject({
      isRefusal: true,
      status: 400,
      code: 'invalid_value',
      field: 'img_size',
      requestId: expect.stringMatching(/^req_/),
    });
  });

  it('gets no answer on a page whose origin the operator does not name', async () => {
    await page.goto(clientPage.origin.replace('127.0.0.1', 'localhost'));
    const seen = await run(
      `return tollgate.quote('image', fox).catch((error) => error instanceof TollgateConnectionError);`,
      { retriesMax: 0 },
    );
    expect(seen).toBe(true);
  });
});
