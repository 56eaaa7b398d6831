import { z } from 'zod';
import { timestamp, timestampOrNull } from '../../schemas/time.ts';
import { changed, warnings } from './changed.ts';
import { silenceId } from './ids.ts';

const kind = {
  name: z.string().meta({ description: 'Why it fires.', examples: ['account'] }),
  subject: z.string().describe('The channel or the job that it is about, or empty.'),
};

const silence = {
  silence_id: silenceId,
  ...kind,
  subject: z.string().describe('The only channel or job that it covers, or empty for all.'),
  reason: z.string(),
  created_by: z.string(),
  created_at: timestamp,
  until: timestamp,
};

export const SilenceSchema = z.object(silence).meta({ id: 'Silence' });
export const BegunSilence = z.object({ ...silence, warnings }).meta({ id: 'BegunSilence' });
export const EndedSilence = z.object({ ...silence, changed }).meta({ id: 'EndedSilence' });

/** The silence that covers an alarm. */
export const covering = SilenceSchema.nullable().describe(
  'Who wants no webhook and no mail of it until when. Null if it is not silenced.',
);

export const ListedAlarmSchema = z
  .object({
    ...kind,
    state: z.enum(['firing', 'fired']).describe('`fired`: its log line was written in the last week.'),
    message: z.string(),
    since: timestampOrNull,
    last_at: timestampOrNull.describe('When its log line was last written. Null if it is only shown and never logged.'),
    count: z.int().nullable().describe('How often it was written since it was quiet for a day.'),
    silence: covering,
  })
  .meta({ id: 'ListedAlarm' });

/** An alarm of the overview, which stands for all of its cause. */
export const AlarmSchema = z
  .object({
    kind: z.enum(['channel', 'temporal', 'installation', 'unknown_outcome', 'callbacks', 'job']),
    ...kind,
    count: z.int().describe('How many alarms have this cause, such as those of the channels at one host.'),
    subjects: z.array(z.string()).describe('What the alarms of this name are about, `subject` first.'),
    also: z.array(z.object({ ...kind, message: z.string() })).describe('The alarms of other names with this cause.'),
    message: z.string(),
    remedy: z.string().describe('What to do.'),
    since: timestampOrNull,
    silence: covering,
  })
  .meta({ id: 'Alarm' });
