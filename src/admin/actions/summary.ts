import { tokenCounts } from '../../domain/catalog/token-counts.ts';
import { worth, type CreditMoney } from '../../domain/ledger/money.ts';
import { UnknownToOperator } from '../../services/operator-error.ts';
import { readSummary, type SummaryRow } from '../../db/ledger/summaries.ts';
import { Summary } from '../schemas/summary.ts';
import { option, action } from '../define-action.ts';
import { text } from '../input.ts';
import { table, time, usd } from '../plain-text.ts';
import { jsonRow } from '../report.ts';

/** `tollgate summary`: what a month brought in and cost, per project, model and channel. */
export const summaryAction = action({
  summary: 'show revenue and cost of a month, as last computed by the maintenance job',
  input: {
    month: option('<YYYY-MM>', text().regex(/^\d{4}-(0[1-9]|1[0-2])$/, 'must be a month such as 2030-01')).describe(
      'month in UTC',
    ),
  },
  route: { method: 'GET', path: '/summary', role: 'viewer' },
  answer: Summary,
  refusals: ['not_found'],
  needs: 'database',
  async run({ db, config }, { month }) {
    const found = await readSummary(db, month);
    if (!found) {
      throw new UnknownToOperator(
        `There is no summary of ${month}. The job scheduled-maintenance builds it every day.`,
      );
    }
    const { rows, ...about } = found;
    const totals = totalsOf(rows);
    const money = { creditValue: found.creditValueMicroUsd, sign: config.accounting.currencySign };
    const plans = sumsByPlan(rows);
    const state =
      found.frozenAt === null
        ? `Built ${time(found.builtAt)}. It is rebuilt every day until the 3rd of the next month.`
        : `Frozen ${time(found.frozenAt)}.`;
    return {
      document: {
        ...jsonRow(about),
        data: rows.map(toDocument),
        plans: plans.map(toDocument),
        totals: toDocument(totals),
      },
      get text() {
        const lines = rows.map(
          ({ projectId: project, projectName: _name, plan: _plan, model, channel, channelId, ...row }) => ({
            project,
            model,
            channel: channel ?? channelId,
            ...shown(row, money),
          }),
        );
        if (lines.length > 0) lines.push({ project: 'total', model: '', channel: '', ...shown(totals, money) });
        return [
          table(lines, 'No requests of this month were counted.'),
          ...(plans.some(({ plan }) => plan !== null)
            ? [table(plans.map(({ plan, ...sums }) => ({ plan: plan ?? 'none', ...shown(sums, money) })))]
            : []),
          state,
        ].join('\n\n');
      },
    };
  },
});

/** As `--json` shows it. `jsonRow` would name the digit otherwise. */
const toDocument = <Row extends Sums>({ cacheWrite1hTokens, ...row }: Row) => ({
  ...jsonRow(row),
  cache_write_1h_tokens: cacheWrite1hTokens,
});

type Sums = Omit<SummaryRow, 'projectId' | 'projectName' | 'plan' | 'model' | 'channel' | 'channelId'>;

/** By the name of the plan; the projects without one come last. */
function sumsByPlan(rows: readonly SummaryRow[]): (Sums & { plan: string | null })[] {
  const plans = [...new Set(rows.map(({ plan }) => plan))].sort(
    (a, b) => Number(a === null) - Number(b === null) || (a ?? '').localeCompare(b ?? ''),
  );
  return plans.map((plan) => ({ plan, ...totalsOf(rows.filter((row) => row.plan === plan)) }));
}

const totalsOf = (rows: readonly SummaryRow[]): Sums =>
  Object.fromEntries(sumNames.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)])) as Sums;

const sumNames = [
  'requests',
  'successes',
  'failures',
  'left',
  'leftCharged',
  'creditsCharged',
  'costMicroUsd',
  'unknownCosts',
  'marginMicroUsd',
  ...tokenCounts,
] satisfies (keyof Sums)[];

const shown = (sums: Sums, money: CreditMoney) => ({
  requests: sums.requests,
  successes: sums.successes,
  failures: sums.failures,
  credits: sums.creditsCharged,
  cost_usd: usd(sums.costMicroUsd),
  margin_usd: usd(sums.marginMicroUsd),
  input_tokens: sums.inputTokens,
  output_tokens: sums.outputTokens,
  cached_input_tokens: sums.cachedInputTokens,
  cache_write_tokens: sums.cacheWriteTokens,
  reasoning_tokens: sums.reasoningTokens,
  left: sums.left,
  unknown_costs: sums.unknownCosts,
  credits_worth: worth(sums.creditsCharged, money),
});
