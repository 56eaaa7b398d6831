import type { AuthenticatedKey } from '../../domain/projects/authenticated-key.ts';
import type { Database } from '../database.ts';

/**
 * The keys behind these digests, by the digest in hexadecimal, without those that are revoked, expired or of a disabled project.
 * In a file of its own, so that API servers and workers do not load MikroORM, which `keys.ts` needs for operators' commands.
 */
export async function findLiveKeys(
  database: Database,
  digests: readonly Buffer[],
): Promise<Map<string, AuthenticatedKey>> {
  const rows = await database.query<AuthenticatedKey & { digest: string }>(
    'find-live-keys',
    `select encode(s.digest, 'hex') as digest, k.id as key_id, k.project_id, k.scopes, k.ip_ranges, k.models, k.rpm, k.in_flight_max
     from api_key_secret s join api_key k on k.id = s.key_id join project p on p.id = k.project_id
     where s.digest = any ($1) and (s.expires_at is null or s.expires_at > clock_timestamp())
       and k.revoked_at is null and (k.expires_at is null or k.expires_at > clock_timestamp())
       and p.status = 'active'`,
    [digests],
  );
  return new Map(rows.map(({ digest, ...key }) => [digest, key]));
}
