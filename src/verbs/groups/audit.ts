import { listOf } from '../../answers/list.ts';
import { auditPosition, listAudit } from '../../db/list-audit.ts';
import { AuditEntry } from '../answers/audit.ts';
import { group, option, verb } from '../define-verb.ts';
import { shortText } from '../input.ts';
import { pageInput } from '../page-input.ts';
import { time } from '../plain-text.ts';
import { jsonRow, listReport } from '../report.ts';

/** `tollgate audit …`: the changes that operators made. */
export const audit = group('the log of changes by operators', () => ({ list }));

const list = verb({
  summary: 'list changes by operators, newest first',
  input: {
    subject: option('<id>', shortText.optional()).describe('show only this project, key, channel or task'),
    by: option('<name>', shortText.optional()).describe('show only the changes of this actor'),
    action: option('<action>', shortText.optional()).describe('show only this kind of change, such as keys.revoke'),
    ...pageInput('audit', 50, auditPosition),
  },
  route: { method: 'GET', path: '/audit', role: 'viewer' },
  answer: listOf(AuditEntry),
  needs: 'database',
  async run({ db }, { subject, by: actor, action, ...page }) {
    return listReport(
      await listAudit(db, { subject, actor, action }, page),
      ({ id, at, detail, ...row }) => ({ id, at: time(at), ...row, detail: shortened(JSON.stringify(detail)) }),
      { list: 'audit', nothing: 'There are no changes yet.', toDocument: jsonRow },
    );
  },
});

/** Short enough for one line; `--json` has the whole text. */
const shortened = (text: string): string => (text.length > 160 ? `${text.slice(0, 159)}…` : text);
