import { toColumns, toMembers } from '../column-names.ts';
import type { Database, Statements } from '../database.ts';
import { unixSeconds } from '../unix-seconds.ts';

export interface FileRow {
  id: string;
  projectId: string;
  taskId: string | null;
  purpose: 'output' | 'input' | 'upload';
  storageKey: string;
  mimeType: string;
  bytes: number;
  sha256: string;
  width: number | null;
  height: number | null;
  duration: number | null;
  /** Unix seconds, as is `expiresAt`. */
  createdAt: number;
  expiresAt: number;
}

const columns = `id, project_id, task_id, purpose, storage_key, mime_type, bytes, sha256, width, height, duration,
  ${unixSeconds('created_at')} as created_at, ${unixSeconds('expires_at')} as expires_at`;

/** The id of a file and the key of its bytes, before the bytes exist. */
export interface FileDraft {
  id: string;
  storageKey: string;
}

/**
 * Writes the rows of files before their bytes, so that retention finds the bytes after a crash. No client learns the ids before
 * `recordFile`.
 */
export async function draftFiles(
  database: Database,
  input: Pick<FileRow, 'projectId' | 'taskId' | 'purpose'> & { drafts: readonly FileDraft[]; keptSeconds: number },
): Promise<void> {
  if (input.drafts.length === 0) return;
  await database.query(
    'draft-files',
    `insert into file (id, project_id, task_id, purpose, storage_key, mime_type, bytes, sha256, expires_at)
     select draft.id, $2, $3, $4, draft.storage_key, 'application/octet-stream', 0, '',
            date_trunc('second', clock_timestamp()) + make_interval(secs => $5)
     from jsonb_to_recordset($1) as draft (id text, storage_key text)`,
    [toMembers(input.drafts), input.projectId, input.taskId, input.purpose, input.keptSeconds],
  );
}

/**
 * Records a stored file. If a draft has the same storage key, the file gets the id of the draft. Throws if retention has deleted
 * the draft in the meantime, because then the bytes are deleted or about to be.
 */
export async function recordFile(
  database: Database,
  file: Omit<FileRow, 'createdAt' | 'expiresAt'> & { keptSeconds: number },
): Promise<FileRow> {
  const row = await database.first<FileRow>(
    'record-file',
    `insert into file (id, project_id, task_id, purpose, storage_key, mime_type, bytes, sha256, width, height, duration, expires_at)
     select id, project_id, task_id, purpose, storage_key, mime_type, bytes, sha256, width, height, duration,
            date_trunc('second', clock_timestamp()) + make_interval(secs => $2)
     from jsonb_populate_record(null::file, $1)
     on conflict (storage_key) do update set mime_type = excluded.mime_type, bytes = excluded.bytes, sha256 = excluded.sha256,
       width = excluded.width, height = excluded.height, duration = excluded.duration, expires_at = excluded.expires_at
     where file.deleted_at is null
     returning ${columns}`,
    [JSON.stringify(toColumns(file)), file.keptSeconds],
  );
  if (!row) throw new Error('the row of the file was not written, because retention has deleted the draft');
  return row;
}

/** The bytes of a project's files that are not deleted yet. */
export async function storedBytes(database: Database, projectId: string): Promise<number> {
  const row = await database.first<{ bytes: number }>(
    'stored-bytes',
    'select coalesce(sum(bytes), 0)::bigint as bytes from file where project_id = $1 and deleted_at is null',
    [projectId],
  );
  return row?.bytes ?? 0;
}

/** The task's copy of the file at a client's URL, if it has one. The copy is kept at least as long as the task. */
export async function findSourced(database: Database, taskId: string, source: string): Promise<FileRow | null> {
  return database.first<FileRow>(
    'find-sourced',
    `select ${columns} from file where task_id = $1 and source = $2 and deleted_at is null`,
    [taskId, source],
  );
}

/** Makes a recorded file the task's only copy of `source`; false if the task already has one. */
export async function nameSource(database: Database, fileId: string, source: string): Promise<boolean> {
  try {
    const rows = await database.query(
      'name-source',
      'update file set source = $2 where id = $1 and deleted_at is null returning 1',
      [fileId, source],
    );
    return rows.length === 1;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === '23505') return false;
    throw error;
  }
}

/** A file that has not expired or been deleted, or null. */
export async function findFile(database: Database, fileId: string): Promise<FileRow | null> {
  return database.first<FileRow>(
    'find-file',
    `select ${columns} from file where id = $1 and deleted_at is null and expires_at > clock_timestamp()`,
    [fileId],
  );
}

/**
 * A project's own file, which is kept for at least `seconds` from now on; null if there is none. The statement that finds the file
 * also extends its expiry, so that retention cannot delete it in between.
 */
export async function holdFile(
  database: Database,
  { fileId, projectId, seconds }: { fileId: string; projectId: string; seconds: number },
): Promise<FileRow | null> {
  const [prolonged] = await database.query<FileRow>(
    'hold-file',
    `update file set expires_at = date_trunc('second', clock_timestamp()) + make_interval(secs => $3)
     where id = $1 and project_id = $2 and deleted_at is null and expires_at > clock_timestamp()
       and expires_at < date_trunc('second', clock_timestamp()) + make_interval(secs => $3)
     returning ${columns}`,
    [fileId, projectId, seconds],
  );
  const file = prolonged ?? (await findFile(database, fileId));
  return file?.projectId === projectId ? file : null;
}

/** Deletes the row of a file whose bytes are deleted. */
export async function removeFile(database: Database, fileId: string): Promise<void> {
  await database.query('remove-file', 'delete from file where id = $1', [fileId]);
}

/** Those of the keys of stored files that no row has. */
export async function findUnknownKeys(database: Statements, keys: readonly string[]): Promise<string[]> {
  const rows = await database.query<{ key: string }>(
    'unknown-file-keys',
    `select requested.key from unnest($1::text[]) requested (key)
     where not exists (select from file where file.storage_key = requested.key)`,
    [keys],
  );
  return rows.map(({ key }) => key);
}
