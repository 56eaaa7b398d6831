import { expect, it } from '@jest/globals';
import { chatEndReasons } from '../../../src/domain/chat/chat-end-reason.ts';
import { customerSentence, type EndedRequest } from '../../../src/domain/requests/customer-sentence.ts';
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

it('has a sentence for every reason', () => {
  for (const reason of [...chatEndReasons, ...(Object.keys(taskErrorTable) as TaskErrorCode[])])
    expect(customerSentence({ ...request, reason })).toMatch(new RegExp(`: .{10,} \\(${reason}\\)\\.$`));
});
