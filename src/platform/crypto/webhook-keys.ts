import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { deriveKeys, type MasterKey } from './seal.ts';

/** An Ed25519 key that signs callbacks. */
export interface WebhookKey {
  /** Derived from the public key. */
  id: string;
  privateKey: KeyObject;
  /** `whpk_` and the 32 bytes in base64, as Standard Webhooks writes it. */
  publicKey: string;
}

/** One signing key per master key, in the ring's order. Sign with the first; receivers may still hold callbacks that the others signed. */
export const webhookKeys = (masterKeys: readonly MasterKey[]): WebhookKey[] =>
  deriveKeys(masterKeys, 'webhook-ed25519').map((seed) => {
    const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8_ED25519, seed]), format: 'der', type: 'pkcs8' });
    const bytes = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(-PUBLIC_BYTES);
    const id = `whk_${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}`;
    return { id, privateKey, publicKey: `whpk_${bytes.toString('base64')}` };
  });

/** What precedes the 32 secret bytes of a private key (RFC 8410 §7). */
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_BYTES = 32;
