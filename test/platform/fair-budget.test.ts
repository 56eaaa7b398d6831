import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { GatewayError } from '../../src/domain/errors.ts';
import { createFairBudget, type Share } from '../../src/platform/fair-budget.ts';

const budgetOf = (total: number) => createFairBudget({ total, message: 'full', retryAfterSeconds: 7 });

/** Steps of up to five owners: each takes an amount with a new share, or releases the share of an earlier step. */
const steps = fc.array(
  fc.record({
    owner: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    amount: fc.integer({ min: 0, max: 40 }),
    release: fc.nat(30),
  }),
  { maxLength: 120 },
);

describe('a fair budget', () => {
  it('refuses exactly what does not fit, and what gives an owner over a quarter while under a quarter is free', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), steps, (total, all) => {
        const budget = budgetOf(total);
        const shares: { owner: string; amount: number; share: Share }[] = [];
        const held = (owner?: string): number =>
          shares.filter((one) => owner === undefined || one.owner === owner).reduce((sum, one) => sum + one.amount, 0);
        for (const { owner, amount, release } of all) {
          const free = total - held();
          const fits = amount <= free && (held(owner) + amount <= total / 4 || free >= total / 4);
          const share = budget.open(owner);
          expect(share.mayTake(amount)).toBe(fits);
          if (fits) shares.push({ owner, amount, share });
          for (const one of shares.splice(release, 1)) one.share.release();
          expect(held()).toBeLessThanOrEqual(total);
        }
        for (const { share } of shares) share.release();
        expect(budget.open('a').mayTake(total)).toBe(true);
      }),
    );
  });

  it('leaves a quarter to others, less what the last step took, however much one owner asks for', () => {
    fc.assert(
      fc.property(fc.integer({ min: 8, max: 1_000 }), fc.array(fc.integer({ min: 1, max: 20 })), (total, amounts) => {
        const budget = budgetOf(total);
        const greedy = budget.open('greedy');
        for (const amount of amounts) greedy.mayTake(amount);
        while (greedy.mayTake(1)) continue;
        const modest = budget.open('modest');
        let got = 0;
        while (modest.mayTake(1)) got += 1;
        expect(got).toBeGreaterThanOrEqual(Math.floor(total / 4) - Math.max(1, ...amounts));
      }),
    );
  });

  it('refuses as overloaded with a time to wait, and tells a full budget from a project above its share', () => {
    const budget = budgetOf(4);
    for (const _ of [1, 2, 3]) budget.open('a').take(1);
    budget.open('b').take(1);
    const refusal = (take: () => void): Partial<GatewayError> => {
      try {
        take();
      } catch (error) {
        if (error instanceof GatewayError) return error;
      }
      throw new Error('expected a refusal');
    };
    expect(refusal(() => budget.open('c').take(1))).toMatchObject({
      code: 'overloaded',
      message: 'full',
      retryAfterSeconds: 7,
    });
    const wide = budgetOf(100);
    wide.open('a').take(76);
    expect(refusal(() => wide.open('a').take(1)).message).toContain('more than its share');
  });

  it('gives a share back once', () => {
    const budget = budgetOf(4);
    const share = budget.open('a');
    share.take(4);
    share.release();
    share.release();
    expect(budget.open('b').mayTake(5)).toBe(false);
    expect(budget.open('b').mayTake(4)).toBe(true);
  });
});
