import { resealPage, type SealedColumn, type SealedValue } from '../../db/projects/sealed-values.ts';
import type { Deps } from '../../deps.ts';
import { SealError, type SealContext, type Sealer } from '../../platform/crypto/seal.ts';
import { callbackSecretContext } from './callback-secret.ts';
import { credentialContext } from '../channels/unseal-credential.ts';

/**
 * Seals every channel credential and callback secret with the first of MASTER_KEYS if another one sealed it. It is safe beside a
 * running gateway, because a value is replaced only if it is still the value that was read. Each page is one transaction with its
 * audit entry. Returns per kind how many were resealed, how many already were current, and the ids of those that no key decrypts,
 * which stay unchanged.
 */
export async function resealSecrets(deps: ResealDeps, { actor }: { actor: string }) {
  return {
    channel_credential: sumOf(
      await resealKind(deps, 'channel_credential', actor),
      await resealKind(deps, 'channel_pool_credential', actor),
    ),
    callback_secret: await resealKind(deps, 'callback_secret', actor),
    callback_secret_previous: await resealKind(deps, 'callback_secret_previous', actor),
  };
}

type ResealCount = Awaited<ReturnType<typeof resealKind>>;

const sumOf = (one: ResealCount, other: ResealCount): ResealCount => ({
  resealed: one.resealed + other.resealed,
  current: one.current + other.current,
  unreadable: [...one.unreadable, ...other.unreadable],
});

type ResealDeps = Pick<Deps, 'db' | 'sealer'>;

async function resealKind({ db, sealer }: ResealDeps, kind: SealedColumn, actor: string) {
  const count = { resealed: 0, current: 0, unreadable: new Array<string>() };
  let after = '';
  // Ends, because each page starts after the last one and only operators add rows.
  for (let page = 0; page < pagesMax; page++) {
    const wanted = { kind, after, limit: pageRows, actor };
    const { ids, resealed, current, unreadable } = await resealPage(db, wanted, (value) =>
      resealValue(sealer, kind, value),
    );
    count.resealed += resealed;
    count.current += current;
    count.unreadable.push(...unreadable);
    if (ids.length < pageRows) return count;
    after = ids.at(-1) ?? after;
  }
  throw new Error(`more than ${pagesMax * pageRows} values of ${kind}`);
}

function resealValue(
  sealer: Sealer,
  kind: SealedColumn,
  { id, value }: SealedValue,
): { to: string } | 'current' | 'unreadable' {
  if (sealer.isCurrent(value)) return 'current';
  const context = contexts[kind](id);
  try {
    return { to: sealer.seal(sealer.open(value, context), context) };
  } catch (error) {
    if (error instanceof SealError) return 'unreadable';
    throw error;
  }
}

const contexts: Record<SealedColumn, (id: string) => SealContext> = {
  channel_credential: credentialContext,
  channel_pool_credential: credentialContext,
  callback_secret: callbackSecretContext,
  // A rotation moves the old secret unchanged, so it stays bound to the column for which it was sealed.
  callback_secret_previous: callbackSecretContext,
};

const pageRows = 500;
const pagesMax = 20_000;
