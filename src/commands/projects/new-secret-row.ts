import type { NewKeySecret } from '../../db/key-secrets.ts';
import type { Deps } from '../../deps.ts';
import { digestApiKey, displayPartsOf } from '../../platform/crypto/api-key.ts';
import { newId } from '../../platform/crypto/ids.ts';

/** The row of a secret, with a digest under the first pepper. */
export function newSecretRow({ keyPeppers }: Deps['config']['secrets'], apiKey: string): NewKeySecret {
  const [pepper] = keyPeppers;
  if (!pepper) throw new Error('no pepper is configured');
  return {
    id: newId('sec'),
    digest: digestApiKey(apiKey, pepper.secret),
    pepperId: pepper.id,
    ...displayPartsOf(apiKey),
  };
}
