import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  apiKeyChecksumOk,
  digestApiKey,
  displayPartsOf,
  generateApiKey,
  isPlausibleApiKey,
} from '../../../src/platform/crypto/api-key.ts';

const PRINTABLE = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index));

describe('generateApiKey', () => {
  it('returns a key in the documented format with a valid checksum', () => {
    for (let count = 0; count < 200; count += 1) {
      const key = generateApiKey();
      expect(key).toMatch(/^sk-[0-9A-Za-z]{46}$/);
      expect(apiKeyChecksumOk(key)).toBe(true);
    }
  });

  it('uses every base62 character', () => {
    const seen = new Set(Array.from({ length: 200 }, () => generateApiKey().slice(3, 43)).join(''));
    expect(seen.size).toBe(62);
  });
});

describe('apiKeyChecksumOk', () => {
  it('is false after any change of a single character', () => {
    fc.assert(
      fc.property(
        fc.nat(48),
        fc.constantFrom(...PRINTABLE),
        fc.constant(0).map(generateApiKey),
        (at, character, key) => {
          fc.pre(key[at] !== character);
          return !apiKeyChecksumOk(key.slice(0, at) + character + key.slice(at + 1));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('is false after every possible change of a single character of one key', () => {
    const key = generateApiKey();
    const passing = Array.from(key).flatMap((_, at) =>
      PRINTABLE.filter(
        (character) => character !== key[at] && apiKeyChecksumOk(key.slice(0, at) + character + key.slice(at + 1)),
      ),
    );
    expect(passing).toEqual([]);
  });

  it('is false for any text that is not our key, and never throws', () => {
    fc.assert(fc.property(fc.string({ maxLength: 600 }), (text) => !apiKeyChecksumOk(text)));
    expect(apiKeyChecksumOk(`${generateApiKey()}\n`)).toBe(false);
  });
});

describe('isPlausibleApiKey', () => {
  it('accepts header tokens of up to 512 characters and nothing else', () => {
    expect(isPlausibleApiKey(generateApiKey())).toBe(true);
    expect(isPlausibleApiKey('x'.repeat(512))).toBe(true);
    for (const text of ['', 'x'.repeat(513), 'a b', 'a\nb', 'kéy', 'a\u0000b', 'key\n']) {
      expect(isPlausibleApiKey(text)).toBe(false);
    }
  });
});

describe('digestApiKey', () => {
  it('returns 32 bytes that depend on the key and the pepper only', () => {
    const key = generateApiKey();
    const digest = digestApiKey(key, Buffer.alloc(32, 1));
    expect(digest).toHaveLength(32);
    expect(digestApiKey(key, Buffer.alloc(32, 1)).equals(digest)).toBe(true);
    expect(digestApiKey(key, Buffer.alloc(32, 2)).equals(digest)).toBe(false);
  });
});

describe('displayPartsOf', () => {
  it('shows the first eight characters and the last four', () => {
    expect(displayPartsOf('sk-ABCDEFGHIJKLMNOP')).toEqual({ prefix: 'sk-ABCDE', last4: 'MNOP' });
  });
});
