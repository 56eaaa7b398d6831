import type { Command } from 'commander';
import { z } from 'zod';
import { listAudit } from '../../../db/audit.ts';
import { defineCommand, type Invocation, type Report } from '../define-command.ts';
import { limit, shortText } from '../input.ts';
import { jsonRow } from '../json-row.ts';
import { database, type DatabaseDeps } from '../operator-deps.ts';
import { limited, table, time } from '../plain-text.ts';

/** `tollgate audit …`: the changes that operators made. */
export function registerAudit(root: Command, invocation: Invocation): void {
  const group = root.command('audit').description('the log of changes by operators');
  defineCommand(group, 'list', invocation, {
    summary: 'list changes by operators, newest first',
    usage: (command) =>
      command
        .option('--subject <id>', 'show only this project, key, channel or task')
        .option('--limit <rows>', 'show at most this many rows (default: 50)'),
    input: ListInput,
    needs: database,
    run: list,
  });
}

const ListInput = z.object({ subject: shortText.optional(), limit: limit(50) });

async function list({ db }: DatabaseDeps, input: z.infer<typeof ListInput>): Promise<Report> {
  const rows = await listAudit(db, input.subject ?? null, input.limit);
  const text = table(
    rows.map(({ id, at, detail, ...row }) => ({ id, at: time(at), ...row, detail: shortened(JSON.stringify(detail)) })),
    'There are no changes yet.',
  );
  return { document: { data: rows.map(jsonRow) }, text: limited(text, rows, input.limit) };
}

/** Short enough for one line; `--json` has the whole text. */
const shortened = (text: string): string => (text.length > 160 ? `${text.slice(0, 159)}…` : text);
