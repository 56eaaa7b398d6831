import type { NewKeySecret } from '../../db/projects/key-secrets.ts';
import type { Deps } from '../../deps.ts';
import { apiKeyChecksumOk, digestApiKey, displayPartsOf } from '../../platform/crypto/api-key.ts';
import { newId } from '../../platform/crypto/ids.ts';

/** The row of a key's secret. */
export const newSecretRow = (secrets: Deps['config']['secrets'], apiKey: string): NewKeySecret => ({
  id: newId('sec'),
  ...storedFormOf(secrets, apiKey),
  checksummed: apiKeyChecksumOk(apiKey),
});

/** What is stored in place of an API key or an admin token: its digest under the first pepper, and the parts that may be shown. */
export function storedFormOf(
  { keyPeppers }: Deps['config']['secrets'],
  secret: string,
): Omit<NewKeySecret, 'id' | 'checksummed'> {
  const [pepper] = keyPeppers;
  if (!pepper) throw new Error('no pepper is configured');
  return { digest: digestApiKey(secret, pepper.secret), pepperId: pepper.id, ...displayPartsOf(secret) };
}
