import type { Database } from './database.ts';

/** The keys that the holder of an admin token has for the playground of a project, oldest first, without those that were revoked. */
export async function findPlaygroundKeys(
  database: Database,
  { projectId, tokenId }: { projectId: string; tokenId: string },
): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    'playground-keys',
    `select id from api_key where project_id = $1 and revoked_at is null and metadata ->> 'playground' = $2
     order by created_at, id limit 10`,
    [projectId, tokenId],
  );
  return rows.map(({ id }) => id);
}
