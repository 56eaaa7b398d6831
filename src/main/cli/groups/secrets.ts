import type { Command } from 'commander';
import { z } from 'zod';
import { resealSecrets } from '../../../commands/projects/reseal-secrets.ts';
import { defineCommand, type Invocation, type Report } from '../define-command.ts';
import { databaseAndSecrets, type SecretsDeps } from '../operator-deps.ts';
import { table } from '../plain-text.ts';

/** `tollgate secrets …`: what is sealed in the database. */
export function registerSecrets(root: Command, invocation: Invocation): void {
  const group = root.command('secrets').description('credentials and callback secrets, as they are sealed');
  defineCommand(group, 'reseal', invocation, {
    summary: 'seal everything anew under the first key of MASTER_KEYS, so that the older ones can go',
    input: z.object({}),
    needs: databaseAndSecrets,
    run: reseal,
  });
}

async function reseal(deps: SecretsDeps, _input: object, actor: string): Promise<Report> {
  const counts = await resealSecrets(deps, { actor });
  const rows = Object.entries(counts);
  const unreadable = rows.flatMap(([, count]) => count.unreadable);
  const text = [
    table(
      rows.map(([what, count]) => ({
        what,
        resealed: count.resealed,
        current: count.current,
        unreadable: count.unreadable.length,
      })),
    ),
    unreadable.length === 0
      ? `Links to files and answers kept for an Idempotency-Key still need the older keys, until they end by themselves.`
      : `No configured key opens those of ${unreadable.slice(0, 20).join(', ')}. Keep the older keys.`,
  ].join('\n');
  return { document: counts, text, refused: unreadable.length > 0 };
}
