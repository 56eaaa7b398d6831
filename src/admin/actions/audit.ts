import { listOf } from '../../schemas/list.ts';
import { auditColumns, listAudit, type AuditRow } from '../../db/operators/list-audit.ts';
import { entryPosition } from '../../domain/time-position.ts';
import { differences } from '../../domain/operators/differences.ts';
import { AuditEntry } from '../schemas/audit.ts';
import { group, option, action } from '../define-action.ts';
import { shortText } from '../input.ts';
import { listInput, listRequest } from '../list-input.ts';
import { time } from '../plain-text.ts';
import { jsonRow, listReport } from '../report.ts';

/** `tollgate audit …`: the changes that operators made. */
export const auditActions = group('the log of changes by operators', () => ({ list }));

const list = action({
  summary: 'list changes by operators, newest first',
  input: {
    subject: option('<id>', shortText.optional()).describe('show only this project, key, channel or task'),
    by: option('<name>', shortText.optional()).describe(
      'show only changes by operators with this in their name or identity, in any case',
    ),
    action: option('<action>', shortText.optional()).describe('show only this kind of change, such as keys.revoke'),
    ...listInput('audit', auditColumns, { position: entryPosition, time: 'at' }),
  },
  route: { method: 'GET', path: '/audit', role: 'viewer' },
  answer: listOf(AuditEntry),
  needs: 'database',
  async run({ db }, { subject, by, action, ...page }) {
    return listReport(
      await listAudit(db, { subject, by, action }, listRequest(page)),
      ({ id, at, actor, action: what, subject: about, ...entry }) => ({
        id,
        at: time(at),
        actor,
        action: what,
        subject: about,
        change: shortened(changeText(entry)),
        detail: shortened(JSON.stringify(entry.detail)),
      }),
      { list: 'audit', nothing: 'There are no changes yet.', toDocument: jsonRow },
    );
  },
});

/** `rpm 30 → null, budget null → 500`, without the members that stayed as they were. */
function changeText({ before, after }: Pick<AuditRow, 'before' | 'after'>): string {
  const members = differences(before ?? {}, after ?? {}).map(({ path, before: was, after: is }) =>
    [path, ...(before === null ? [] : [shownValue(path, was), '→']), shownValue(path, is)].join(' '),
  );
  return members.join(', ');
}

const shownValue = (path: string, value: unknown): string | null =>
  typeof value === 'number' && /(_at|until)$/.test(path) ? time(value) : JSON.stringify(value ?? null);

/** Short enough for one line; `--json` has the whole text. */
const shortened = (text: string): string => (text.length > 160 ? `${text.slice(0, 159)}…` : text);
