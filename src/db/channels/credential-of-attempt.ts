import type { AttemptMemory } from '../tasks/attempts.ts';
import type { Database } from '../database.ts';

/** The id of the credential that an attempt sends; null in an attempt of an earlier release. */
export async function credentialOfAttempt(database: Database, attemptId: string): Promise<string | null> {
  return (await credentialsOfAttempts(database, [attemptId])).get(attemptId) ?? null;
}

/** The same of several attempts, by their ids. */
export async function credentialsOfAttempts(
  database: Database,
  attemptIds: readonly string[],
): Promise<Map<string, string | null>> {
  const rows = await database.query<{ id: string; credentialId: string | null }>(
    'credentials-of-attempts',
    'select id, credential_id from attempt where id = any ($1)',
    [attemptIds],
  );
  return new Map(rows.map(({ id, credentialId }) => [id, credentialId]));
}

/** Writes which credential an attempt sends, before it sends anything; false if another holder has taken the attempt over. */
export const noteCredentialOfAttempt = (
  database: Database,
  { attemptId, fence }: Pick<AttemptMemory, 'attemptId' | 'fence'>,
  credentialId: string,
): Promise<boolean> =>
  database.returnsRow(
    'note-credential-of-attempt',
    `update attempt set credential_id = $3
     where id = $1 and fence = $2 and outcome is null and operation is null returning 1`,
    [attemptId, fence, credentialId],
  );
