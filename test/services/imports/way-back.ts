import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../../src/db/database.ts';
import { openSource } from '../../../src/db/imports/open-source.ts';
import type { SourceRow } from '../../../src/db/imports/source-database.ts';
import { rowsOf, type Book } from '../../db/books.ts';
import { anAdmission, openChatLedger, settledEnd } from '../../db/chat-books.ts';

/** A database of a former gateway that can be written. */
export interface Target {
  /** What `--from` takes. */
  from: string;
  run(statements: string): Promise<void>;
}

/** Charges an imported key for a chat. The project and the key have the names that they have there. Returns the project. */
export async function spend(
  db: Database,
  { source, project, key, credits }: { source: string; project: string; key: string; credits: number },
): Promise<string> {
  const [book] = await rowsOf<Book>(
    db,
    `select k.project_id, k.id as key_id from api_key k join project p on p.id = k.project_id
     join import_item i on i.internal_id = k.id where i.source = $1 and p.name = $2 and k.name = $3`,
    [source, project, key],
  );
  if (!book) throw new Error(`${source}: ${project} has no key ${key}`);
  const ledger = openChatLedger(db);
  const chat = anAdmission(book, { credits, modelId: 'gpt-4o' });
  const { verdict } = await ledger.admit(chat);
  if (verdict.kind !== 'admitted') throw new Error(JSON.stringify(verdict));
  await ledger.end(settledEnd(chat, credits));
  return book.projectId;
}

/** All rows of a table, by the reader of imports. */
export async function sourceRows(from: string, table: string, columns: readonly string[]): Promise<SourceRow[]> {
  const source = await openSource(from);
  try {
    return await source.rows(table, columns);
  } finally {
    await source.close();
  }
}

/** Runs the files of SQL that `write` makes in a folder, in the target. */
export async function goBack(target: Target, write: (folder: string) => Promise<unknown>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-spent-'));
  try {
    await write(folder);
    for (const file of readdirSync(folder)) await target.run(readFileSync(join(folder, file), 'utf8'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
