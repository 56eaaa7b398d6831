import type { Command } from 'commander';
import { z } from 'zod';
import { verifyLedger } from '../../../db/verify-ledger.ts';
import { defineCommand, type Invocation, type Report } from '../define-command.ts';
import { database, type DatabaseDeps } from '../operator-deps.ts';
import { table } from '../plain-text.ts';

/** `tollgate ledger …`: proves that the books balance. */
export function registerLedger(root: Command, invocation: Invocation): void {
  const group = root.command('ledger').description('the ledger of all credits');
  defineCommand(group, 'verify', invocation, {
    summary: 'add up all entries and check every invariant; exits 1 when one is violated',
    usage: (command) => command.option('--full', 'start at the first entry, not at the last checkpoint'),
    input: VerifyInput,
    needs: database,
    run: verify,
  });
}

const VerifyInput = z.object({ full: z.boolean().default(false) });

async function verify({ db, config }: DatabaseDeps, { full }: z.infer<typeof VerifyInput>): Promise<Report> {
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
}
