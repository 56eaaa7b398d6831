import { recordAudit } from '../../db/audit.ts';
import { listSealed, replaceSealed, type SealedPlace } from '../../db/sealed-values.ts';
import type { Deps } from '../../deps.ts';
import { SealError, type SealContext } from '../../platform/crypto/seal.ts';
import { callbackSecretContext } from './create-project.ts';
import { credentialContext } from '../channels/unseal-credential.ts';

/**
 * Seals every channel credential and callback secret with the first of MASTER_KEYS if another one sealed it. It is safe beside a
 * running gateway, because a value is replaced only if it is still the value that was read. Returns per kind how many were
 * resealed, how many already were current, and the ids of those that no key decrypts, which stay unchanged.
 */
export async function resealSecrets({ db, sealer }: Pick<Deps, 'db' | 'sealer'>, { actor }: { actor: string }) {
  const resealPlace = async (place: SealedPlace) => {
    const count = { resealed: 0, current: 0, unreadable: new Array<string>() };
    const contextOf = contexts[place];
    let after = '';
    // Ends, because each page starts after the last one and only operators add rows.
    for (let page = 0; page < pagesMax; page++) {
      const values = await listSealed(db, place, { after, limit: pageRows });
      for (const { id, value } of values) {
        if (sealer.isCurrent(value)) {
          count.current += 1;
          continue;
        }
        try {
          const to = sealer.seal(sealer.open(value, contextOf(id)), contextOf(id));
          // A value that was changed in the meantime was sealed with the first key.
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
  // A rotation moves the old secret unchanged, so it stays bound to the column for which it was sealed.
  callback_secret_previous: callbackSecretContext,
};

const pageRows = 500;
const pagesMax = 20_000;
