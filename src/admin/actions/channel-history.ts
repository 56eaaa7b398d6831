import { readChannelHistory } from '../../services/channels/read-channel-history.ts';
import { ChannelHistorySchema } from '../schemas/channels.ts';
import { option, action } from '../define-action.ts';
import { intFrom, shortText } from '../input.ts';
import { table, time } from '../plain-text.ts';
import { jsonRow } from '../report.ts';

/** `tollgate channels history`: how the attempts of a channel ended over time, and how long they took. */
export const historyAction = action({
  summary: 'show the attempts of a channel over time, how they ended and how long they took',
  input: {
    channel: shortText.describe('name or id of the channel'),
    hours: option('<number>', intFrom(1, 720).default(24)).describe(
      'look back this many hours, up to 3 by minutes and more by hours (default: 24)',
    ),
  },
  route: { method: 'GET', path: '/channels/:channel/history', role: 'viewer' },
  answer: ChannelHistorySchema,
  refusals: ['not_found'],
  needs: 'database',
  async run(deps, { channel, hours }) {
    const { points, bucketSeconds, channelId, name } = await readChannelHistory(deps, { channel, hours });
    const lines = points
      .filter(({ attempts }) => attempts > 0)
      .map(({ at, p50Ms, p95Ms, attempts, ...ends }) => ({
        at: time(at),
        attempts,
        ...ends,
        p50_ms: p50Ms && Math.round(p50Ms),
        p95_ms: p95Ms && Math.round(p95Ms),
      }));
    return {
      document: { channel_id: channelId, name, hours, bucket_seconds: bucketSeconds, data: points.map(jsonRow) },
      text: table(lines, `${name} had no attempt in the last ${hours} hours.`),
    };
  },
});
