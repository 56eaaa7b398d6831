import { expect, it } from '@jest/globals';
import { chatEndReasons } from '../../../src/domain/chat/chat-end-reason.ts';
import { errorTable, type ErrorCode } from '../../../src/domain/errors.ts';
import {
  customerSentence,
  refusalSentence,
  type EndedRequest,
} from '../../../src/domain/requests/customer-sentence.ts';
import { taskErrorTable, type TaskErrorCode } from '../../../src/domain/tasks/task.ts';

const request: EndedRequest = {
  id: 'req_1',
  noun: 'chat',
  model: 'gpt-5-mini',
  startedAt: 1_800_000_000,
  isRunning: false,
  reason: null,
  charged: 12,
};
const about = 'Your chat request req_1 to gpt-5-mini of 2027-01-15 08:00:00 UTC';

it.each<[Partial<EndedRequest>, string]>([
  [{}, `${about} succeeded and cost 12 credits.`],
  [{ charged: 1 }, `${about} succeeded and cost 1 credit.`],
  [{ isRunning: true, charged: 0 }, `${about} is still running.`],
  [
    { reason: 'content_policy_violation', charged: 0 },
    `${about} ended early and cost nothing: the provider's content policy refused the request (content_policy_violation).`,
  ],
  [
    { reason: 'canceled', charged: 0, noun: 'video', id: 'task_1' },
    'ended early and cost nothing: the task was canceled (canceled).',
  ],
])('tells a customer of %j in one sentence', (own, sentence) => {
  expect(customerSentence({ ...request, ...own })).toContain(sentence);
});

const reasons = [...new Set([...chatEndReasons, ...(Object.keys(taskErrorTable) as TaskErrorCode[])])];
/** How the gateway is made, which no customer should need to know. */
const inner = /\bchannels?\b|API server|ledger|\bholds?\b|reservation|database|worker|the log\b/i;

it.each(reasons)('has one sentence without inner words for a request that ended as %s, charged or not', (reason) => {
  for (const [charged, cost] of [
    [0, 'cost nothing'],
    [7, 'cost 7 credits'],
  ] as const) {
    const sentence = customerSentence({ ...request, reason, charged });
    expect(sentence).toMatch(new RegExp(`^Your chat request .* ended early and ${cost}: .{10,} \\(${reason}\\)\\.$`));
    expect(sentence).not.toMatch(inner);
  }
});

const refused = { id: 'req_1', model: 'gpt-5-mini', startedAt: request.startedAt, status: 400 };
it.each(Object.keys(errorTable) as ErrorCode[])(
  'has one without inner words for a request refused as %s',
  (errorCode) => {
    const sentence = refusalSentence({ ...refused, errorCode });
    expect(sentence).toMatch(
      new RegExp(`^Your request req_1 .* was refused and cost nothing: .{10,} \\(${errorCode}\\)\\.$`),
    );
    expect(sentence).not.toMatch(inner);
  },
);

it('tells a request that was answered without an error or without a known model', () => {
  const about = 'Your request req_1 of 2027-01-15 08:00:00 UTC';
  expect(refusalSentence({ ...refused, model: null, errorCode: null, status: 200 })).toBe(
    `${about} was answered and cost nothing.`,
  );
  expect(refusalSentence({ ...refused, model: null, errorCode: null, status: 503 })).toBe(
    `${about} was refused and cost nothing: it was answered with the status 503.`,
  );
});
