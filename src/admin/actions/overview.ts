import { z } from 'zod';
import { readOverview, readRange, type Earned } from '../../services/operators/read-overview.ts';
import type { TrafficParts } from '../../db/operators/overview.ts';
import { overviewRanges } from '../../domain/operators/overview-range.ts';
import { OverviewSchema } from '../schemas/overview.ts';
import { group, action, option } from '../define-action.ts';
import { oneLine, table, time, usd } from '../plain-text.ts';
import { jsonRow } from '../report.ts';

/** `tollgate overview …`: how the gateway does. */
export const overviewActions = group('how the gateway does today, and what needs an operator', () => ({ show }));

const show = action({
  summary: 'show the traffic and the margin of today against yesterday, and every alarm with what to do',
  input: {
    range: option('<range>', z.enum(overviewRanges).optional()).describe(
      'also show the last hour, day or week against the one before',
    ),
  },
  route: { method: 'GET', path: '/overview', role: 'viewer', primaryOnly: true },
  answer: OverviewSchema,
  needs: 'database',
  async run(deps, { range: requestedRange }) {
    const [{ alarms, hours, today, yesterday, ...about }, range] = await Promise.all([
      readOverview(deps),
      requestedRange === undefined ? null : readRange(deps, requestedRange),
    ]);
    const days = table([
      ...(range ? [toLine(`last ${range.range}`, range.now), toLine(`the ${range.range} before`, range.before)] : []),
      toLine('today', today),
      toLine('yesterday, until this time', yesterday),
    ]);
    const needed = alarms.map(({ message, remedy, since, silence, also }) =>
      [
        `${message}${since === null ? '' : ` since ${time(since) ?? ''}`}.`,
        ...also.map(({ message: raised }) => `Because of it: ${raised}.`),
        silence === null ? remedy : `Silenced until ${time(silence.until) ?? ''}: ${oneLine(silence.reason)}`,
      ].join(' '),
    );
    return {
      document: {
        ...jsonRow(about),
        today: jsonRow(today),
        yesterday: jsonRow(yesterday),
        hours: hours.map(jsonRow),
        range: range && { ...jsonRow(range), now: jsonRow(range.now), before: jsonRow(range.before) },
        alarms: alarms.map(({ silence, ...alarm }) => ({ ...alarm, silence: silence && jsonRow(silence) })),
      },
      text: [days, '', ...(needed.length > 0 ? needed : ['Nothing needs an operator.'])].join('\n'),
    };
  },
});

const toLine = (day: string, of: Earned & TrafficParts) => ({
  day,
  requests: of.requests,
  succeeded: of.succeeded,
  failed: of.failed,
  refused: of.refused,
  left: of.left,
  credits: of.credits,
  cost_usd: usd(of.costMicroUsd),
  margin_usd: usd(of.marginMicroUsd),
  chat_p50_ms: rounded(of.chatP50Ms),
  media_p50_ms: rounded(of.mediaP50Ms),
  p95_ms: rounded(of.p95Ms),
  unknown_costs: of.unknownCosts,
});

const rounded = (ms: number | null): number | null => (ms === null ? null : Math.round(ms));
