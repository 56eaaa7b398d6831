import type { Database } from './database.ts';

/** A live key as the door needs it. Budgets are not here: only admission reads them. */
export interface LiveKey {
  keyId: string;
  projectId: string;
  models: string[] | null;
  rpm: number | null;
  inFlightMax: number | null;
}

/** The key behind any of these digests (one per pepper), unless it is revoked, expired or its project is disabled. */
export async function findLiveKey(database: Database, digests: Buffer[]): Promise<LiveKey | null> {
  const [row] = await database.query<{
    id: string;
    project_id: string;
    models: string[] | null;
    rpm: number | null;
    in_flight_max: number | null;
  }>(
    {
      name: 'find-live-key',
      text: `select k.id, k.project_id, k.models, k.rpm, k.in_flight_max
             from api_key_secret s join api_key k on k.id = s.key_id join project p on p.id = k.project_id
             where s.digest = any ($1) and (s.expires_at is null or s.expires_at > clock_timestamp())
               and k.revoked_at is null and (k.expires_at is null or k.expires_at > clock_timestamp())
               and p.status = 'active' limit 1`,
    },
    [digests],
  );
  if (!row) return null;
  return {
    keyId: row.id,
    projectId: row.project_id,
    models: row.models,
    rpm: row.rpm,
    inFlightMax: row.in_flight_max,
  };
}
