import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { adjustCredits } from '../../../src/services/ledger/adjust-credits.ts';
import type { ChatAdmissionRequest, ChatLedger } from '../../../src/db/chat/chat-ledger.ts';
import { insertAdjustment } from '../../../src/db/ledger/credits.ts';
import { cli } from '../../../src/main/cli.ts';
import { anAdmission, openChatLedger, refundFacts, settledEnd } from '../../db/chat-books.ts';
import { startAdminHome, type AdminHome } from '../../http/admin/admin-home.ts';
import { commandLine } from '../../support/command-line.ts';
import { createOperator, type TestProject } from '../../support/operator.ts';

let home: AdminHome;
let token: string;
let project: TestProject;
let chats: ChatLedger;
let whole: ChatAdmissionRequest;
let refunded: ChatAdmissionRequest;
let running: ChatAdmissionRequest;

beforeAll(async () => {
  home = await startAdminHome();
  ({ token } = await home.token('viewer'));
  project = await createOperator(home.db, home.settings).project({ credits: 100 });
  chats = openChatLedger(home.db);
  const admit = async (credits: number): Promise<ChatAdmissionRequest> => {
    const admission = anAdmission(project, { credits });
    await chats.admit(admission);
    return admission;
  };
  whole = await admit(10);
  await chats.end({ ...settledEnd(whole, 4), inputTokens: 120, outputTokens: 30, costMicroUsd: 77 });
  refunded = await admit(5);
  const attempt = {
    attemptId: refundFacts(refunded).attempt?.attemptId ?? '',
    outcome: 'transient' as const,
    errorClass: 'rate_limit',
    status: 429,
    detail: 'HTTP 429 rate_limit_exceeded',
  };
  await chats.refund('upstream_rate_limited', { ...refundFacts(refunded), attempt });
  running = await admit(3);
});
afterAll(() => home?.drop());

const { done, refused } = commandLine(() => home.settings);
/** What the command prints for people. */
async function textOf(...args: string[]): Promise<string> {
  const written: string[] = [];
  expect(await cli(args, home.settings, (text) => written.push(text))).toBe(0);
  return written.join('');
}

describe('tollgate chats show', () => {
  it('says why a chat was refunded, and which calls were made for it', async () => {
    const { requestId } = refunded;
    const shown = await done('chats', 'show', requestId);
    expect(shown).toMatchObject({
      request_id: requestId,
      project_id: project.projectId,
      key_id: project.keyId,
      model: 'model-a',
      outcome: 'refunded',
      reason: 'upstream_rate_limited',
      input_tokens: null,
      output_tokens: null,
      channels: ['channel-a'],
      explanation:
        'The last channel that was called was over the rate limit of its provider. The hold of 5 credits was given back, and nothing was charged.',
      credits: { reserved: 5, charged: 0, refunded: 5 },
      created_at: expect.any(Number),
      cost_micro_usd: 0,
      took_ms: expect.any(Number),
      expires_at: null,
      attempts_detail: [
        {
          n: 1,
          channel: 'channel-a',
          outcome: 'transient',
          error_class: 'rate_limit',
          status: 429,
          detail: 'HTTP 429 rate_limit_exceeded',
        },
      ],
      ledger: [{ kind: 'refund', request_id: requestId, reason: 'upstream_rate_limited' }],
    });
    const text = await textOf('chats', 'show', requestId);
    expect(text).toMatch(/^The last channel that was called was over the rate limit of its provider\./);
    expect(text).toMatch(/HTTP 429 rate_limit_exceeded/);
  });

  it('shows the only call of a chat that succeeded at first, and what was given back later', async () => {
    const { requestId } = whole;
    await adjustCredits(home, { requestId, amount: 1, reason: 'sorry', actor: 'test' });
    expect(await done('chats', 'show', requestId)).toMatchObject({
      outcome: 'succeeded',
      reason: null,
      cost_micro_usd: 77,
      explanation: 'The chat ended with an answer. 4 credits of 10 held were charged. 1 credit was given back later.',
      input_tokens: 120,
      output_tokens: 30,
      usage_estimated: false,
      credits: { reserved: 10, charged: 4, refunded: 1 },
      attempts_detail: [{ n: 1, channel: 'chn_a', outcome: 'ok', cost_micro_usd: 77, detail: null }],
      ledger: [{ kind: 'adjust', reference: 'sorry', reason: null }, { kind: 'settle' }],
    });
  });

  it.each(['chatcmpl-', 'msg_', 'resp_'])('finds a chat by the id of its answer with the prefix %s', async (prefix) => {
    const { requestId } = whole;
    expect(await done('chats', 'show', requestId.replace('req_', prefix))).toMatchObject({ request_id: requestId });
  });

  it('shows a chat that runs with the end of its hold', async () => {
    expect(await done('chats', 'show', running.requestId)).toMatchObject({
      outcome: 'running',
      reason: null,
      ended_at: null,
      took_ms: null,
      expires_at: expect.any(Number),
      attempts_detail: [{ n: 1, channel: 'channel-a', outcome: null, ended_at: null }],
      ledger: [],
    });
  });

  it('refuses a request whose credits were never held, and the id of a task', async () => {
    expect(await refused('chats', 'show', 'req_nobody')).toMatch(/^There is no chat req_nobody\. .* search the logs/);
    expect(await refused('chats', 'show', 'task_1')).toMatch(/^task_1 is a task\./);
  });
});

describe('tollgate chats list', () => {
  const idsOf = async (...options: string[]): Promise<unknown[]> => {
    const { data } = await done('chats', 'list', '--project', project.projectId, ...options);
    return (data as { request_id: string }[]).map(({ request_id: id }) => id);
  };

  it('lists those that run first, and filters by outcome, reason, key, model and time', async () => {
    expect(await idsOf()).toEqual([running.requestId, refunded.requestId, whole.requestId]);
    expect(await idsOf('--outcome', 'succeeded')).toEqual([whole.requestId]);
    expect(await idsOf('--reason', 'upstream_rate_limited', '--key', project.keyId)).toEqual([refunded.requestId]);
    expect(await idsOf('--model', 'model-b')).toEqual([]);
    expect(await idsOf('--outcome', 'incomplete')).toEqual([]);
    expect(await idsOf('--created-before', '2030-01-31T12:00:00Z')).toHaveLength(3);
    // Spans are counted back from now.
    expect(await idsOf('--created-after', '1h')).toHaveLength(3);
    expect(await idsOf('--created-before', '1h')).toEqual([]);
  });

  const giveBacks = {
    'this release': (chat) => chats.giveBack(settledEnd(chat, 4)),
    '0.2.0': ({ requestId }) =>
      insertAdjustment(home.db, { requestId, amount: 4, reason: 'the answer was not delivered', actor: 'test' }),
  } satisfies Record<string, (chat: ChatAdmissionRequest) => Promise<unknown>>;
  it.each(Object.entries(giveBacks))(
    'has a chat that %s charged and gave back among those that were not delivered',
    async (_release, giveBack) => {
      const other = await createOperator(home.db, home.settings).project({ credits: 10 });
      const admission = anAdmission(other, { credits: 10 });
      await chats.admit(admission);
      await chats.end(settledEnd(admission, 4));
      await giveBack(admission);
      const shown = {
        request_id: admission.requestId,
        outcome: 'succeeded',
        reason: 'not_delivered',
        credits: { reserved: 10, charged: 4, refunded: 4 },
      };
      const found = await done('chats', 'list', '--project', other.projectId, '--reason', 'not_delivered');
      expect(found).toMatchObject({ data: [shown] });
      expect(await done('chats', 'list', '--project', other.projectId, '--reason', 'client_left')).toMatchObject({
        data: [],
      });
      expect(await done('chats', 'show', admission.requestId)).toMatchObject({
        ...shown,
        explanation: expect.stringMatching(/^The answer was not delivered, .* 4 credits were given back later\.$/),
        ledger: [{ kind: 'adjust', reference: null, reason: 'not_delivered' }, { kind: 'settle' }],
      });
    },
  );

  it('continues after a cursor, and shows people a line for each', async () => {
    const text = await textOf('chats', 'list', '--limit', '1', '--outcome', 'refunded');
    expect(text).toMatch(/upstream_rate_limited/);
    for (const list of ['chats', 'requests']) {
      const [headings = '', ...lines] = (await textOf(list, 'list', '--project', project.projectId)).split('\n');
      expect(headings).toMatch(/PROJECT +KEY +MODEL .* TOKENS +CHARGED +REFUNDED +COST_USD +CREATED_AT +TOOK_MS$/);
      expect(lines.find((line) => line.startsWith(whole.requestId))).toMatch(/ 120\+30 .* 0\.000077 /);
    }
    const first = await home.ask(token, 'GET', '/chats?limit=1');
    expect(first.body).toMatchObject({ data: [{ request_id: running.requestId }], has_more: true });
    expect(await idsOf('--after', String(first.body['next_cursor']))).toEqual([refunded.requestId, whole.requestId]);
  });
});

describe('the admin API', () => {
  it('answers a viewer as the command line does', async () => {
    const { requestId } = refunded;
    const { status, body } = await home.ask(token, 'GET', `/chats/${requestId}`);
    expect({ status, body }).toEqual({ status: 200, body: await done('chats', 'show', requestId) });
    const { data } = await done('chats', 'list');
    expect((await home.ask(token, 'GET', '/chats')).body).toMatchObject({ object: 'list', data, has_more: false });
    expect((await home.ask(token, 'GET', '/chats/req_nobody')).status).toBe(404);
    expect((await home.ask(token, 'GET', '/chats?outcome=lost')).status).toBe(400);
  });
});
