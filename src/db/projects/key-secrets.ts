import type { Database, Query } from '../database.ts';
import { recordAudit } from '../operators/audit.ts';
import { isOfPlayground } from './is-of-playground.ts';
import { unixSeconds } from '../unix-seconds.ts';

export interface NewKeySecret {
  id: string;
  digest: Buffer;
  pepperId: string;
  prefix: string;
  last4: string;
  /** Whether the secret has the form of those that the gateway generates, so that secret scanners recognise it. */
  checksummed: boolean;
}

export interface AddedSecret {
  projectId: string;
  /** The newest secret before, of which these parts are shown. */
  previous: Pick<NewKeySecret, 'prefix' | 'last4'> | null;
  /** When the older secrets end, in unix seconds. */
  previousUntil: number;
}

export type SecretRefusal = 'unknown' | 'revoked' | 'playground' | 'too_often';

/**
 * Adds a secret to a key, and ends the older ones after the overlap. Returns when they end, in unix seconds, or why the key gets no
 * secret: `too_often` is beyond `perDayMax` of them in 24 hours, beside the first one.
 */
export const addKeySecret = (
  database: Database,
  input: { keyId: string; secret: NewKeySecret; overlapSeconds: number; perDayMax?: number | undefined; actor: string },
): Promise<number | SecretRefusal> =>
  database.transaction('begin', async (query, inside) => {
    const { keyId, secret, overlapSeconds, actor } = input;
    const added = await insertKeySecret(query, input);
    if (typeof added === 'string') return added;
    const { projectId, previousUntil, previous } = added;
    await recordAudit(inside, {
      actor,
      action: 'keys.rotate',
      subject: keyId,
      before: { secret: previous && displayed(previous), previousUntil: null },
      after: { secret: displayed(secret), previousUntil },
      detail: { projectId, ...(overlapSeconds === 0 && { now: true }) },
    });
    return previousUntil;
  });

/** A secret as lists show it. */
const displayed = ({ prefix, last4 }: Pick<NewKeySecret, 'prefix' | 'last4'>): string => `${prefix}…${last4}`;

/**
 * Adds a secret to a key, in the transaction of `query`. Its older secrets expire after the overlap. A key of the playground gets one only from
 * the playground itself. Concurrent rotations of a key run one after the other.
 */
export async function insertKeySecret(
  query: Query,
  input: {
    keyId: string;
    secret: NewKeySecret;
    overlapSeconds: number;
    perDayMax?: number | undefined;
    forPlayground?: boolean;
  },
): Promise<AddedSecret | SecretRefusal> {
  const { keyId, secret, overlapSeconds, perDayMax = Infinity, forPlayground = false } = input;
  const [key] = await query<{ projectId: string; revoked: boolean; ofPlayground: boolean; previousUntil: number }>(
    'operator-lock-key',
    `select project_id, revoked_at is not null as revoked, ${isOfPlayground} as of_playground,
       ${unixSeconds('clock_timestamp() + make_interval(secs => $2)')} as previous_until
     from api_key k where id = $1 for no key update`,
    [keyId, overlapSeconds],
  );
  if (!key) return 'unknown';
  if (key.revoked) return 'revoked';
  if (key.ofPlayground && !forPlayground) return 'playground';
  const recent = await query(
    'operator-recent-secrets',
    `select s.id from api_key_secret s where s.key_id = $1 and s.created_at > clock_timestamp() - interval '1 day'
       and exists (select from api_key_secret e where e.key_id = s.key_id and e.created_at < s.created_at)`,
    [keyId],
  );
  if (recent.length >= perDayMax) return 'too_often';
  const [previous = null] = await query<Pick<NewKeySecret, 'prefix' | 'last4'>>(
    'operator-newest-secret',
    'select prefix, last4 from api_key_secret where key_id = $1 order by created_at desc, id desc limit 1',
    [keyId],
  );
  await query(
    'operator-end-secrets',
    `update api_key_secret set expires_at = least(expires_at, to_timestamp($2)) where key_id = $1`,
    [keyId, key.previousUntil],
  );
  await query(
    'operator-add-secret',
    `insert into api_key_secret (id, key_id, digest, pepper_id, prefix, last4, checksummed)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [secret.id, keyId, secret.digest, secret.pepperId, secret.prefix, secret.last4, secret.checksummed],
  );
  return { projectId: key.projectId, previous, previousUntil: key.previousUntil };
}
