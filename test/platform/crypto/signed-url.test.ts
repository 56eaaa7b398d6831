import { describe, expect, it } from '@jest/globals';
import { createUrlSigner } from '../../../src/platform/crypto/signed-url.ts';

const keyA = Buffer.alloc(32, 1);
const keyB = Buffer.alloc(32, 2);
const FILE = 'file_01arz3ndektsv4rrffq69g5fav';

const partsOf = (text: string) => {
  const { searchParams } = new URL(text);
  return { expires: searchParams.get('expires') ?? '', signature: searchParams.get('signature') ?? '' };
};

describe('createUrlSigner', () => {
  const signer = createUrlSigner({ keys: [keyA], baseUrl: 'https://gateway.example/' });

  it('returns the same URL for the same file and expiry, so that poll and callback agree', () => {
    const url = signer.sign(FILE, 2_000);
    expect(url).toBe(createUrlSigner({ keys: [keyA], baseUrl: 'https://gateway.example' }).sign(FILE, 2_000));
    expect(url.startsWith(`https://gateway.example/files/${FILE}?expires=2000&signature=`)).toBe(true);
  });

  it('accepts its own URLs until they expire and not a second longer', () => {
    const { expires, signature } = partsOf(signer.sign(FILE, 2_000));
    expect(signer.verify(FILE, expires, signature, 1_999)).toBe(true);
    expect(signer.verify(FILE, expires, signature, 2_000)).toBe(false);
  });

  it('refuses another file, a later expiry, and any other signature', () => {
    const { expires, signature } = partsOf(signer.sign(FILE, 2_000));
    expect(signer.verify(`${FILE.slice(0, -1)}0`, expires, signature, 0)).toBe(false);
    expect(signer.verify(FILE, '9000', signature, 0)).toBe(false);
    for (const other of [
      '',
      'x',
      signature.slice(1),
      `${signature}=`,
      'A'.repeat(43),
      '\u0000'.repeat(43),
      `${signature}\n`,
    ]) {
      expect(signer.verify(FILE, expires, other, 0)).toBe(false);
    }
    for (const other of ['', '02000', '2000.0', '-1', 'NaN', '9'.repeat(40), '2000\n']) {
      expect(signer.verify(FILE, other, signature, 0)).toBe(false);
    }
  });

  it('accepts old URLs while the ring has the key that signed them', () => {
    const { expires, signature } = partsOf(signer.sign(FILE, 2_000));
    expect(createUrlSigner({ keys: [keyB, keyA], baseUrl: '' }).verify(FILE, expires, signature, 0)).toBe(true);
    expect(createUrlSigner({ keys: [keyB], baseUrl: '' }).verify(FILE, expires, signature, 0)).toBe(false);
  });

  it('returns the file id of its own URLs with any query, and null for other URLs', () => {
    const url = signer.sign(FILE, 2_000);
    const own = [url, url.replace(/\?.*/, ''), `${url}x`];
    expect(own.map((text) => signer.fileIdOf(text))).toEqual(own.map(() => FILE));
    expect(signer.fileIdOf(url.replace('gateway.example', 'Gateway.Example:443'))).toBe(FILE);
    for (const other of [
      '',
      FILE,
      `/files/${FILE}`,
      `https://gateway.example.evil/files/${FILE}`,
      `https://user@gateway.example/files/${FILE}`,
      `http://gateway.example/files/${FILE}`,
      `https://gateway.example:8443/files/${FILE}`,
      `https://gateway.example/files/${FILE}/x`,
      `https://gateway.example/files/../${FILE}`,
      `https://gateway.example/files/file_x`,
      `${url}${'x'.repeat(2_048)}`,
    ]) {
      expect({ other, id: signer.fileIdOf(other) }).toEqual({ other, id: null });
    }
    expect(createUrlSigner({ keys: [keyA], baseUrl: '' }).fileIdOf(url)).toBeNull();
  });
});
