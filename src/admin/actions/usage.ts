import { z } from 'zod';
import { UsageSchema } from '../../schemas/usage.ts';
import { summarizeUsage } from '../../services/projects/summarize-usage.ts';
import { usageGroups } from '../../domain/ledger/usage-group.ts';
import { isTimeZone, usageRange } from '../../domain/ledger/usage-range.ts';
import { option, action } from '../define-action.ts';
import { moment, names, shortText, unixSecondsOf } from '../input.ts';
import { table } from '../plain-text.ts';
import { shownCredits } from '../shown-credits.ts';

/** `tollgate usage`: what the requests of a project came to. */
export const usage = action({
  summary: 'add up the requests, credits and tokens of a project, newest day first',
  input: {
    project: option('<id>', shortText).describe('project that paid'),
    key: option('<id>', shortText.optional()).describe('count only this key'),
    from: option('<time>', moment.optional()).describe('begin here (default: 30 days before the end)'),
    to: option('<time>', moment.optional()).describe('end before this time (default: now)'),
    groupBy: option('<names>', names.pipe(z.array(z.enum(usageGroups))).default([...usageGroups])).describe(
      'add up by some of day,model,key (default: all)',
    ),
    tz: option(
      '<zone>',
      shortText.refine(isTimeZone, 'must be a time zone such as Europe/Berlin').default('UTC'),
    ).describe('zone that cuts the days (default: UTC)'),
  },
  route: { method: 'GET', path: '/usage', role: 'viewer' },
  answer: UsageSchema,
  needs: 'database',
  async run(deps, { project: projectId, key: keyId, from, to, groupBy: groups, tz: timeZone }) {
    const range = usageRange({ from: unixSecondsOf(from), to: unixSecondsOf(to) }, Date.now());
    const document = await summarizeUsage(deps, { projectId, keyId, ...range, timeZone, groups });
    const shown = await shownCredits(deps);
    const lines = document.data.map((line) => ({ ...line, credits: shown(line.credits) }));
    return { document, text: table(lines, 'There was no request.') };
  },
});
