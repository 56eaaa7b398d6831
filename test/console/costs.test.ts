import { describe, expect, it } from '@jest/globals';
import { cost, margin } from '../../console/src/ui/format.ts';
import { totalBy } from '../../console/src/pages/summary-lines.ts';
import { failedOf, succeededOf } from '../../console/src/pages/usage/usage-view.ts';

describe('the console', () => {
  it.each([
    [0, 0, '$0.00', '$0.00'],
    [1_500_000, 0, '$1.50', '$1.50'],
    [0, 1, 'Unknown', 'at most $0.00'],
    [1_500_000, 2, 'at least $1.50 · 2 unknown', 'at most $1.50'],
  ])(
    'says a cost of %d with %d unknown ones as "%s", and such a margin as "%s"',
    (micro, unknown, asCost, asMargin) => {
      expect([cost(micro, unknown), margin(micro, unknown)]).toEqual([asCost, asMargin]);
    },
  );

  it('counts requests that a client left neither as successes nor as failures', () => {
    const row = { succeeded: 10, failed: 5, refused: 2, left: 4, left_charged: 3 };
    expect([succeededOf(row), failedOf(row)]).toEqual([7, 4]);
  });

  it('adds up unknown costs and clients that left with the other sums of a month', () => {
    const sums = { requests: 9, successes: 6, failures: 3, left: 2, left_charged: 1, credits_charged: 50 };
    const money = { cost_micro_usd: 30, unknown_costs: 1, margin_micro_usd: 20 };
    const tokens = { input_tokens: 0, output_tokens: 0, cached_input_tokens: 0, reasoning_tokens: 0 };
    const written = { cache_write_tokens: 0, cache_write_1h_tokens: 0 };
    const row = {
      ...sums,
      ...money,
      ...tokens,
      ...written,
      project_id: 'prj_1',
      project_name: 'Shop',
      plan: null,
      channel_id: '',
      channel: null,
    };
    const rows = ['a', 'b', 'a'].map((model) => ({ ...row, model }));
    const both = { requests: 18, successes: 12, left: 4, left_charged: 2, unknown_costs: 2, cost_micro_usd: 60 };
    expect(totalBy(rows, 'model').find(({ name }) => name === 'a')).toMatchObject(both);
    expect(rows[0]).toMatchObject({ requests: 9 });
  });
});
