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
    usage: (command) => command.option('--full', 'from the first entry on (as ever, while no checkpoints are kept)'),
    input: z.object({}),
    needs: database,
    run: verify,
  });
}

async function verify({ db, config }: DatabaseDeps): Promise<Report> {
  // A hold may outlive its expiry by the sweep that is running and the one that then ends it.
  const report = await verifyLedger(db, 2 * config.SWEEP_INTERVAL_SECONDS);
  const rows = table(
    Object.entries(report.invariants).map(([invariant, { breaches, promise, examples }]) => ({
      invariant,
      breaches,
      promise,
      examples: examples.join(', '),
    })),
  );
  const verdict = report.ok ? 'The books are right.' : 'The books are NOT right.';
  return { document: report, text: `${rows}\n\n${verdict}`, refused: !report.ok };
}
