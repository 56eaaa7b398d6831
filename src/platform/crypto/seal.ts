import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes, type KeyObject } from 'node:crypto';

/** One entry of `MASTER_KEYS`. The first of a ring seals, all of them unseal. */
export interface MasterKey {
  id: string;
  /** At least 32 bytes. */
  secret: Buffer;
}

/** The context of a sealed value. It can be unsealed in this context only. */
export type SealContext = `${string}|${string}|${string}`;

export interface Sealer {
  /** Sealed text `v2.<key id>.<salt>.<ciphertext>.<tag>`, base64url. `context` is `table|column|row_id`. */
  seal(plain: string, context: SealContext): string;
  /** Returns the plain text. Throws `SealError` for another row, an unknown key or a changed text. */
  open(text: string, context: SealContext): string;
  /** Whether the text is sealed under the first key. `secrets reseal` rewrites the others. */
  isCurrent(text: string): boolean;
}

/** A sealed value that cannot be unsealed. The message has the reason and never any part of the value. */
export class SealError extends Error {
  override readonly name = 'SealError';
}

/**
 * AES-256-GCM for secrets at rest. Each value has a key and an IV of its own, derived from a random salt: one key with random IVs may
 * seal 2³² values at most (NIST SP 800-38D §8.3), which a thousand stored chats a second reach in 50 days. The context of the value is
 * the associated data, so that a ciphertext copied to another row cannot be unsealed. Throws for an empty ring.
 */
export function createSealer(masterKeys: readonly MasterKey[]): Sealer {
  // Node takes longer with a key that is given as bytes.
  const ring = masterKeys.map(({ id, secret }) => ({ id, secret: createSecretKey(secret) }));
  const secrets = new Map(ring.map(({ id, secret }) => [id, secret]));
  const [writer] = ring;
  if (!writer) throw new SealError('no master key is configured');

  return {
    seal(plain, context) {
      const salt = randomBytes(SALT_BYTES);
      const { key, iv } = deriveOnce(writer.secret, salt);
      const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(context, 'utf8'));
      const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      const parts = [salt, sealed, cipher.getAuthTag()].map((part) => part.toString('base64url'));
      return ['v2', writer.id, ...parts].join('.');
    },

    open(text, context) {
      const [, id, salt, sealed, tag] = SEALED.exec(text) ?? [];
      if (id === undefined || salt === undefined || sealed === undefined || tag === undefined) {
        throw new SealError('the text is not a sealed value');
      }
      const secret = secrets.get(id);
      if (!secret) throw new SealError('sealed under a master key that is not configured');
      try {
        const { key, iv } = deriveOnce(secret, Buffer.from(salt, 'base64url'));
        // Without a fixed tag length a shortened tag would be accepted.
        const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
        decipher.setAAD(Buffer.from(context, 'utf8'));
        decipher.setAuthTag(Buffer.from(tag, 'base64url'));
        return Buffer.concat([decipher.update(Buffer.from(sealed, 'base64url')), decipher.final()]).toString('utf8');
      } catch (cause) {
        throw new SealError('the sealed value was changed or belongs to another row', { cause });
      }
    },

    isCurrent: (text) => text.startsWith(`v2.${writer.id}.`),
  };
}

/** The key and the IV of one value. A second value with the same salt would be as unsafe as a repeated IV; 256 random bits prevent it. */
function deriveOnce(secret: KeyObject, salt: Buffer): { key: KeyObject; iv: Buffer } {
  const bytes = Buffer.from(hkdfSync('sha256', secret, salt, 'tollgate seal v2', KEY_BYTES + IV_BYTES));
  return { key: createSecretKey(bytes.subarray(0, KEY_BYTES)), iv: bytes.subarray(KEY_BYTES) };
}

/**
 * One 32-byte key per master key for one purpose (HKDF-SHA256, RFC 5869), in the ring's order. Sign with the first and accept all,
 * so that signatures from before a rotation stay valid.
 */
export function deriveKeys(masterKeys: readonly MasterKey[], purpose: string): Buffer[] {
  return masterKeys.map(({ secret }) => Buffer.from(hkdfSync('sha256', secret, '', `tollgate ${purpose}`, 32)));
}

const SALT_BYTES = 32;
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const SEALED = /^v2\.([a-z0-9]{1,16})\.([\w-]{43})\.([\w-]*)\.([\w-]{22})$/i;
