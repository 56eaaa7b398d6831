import { recordAudit } from '../../db/audit.ts';
import { listSealed, replaceSealed, type SealedPlace } from '../../db/sealed-values.ts';
import type { Deps } from '../../deps.ts';
import { SealError, type SealContext } from '../../platform/crypto/seal.ts';
import { callbackSecretContext } from './create-project.ts';
import { credentialContext } from '../channels/unseal-credential.ts';

export interface ResealCount {
  resealed: number;
  /** Under the newest key before. */
  current: number;
  /** Values that no configured key opens. They were left as they are. */
  unreadable: string[];
}

/**
 * Seals every channel credential and callback secret that an older key of MASTER_KEYS sealed anew under the first. Run again
 * it finds nothing to do; beside a running gateway it loses no change, for a value is replaced only while it is the one read.
 */
export async function resealSecrets(
  { db, sealer }: Pick<Deps, 'db' | 'sealer'>,
  { actor }: { actor: string },
): Promise<Record<SealedPlace, ResealCount>> {
  const resealPlace = async (place: SealedPlace): Promise<ResealCount> => {
    const count: ResealCount = { resealed: 0, current: 0, unreadable: [] };
    const contextOf = contexts[place];
    let after = '';
    // Ends by itself: each page begins behind the last, and the rows are those of operators.
    for (let page = 0; page < pagesMax; page++) {
      const values = await listSealed(db, place, { after, limit: pageRows });
      for (const { id, value } of values) {
        if (sealer.isCurrent(value)) {
          count.current += 1;
          continue;
        }
        try {
          const to = sealer.seal(sealer.open(value, contextOf(id)), contextOf(id));
          // Who changed it meanwhile sealed it under the key that writes.
          if (await replaceSealed(db, place, { id, from: value, to })) count.resealed += 1;
          else count.current += 1;
        } catch (error) {
          if (!(error instanceof SealError)) throw error;
          count.unreadable.push(id);
        }
      }
      if (values.length < pageRows) return count;
      after = values.at(-1)?.id ?? after;
    }
    throw new Error(`more than ${pagesMax * pageRows} values of ${place}`);
  };
  const counts = {
    channel_credential: await resealPlace('channel_credential'),
    callback_secret: await resealPlace('callback_secret'),
    callback_secret_previous: await resealPlace('callback_secret_previous'),
  };
  const resealed = Object.fromEntries(Object.entries(counts).map(([place, count]) => [place, count.resealed]));
  if (Object.values(resealed).some((changed) => changed > 0))
    await recordAudit(db, { actor, action: 'secrets.reseal', subject: 'secrets', detail: resealed });
  return counts;
}

const contexts: Record<SealedPlace, (id: string) => SealContext> = {
  channel_credential: credentialContext,
  callback_secret: callbackSecretContext,
  // A rotation moves the old secret as it is, so it stays bound to the column it was made for.
  callback_secret_previous: callbackSecretContext,
};

const pageRows = 500;
const pagesMax = 20_000;
