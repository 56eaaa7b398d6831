import { listOf } from '../../schemas/list.ts';
import { endSilence } from '../../services/operators/end-silence.ts';
import { listAlarms, type ListedAlarm } from '../../services/operators/list-alarms.ts';
import { silenceAlarm } from '../../services/operators/silence-alarm.ts';
import { listSilences } from '../../db/operators/alarms.ts';
import { covers, type Silence } from '../../domain/operators/alarm.ts';
import { BegunSilence, EndedSilence, ListedAlarmSchema, SilenceSchema } from '../schemas/alarms.ts';
import { group, option, action } from '../define-action.ts';
import { shortText, span } from '../input.ts';
import { wholeListInput } from '../list-input.ts';
import { time } from '../plain-text.ts';
import { factsReport, jsonRow, listReport } from '../report.ts';
import { sortColumnsOf, wholeList } from '../whole-list.ts';

/** `tollgate alarms …`: what needs an operator, and who does not want to be told of it for a while. */
export const alarmActions = group('what needs an operator, and the silences of its webhook and mails', () => ({
  list,
  silence,
  silences,
  unsilence,
}));

const list = action({
  summary: 'list the alarms that fire, and those that fired in the last week',
  input: wholeListInput(sortColumnsOf(ListedAlarmSchema), 'those that fire, then the latest'),
  route: { method: 'GET', path: '/alarms', role: 'viewer', primaryOnly: true },
  answer: listOf(ListedAlarmSchema),
  needs: 'database',
  async run(deps, order) {
    const toDocument = ({ silence: covering, ...alarm }: ListedAlarm) => ({
      ...jsonRow(alarm),
      silence: covering && jsonRow(covering),
    });
    const toLine = ({ silence: covering, lastAt, ...alarm }: ListedAlarm) => ({
      ...alarm,
      since: time(alarm.since),
      last_at: time(lastAt),
      silenced_until: covering && time(covering.until),
    });
    return listReport(
      wholeList(await listAlarms(deps), { ...order, timeOf: ({ since }) => since, toDocument }),
      toLine,
      {
        list: 'alarms',
        nothing: 'No alarm fires, and none fired in the last week.',
        toDocument,
      },
    );
  },
});

const silence = action({
  summary: 'send no webhook and no mail for an alarm for a while; its log lines and its metric stay',
  input: {
    name: shortText.describe('name of the alarm, as "alarms list" shows it'),
    subject: option('<name>', shortText.default('')).describe('only about this channel or job (default: about any)'),
    for: option('<span>', span).describe('end after 30m, 2h, 7d, at most 30d'),
    reason: option('<text>', shortText).describe('why, for the other operators'),
  },
  example: { name: 'account', subject: 'openai-main', for: '2h', reason: 'the invoice is paid' },
  route: { method: 'POST', path: '/alarms/silences', role: 'operator' },
  answer: BegunSilence,
  needs: 'database',
  async run(deps, { name, subject, for: seconds, reason }, actor) {
    const begun = await silenceAlarm(deps, { name, subject, seconds, reason, actor });
    const hasFired = (await listAlarms(deps)).some((alarm) => covers(begun, alarm));
    const about = subject === '' ? name : `${name} of ${subject}`;
    return factsReport(`Silenced ${about} until ${time(begun.until) ?? ''}.`, jsonRow(begun), {
      shown: { created_at: time(begun.createdAt), until: time(begun.until) },
      warnings: hasFired ? [] : [`No alarm ${about} fired in the last week: compare the name with "alarms list".`],
    });
  },
});

const silences = action({
  summary: 'list the silences that have not ended, the next end first',
  input: wholeListInput(sortColumnsOf(SilenceSchema), 'the next end first'),
  route: { method: 'GET', path: '/alarms/silences', role: 'viewer' },
  answer: listOf(SilenceSchema),
  needs: 'database',
  async run({ db }, order) {
    const toLine = ({ silenceId: silence_id, name, subject, reason, createdBy: created_by, until }: Silence) => ({
      silence_id,
      name,
      subject,
      until: time(until),
      created_by,
      reason,
    });
    return listReport(
      wholeList(await listSilences(db), { ...order, timeOf: ({ createdAt }) => createdAt, toDocument: jsonRow }),
      toLine,
      {
        list: 'silences',
        nothing: 'No alarm is silenced.',
        toDocument: jsonRow,
      },
    );
  },
});

const unsilence = action({
  summary: 'end a silence before its time',
  input: { id: shortText.describe('silence id, such as sil_…') },
  route: { method: 'POST', path: '/alarms/silences/:id/end', role: 'operator' },
  answer: EndedSilence,
  refusals: ['not_found'],
  needs: 'database',
  async run(deps, { id: silenceId }, actor) {
    const { silence: ended, changed } = await endSilence(deps, { silenceId, actor });
    return {
      document: { ...jsonRow(ended), changed },
      text: changed
        ? `Ended the silence of ${ended.name}.`
        : `${silenceId} had already ended at ${time(ended.until) ?? ''}. Nothing changed.`,
    };
  },
});
