import { verifyLedger } from '../../db/verify-ledger.ts';
import { flag, group, verb } from '../define-verb.ts';
import { table } from '../plain-text.ts';

/** `tollgate ledger …`: proves that the books balance. */
export const ledger = group('the ledger of all credits', () => ({ verify }));

const verify = verb({
  summary: 'add up all entries and check every invariant; exits 1 when one is violated',
  input: { full: flag().describe('start at the first entry, not at the last checkpoint') },
  route: { method: 'POST', path: '/ledger/verify', role: 'operator' },
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
