import { describe, expect, it } from '@jest/globals';
import { createDecipheriv, hkdfSync } from 'node:crypto';
import fc from 'fast-check';
import { createSealer, deriveKeys, SealError } from '../../../src/platform/crypto/seal.ts';

const k1 = { id: 'k1', secret: Buffer.alloc(32, 1) };
const k2 = { id: 'k2', secret: Buffer.alloc(32, 2) };
const ROW = 'channels|credential|chn_1';

describe('createSealer', () => {
  it('unseals every sealed text', () => {
    const sealer = createSealer([k1]);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (plain) => {
        fc.pre(plain.isWellFormed());
        return sealer.open(sealer.seal(plain, ROW), ROW) === plain;
      }),
    );
  });

  it('does not unseal a text that was copied to another row, column or table', () => {
    const sealer = createSealer([k1]);
    const sealed = sealer.seal('a credential', ROW);
    for (const context of ['channels|credential|chn_2', 'channels|name|chn_1', 'projects|credential|chn_1'] as const) {
      expect(() => sealer.open(sealed, context)).toThrow(SealError);
    }
  });

  it('refuses a text with any character changed, cut or added', () => {
    const sealer = createSealer([k1]);
    const sealed = sealer.seal('a credential', ROW);
    const accepted = Array.from(sealed).flatMap((character, at) => {
      // The last character of a base64url part may contain unused bits that no decoder reads.
      if (/^(\.|$)/.test(sealed.slice(at + 1)) && at > 5) return [];
      const changed = sealed.slice(0, at) + (character === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
      return unseals(() => sealer.open(changed, ROW)) ? [changed] : [];
    });
    expect(accepted).toEqual([]);
    for (const text of ['', 'v2', sealed.slice(0, -1), sealed.slice(0, -8), `${sealed}A`, `${sealed}\n`, 'v2.k1...']) {
      expect(unseals(() => sealer.open(text, ROW))).toBe(false);
    }
  });

  it('names no part of the value in its error', () => {
    const sealed = createSealer([k1]).seal('a credential', ROW);
    try {
      createSealer([k2]).open(sealed, ROW);
      expect('unsealed').toBe('refused');
    } catch (error) {
      expect(String(error)).not.toContain(sealed.split('.')[3]);
    }
  });

  it('seals with the first key of a ring and unseals with all of them, so that a rotation loses nothing', () => {
    const old = createSealer([k1]).seal('kept', ROW);
    const rotated = createSealer([k2, k1]);
    expect(rotated.open(old, ROW)).toBe('kept');
    expect(rotated.isCurrent(old)).toBe(false);
    expect(rotated.isCurrent(rotated.seal('kept', ROW))).toBe(true);
    expect(() => createSealer([k2]).open(old, ROW)).toThrow(SealError);
  });

  it('derives the key and the IV of each value from a salt of 256 random bits, so that no key seals two values', () => {
    const sealer = createSealer([k1]);
    const salts = Array.from({ length: 1_000 }, () => sealer.seal('x', ROW).split('.')[2] ?? '');
    expect(new Set(salts).size).toBe(1_000);
    expect(new Set(salts.map((salt) => Buffer.from(salt, 'base64url').length))).toEqual(new Set([32]));

    // The same value, unsealed as the format documents it.
    const [version, id, salt = '', sealed = '', tag = ''] = sealer.seal('a credential', ROW).split('.');
    expect([version, id]).toEqual(['v2', 'k1']);
    const bytes = Buffer.from(
      hkdfSync('sha256', k1.secret, Buffer.from(salt, 'base64url'), 'tollgate seal v2', 32 + 12),
    );
    const decipher = createDecipheriv('aes-256-gcm', bytes.subarray(0, 32), bytes.subarray(32), { authTagLength: 16 });
    decipher.setAAD(Buffer.from(ROW)).setAuthTag(Buffer.from(tag, 'base64url'));
    const plain = Buffer.concat([decipher.update(Buffer.from(sealed, 'base64url')), decipher.final()]);
    expect(plain.toString()).toBe('a credential');
  });
});

describe('deriveKeys', () => {
  it('returns one key per master key, different for each purpose', () => {
    const files = deriveKeys([k2, k1], 'file urls');
    expect(files).toHaveLength(2);
    expect(deriveKeys([k1], 'file urls')[0]?.equals(files[1] ?? Buffer.alloc(0))).toBe(true);
    expect(deriveKeys([k1], 'seal')[0]?.equals(files[1] ?? Buffer.alloc(0))).toBe(false);
  });
});

function unseals(unseal: () => string): boolean {
  try {
    unseal();
    return true;
  } catch (error) {
    if (error instanceof SealError) return false;
    throw error;
  }
}
