import type { Command } from 'commander';
import { z } from 'zod';
import { resealSecrets } from '../../../commands/projects/reseal-secrets.ts';
import { defineCommand, type Invocation, type Report } from '../define-command.ts';
import { databaseAndSecrets, type SecretsDeps } from '../operator-deps.ts';
import { table } from '../plain-text.ts';

/** `tollgate secrets …`: the secrets that are encrypted in the database. */
export function registerSecrets(root: Command, invocation: Invocation): void {
  const group = root.command('secrets').description('the encrypted credentials and callback secrets');
  defineCommand(group, 'reseal', invocation, {
    summary: 'encrypt every secret again with the first key of MASTER_KEYS, so that older keys can be removed',
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
      ? `Signed file URLs and stored answers to an Idempotency-Key need the older keys until they expire.`
      : `No configured key decrypts the secrets of ${unreadable.slice(0, 20).join(', ')}. Keep the older keys.`,
  ].join('\n');
  return { document: counts, text, refused: unreadable.length > 0 };
}
