import { listOf } from '../../schemas/list.ts';
import { LedgerEntrySchema, type PublicEntry } from '../../schemas/ledger-entry.ts';
import { listLedgerEntries } from '../../services/ledger/list-ledger-entries.ts';
import { ledgerColumns } from '../../db/ledger/list-ledger.ts';
import { entryPosition } from '../../domain/time-position.ts';
import { verifyLedger } from '../../db/ledger/verify-ledger.ts';
import { LedgerReportSchema } from '../schemas/ledger.ts';
import { flag, group, option, action } from '../define-action.ts';
import { shortText } from '../input.ts';
import { listInput, listRequest } from '../list-input.ts';
import { table, time } from '../plain-text.ts';
import { jsonRow, listReport } from '../report.ts';
import { shownCredits } from '../shown-credits.ts';

/** `tollgate ledger …`: the entries, and the proof that the books balance. */
export const ledgerActions = group('the ledger of all credits', () => ({ list, verify }));

const list = action({
  summary: 'list the entries of a project, newest first',
  input: {
    project: option('<id>', shortText).describe('project that owns the account'),
    key: option('<id>', shortText.optional()).describe('show only the entries of this key'),
    task: option('<id>', shortText.optional()).describe('show only this task (task_…) or chat (req_…)'),
    ...listInput('ledger', ledgerColumns, { position: entryPosition, time: 'at' }),
  },
  route: { method: 'GET', path: '/ledger', role: 'viewer' },
  answer: listOf(LedgerEntrySchema),
  needs: 'database',
  async run(deps, { project: projectId, key: keyId, task: requestId, ...page }) {
    const shown = await shownCredits(deps);
    const toLine = (entry: PublicEntry) => ({
      ...entry,
      at: time(entry.at),
      credits: shown(entry.credits),
      balance_after: shown(entry.balance_after),
    });
    return listReport(await listLedgerEntries(deps, { projectId, keyId, requestId }, listRequest(page)), toLine, {
      list: 'ledger',
      nothing: 'There are no entries.',
      toDocument: jsonRow,
    });
  },
});

const verify = action({
  summary: 'add up all entries and check every invariant; exits 1 when one is violated',
  input: { full: flag().describe('start at the first entry, not at the last checkpoint') },
  route: { method: 'POST', path: '/ledger/verify', role: 'operator' },
  answer: LedgerReportSchema,
  needs: 'database',
  async run({ db, config }, { full }) {
    // A reservation may stay held past its expiry until the running sweep and the next one have finished.
    const report = await verifyLedger(db, 2 * config.sweeps.intervalSeconds, { full });
    const rows = table(
      Object.entries(report.invariants).map(([invariant, { breaches, promise, examples }]) => ({
        invariant,
        breaches,
        promise,
        examples: examples.join(', '),
      })),
    );
    const span = report.since ? ` since the checkpoint of ${report.since.covers_until}` : '';
    const verdict = report.ok ? `The books balance${span}.` : `The books do NOT balance${span}.`;
    return { document: report, text: `${rows}\n\n${verdict}`, refused: !report.ok };
  },
});
