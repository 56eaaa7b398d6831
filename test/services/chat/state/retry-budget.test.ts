import { describe, expect, it } from '@jest/globals';
import { createRetryBudget } from '../../../../src/services/chat/state/retry-budget.ts';

describe('the budget of retries', () => {
  it('allows the floor or a share of the requests in the last minute, and more once the minute is over', () => {
    let now = 0;
    const budget = createRetryBudget({ floor: 2, share: 0.5 }, () => now);
    const taken = (): number => [...'abcdefgh'].filter((projectId) => budget.take(projectId)).length;
    expect(taken()).toBe(2);
    for (let requests = 0; requests < 12; requests += 1) budget.note();
    expect(taken()).toBe(4);
    now = 90_000;
    // Half of the twelve requests and of the six retries still counts.
    expect(taken()).toBe(0);
    now = 200_000;
    expect(taken()).toBe(2);
  });

  it('leaves retries to other projects, however often the chats of one project fail', () => {
    const budget = createRetryBudget({ floor: 20, share: 0.2 }, () => 0);
    const retries = (projectId: string): number =>
      Array.from({ length: 100 }, () => budget.take(projectId)).filter(Boolean).length;
    expect(retries('prj_1')).toBe(16);
    expect(retries('prj_2')).toBe(4);
  });
});
