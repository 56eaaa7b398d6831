import { listAudit } from '../../../db/list-audit.ts';
import { command, group, option } from '../define-command.ts';
import { rowLimit, shortText } from '../input.ts';
import { database } from '../operator-deps.ts';
import { time } from '../plain-text.ts';
import { listReport } from '../report.ts';

/** `tollgate audit …`: the changes that operators made. */
export const audit = group('the log of changes by operators', () => ({ list }));

const list = command({
  summary: 'list changes by operators, newest first',
  input: {
    subject: option('<id>', shortText.optional()).describe('show only this project, key, channel or task'),
    limit: rowLimit(50),
  },
  needs: database,
  async run({ db }, { subject = null, limit }) {
    const rows = await listAudit(db, subject, limit);
    return listReport(
      rows,
      ({ id, at, detail, ...row }) => ({ id, at: time(at), ...row, detail: shortened(JSON.stringify(detail)) }),
      { nothing: 'There are no changes yet.', limit },
    );
  },
});

/** Short enough for one line; `--json` has the whole text. */
const shortened = (text: string): string => (text.length > 160 ? `${text.slice(0, 159)}…` : text);
