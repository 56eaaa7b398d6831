import type { Command } from 'commander';
import { z } from 'zod';
import { verifyLedger } from '../../../db/verify-ledger.ts';
import { defineCommand, type Invocation, type Report } from '../define-command.ts';
import { database, type DatabaseDeps } from '../operator-deps.ts';
import { table } from '../plain-text.ts';

/** `tollgate ledger …`: the books. */
export function registerLedger(root: Command, invocation: Invocation): void {
  const group = root.command('ledger').description('the books');
  defineCommand(group, 'verify', invocation, {
    summary: 'prove the books by adding them up; exit code 1 when any invariant is broken',
    usage: (command) => command.option('--full', 'from the first entry on, not from the last checkpoint'),
    input: VerifyInput,
    needs: database,
    run: verify,
  });
}

const VerifyInput = z.object({ full: z.boolean().default(false) });

async function verify({ db, config }: DatabaseDeps, { full }: z.infer<typeof VerifyInput>): Promise<Report> {
  // A hold may outlive its expiry by the sweep that is running and the one that then ends it.
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
  const verdict = report.ok ? `The books are right${span}.` : `The books are NOT right${span}.`;
  return { document: report, text: `${rows}\n\n${verdict}`, refused: !report.ok };
}
