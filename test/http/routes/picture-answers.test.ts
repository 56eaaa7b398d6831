import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { AppContext } from '../../../src/http/context.ts';
import { refusalResult } from '../../../src/http/mcp/tool-result.ts';
import type { Route } from '../../../src/http/route.ts';
import { pictureWaitSeconds } from '../../../src/http/routes/picture-answers.ts';
import { goodKey, startFrame, type Frame } from '../support.ts';

describe('a request that waits for its pictures', () => {
  const actions = ['generateContent', 'streamGenerateContent', 'predict'].map((action) => `models/m:${action}`);
  it.each([
    '/v1/images/generations',
    '/v1/images/edits',
    ...['/v1', '/v1beta'].flatMap((prefix) => actions.map((action) => `${prefix}/${action}`)),
    '/v1beta1/publishers/google/models/m:predict',
  ])('to %s is answered before proxies cut it', (path) => {
    expect([pictureWaitSeconds(path, 120), pictureWaitSeconds(path, 60)]).toEqual([85, 60]);
  });

  it.each(['/api/v1', '/api/v1beta'])('under %s waits as configured', (prefix) => {
    for (const action of actions) expect(pictureWaitSeconds(`${prefix}/${action}`, 120)).toBe(120);
  });
});

/** A route whose handler fails after it has created a task, and which is no create itself: it may also answer a chat. */
const failing = (path: string, fail: (ctx: AppContext) => void): Route => ({
  method: 'POST',
  path,
  auth: 'api_key',
  scopes: ['media'],
  dialect: 'gemini',
  body: 'none',
  handler(ctx) {
    ctx.state.acceptedTaskId = 'task_1';
    fail(ctx);
    return Promise.resolve();
  },
});

describe('an internal error after the task of a request was accepted', () => {
  let frame: Frame;
  beforeAll(async () => {
    const failure = new Error('unexpected');
    frame = await startFrame({
      routes: [
        failing('/pictures', () => {
          throw failure;
        }),
        failing('/tools', (ctx) => {
          ctx.body = refusalResult({ logger: pino({ enabled: false }) }, ctx, failure);
        }),
      ],
    });
  });
  afterAll(() => frame.close());
  const send = (path: string) =>
    fetch(frame.url + path, { method: 'POST', headers: { authorization: `Bearer ${goodKey}` } });

  it('names the task on a route that is no create by itself, so that no client buys a second one', async () => {
    const answer = await send('/pictures');
    const { headers } = answer;
    expect([answer.status, headers.get('x-tollgate-accepted'), headers.get('x-should-retry')]).toEqual([
      500,
      'yes',
      'false',
    ]);
    expect(await answer.text()).toContain('The task task_1 was accepted');
  });

  it('names the task in the result of a tool', async () => {
    const text = await (await send('/tools')).text();
    expect(text).toContain('The task task_1 was accepted');
    expect(text).toContain('\\"task_id\\":\\"task_1\\"');
  });
});
