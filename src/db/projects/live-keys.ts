import type { AuthenticatedKey } from '../../domain/projects/authenticated-key.ts';
import type { PlanRule } from '../../domain/plans/plan.ts';
import type { Database } from '../database.ts';
import { isUntakenChat, undeliveredRoute } from '../idempotency.ts';

/**
 * The keys behind these digests and the plain ones of imported keys, by the digest in hexadecimal, without those that are revoked, expired or of
 * a disabled project. In a file of its own, so that API servers and workers do not load MikroORM, which `keys.ts` needs.
 */
export async function findLiveKeys(
  database: Database,
  digests: readonly Buffer[],
  plainDigests: readonly Buffer[] = [],
): Promise<Map<string, AuthenticatedKey>> {
  const rows = await database.query<LiveKey>(
    'find-live-keys',
    `select encode(s.digest, 'hex') as digest, k.id as key_id, k.project_id, k.scopes, k.ip_ranges, k.models, k.rpm, k.in_flight_max, p.trace_content,
       exists (select from idempotency i where i.project_id = k.project_id and i.route = $3 || k.id and ${isUntakenChat}) as has_lost_chats,
       n.id as plan_id, n.name as plan_name, n.revision as plan_revision, n.rules as plan_rules
     from api_key_secret s join api_key k on k.id = s.key_id join project p on p.id = k.project_id
       left join plan n on n.id = p.plan_id
     where s.digest = any ($1::bytea[] || $2::bytea[]) and (s.expires_at is null or s.expires_at > clock_timestamp())
       and k.revoked_at is null and (k.expires_at is null or k.expires_at > clock_timestamp())
       and p.status = 'active'`,
    [digests, plainDigests, undeliveredRoute('')],
  );
  return new Map(
    rows.map(({ digest, planId, planName, planRevision, planRules, ...key }) => {
      const plan = planId === null ? null : { planId, name: planName, revision: planRevision, rules: planRules };
      return [digest, { ...key, plan }];
    }),
  );
}

/** Replaces the digest of a secret, which has no effect on its key. */
export const replaceSecretDigest = (
  database: Database,
  before: Buffer,
  after: { digest: Buffer; pepperId: string; prefix: string; last4: string; checksummed: boolean },
): Promise<unknown> =>
  database.query(
    'replace-secret-digest',
    `update api_key_secret set digest = $2, pepper_id = $3, prefix = $4, last4 = $5, checksummed = $6 where digest = $1`,
    [before, after.digest, after.pepperId, after.prefix, after.last4, after.checksummed],
  );

interface LiveKey extends Omit<AuthenticatedKey, 'plan'> {
  digest: string;
  /** Null, and with it the other members of the plan, if the project has none. */
  planId: string | null;
  planName: string;
  planRevision: number;
  planRules: PlanRule[];
}
