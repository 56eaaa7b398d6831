import { z } from 'zod';
import { summarizeSpend, type Earnings } from '../../services/ledger/summarize-spend.ts';
import { toTokenColumns } from '../../domain/catalog/token-counts.ts';
import { spendGroups, spendMeasures, usageGroups, type SpendGroup } from '../../domain/ledger/usage-group.ts';
import { isTimeZone, spendRange } from '../../domain/ledger/usage-range.ts';
import { option, action } from '../define-action.ts';
import { intFrom, nameList, pastMoment, shortText, unixSecondsOf } from '../input.ts';
import { table, time, usd } from '../plain-text.ts';
import { SpendAnswer } from '../schemas/usage.ts';
import { shownCredits } from '../shown-credits.ts';

/** `tollgate usage`: what requests came to and earned, of one project or of all. */
export const usageAction = action({
  summary: 'add up requests, credits, cost and tokens, newest day first',
  input: {
    project: option('<id>', shortText.optional()).describe(
      'count only what this project paid (default: every project)',
    ),
    key: option('<id>', shortText.optional()).describe('count only this key'),
    from: option('<time>', pastMoment.optional()).describe('begin here (default: 30 days before the end, 7 for hours)'),
    to: option('<time>', pastMoment.optional()).describe('end before this time (default: now)'),
    groupBy: option('<names>', nameList.pipe(z.array(z.enum(spendGroups))).optional()).describe(
      'add up by some of day,hour,model,project,key,channel,type (default: day,model,key of one project, day of all)',
    ),
    tz: option(
      '<zone>',
      shortText.refine(isTimeZone, 'must be a time zone such as Europe/Berlin').default('UTC'),
    ).describe('zone that cuts the days and hours (default: UTC)'),
    top: option('<groups>', intFrom(1, 100).optional()).describe('show so many groups apart and the rest as one'),
    topBy: option('<name>', z.enum(spendMeasures).default('credits')).describe(
      'the largest groups are those with the most credits, cost, requests, failed or tokens (default: credits)',
    ),
  },
  route: { method: 'GET', path: '/usage', role: 'viewer' },
  answer: SpendAnswer,
  needs: 'database',
  async run(deps, { project: projectId, key: keyId, tz: timeZone, top, topBy: measure, ...input }) {
    const groups = input.groupBy ?? (projectId === undefined ? ['day'] : usageGroups);
    const requestedRange = { from: unixSecondsOf(input.from), to: unixSecondsOf(input.to) };
    const period = spendRange(requestedRange, { groups, timeZone }, Date.now());
    const range = { projectId, keyId, ...period, timeZone, groups, top, measure };
    const { rows, total, unknownCostsFrom } = await summarizeSpend(deps, range);
    const shown = await shownCredits(deps);
    const document: z.input<typeof SpendAnswer> = {
      object: 'list',
      data: rows.map((row) => ({ ...groupsOf(row), ...sumsOf(row) })),
      total: sumsOf(total),
      unknown_costs_from: unknownCostsFrom,
    };
    return {
      document,
      get text() {
        const lines = rows.map((row) => ({
          ...Object.fromEntries(
            groups.map((group) => [group, row.isRest && !isTime(group) ? 'the rest' : nameOf(row, group)]),
          ),
          requests: row.requests,
          succeeded: row.succeeded,
          failed: row.failed,
          refused: row.refused,
          credits: shown(row.credits),
          cost_usd: usd(row.costMicroUsd),
          margin_usd: usd(row.marginMicroUsd),
          input_tokens: row.inputTokens,
          output_tokens: row.outputTokens,
          left: row.left,
          unknown_costs: row.unknownCosts,
        }));
        const counted = `Calls whose cost is unknown are counted from ${time(unknownCostsFrom) ?? ''} on.`;
        return table(lines, 'There was no request.') + (unknownCostsFrom === null ? '' : `\n\n${counted}`);
      },
    };
  },
});

const isTime = (group: SpendGroup): boolean => group === 'day' || group === 'hour';

const nameOf = ({ projectId: project, keyId: key, channelId, ...row }: Earnings, group: SpendGroup): string | null =>
  ({ ...row, project, key, channel: row.channel ?? channelId })[group];

const groupsOf = ({ day, hour, model, channel, type, ...row }: Earnings) => ({
  day,
  hour,
  model,
  project_id: row.projectId,
  project_name: row.projectName,
  key_id: row.keyId,
  key_name: row.keyName,
  channel_id: row.channelId,
  channel,
  type,
  is_rest: row.isRest,
});

const sumsOf = ({ requests, succeeded, failed, refused, left, credits, ...row }: Earnings) => ({
  requests,
  succeeded,
  failed,
  refused,
  left,
  left_charged: row.leftCharged,
  credits,
  cost_micro_usd: row.costMicroUsd,
  unknown_costs: row.unknownCosts,
  margin_micro_usd: row.marginMicroUsd,
  ...toTokenColumns(row),
});
