import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decodeDataUri } from '../../../src/platform/media/data-uri.ts';

describe('decodeDataUri', () => {
  it('returns the bytes and the declared type of every well-formed URI', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), (array) => {
        const bytes = Buffer.from(array);
        const result = decodeDataUri(`data:image/PNG;base64,${bytes.toString('base64')}`, { maxBytes: bytes.length });
        return result.kind === 'ok' && result.bytes.equals(bytes) && result.mimeType === 'image/png';
      }),
    );
  });

  it('refuses a file that is one byte too large', () => {
    const uri = `data:image/png;base64,${Buffer.alloc(101).toString('base64')}`;
    expect(decodeDataUri(uri, { maxBytes: 100 })).toEqual({ kind: 'refused', reason: 'too_large' });
    expect(decodeDataUri(uri, { maxBytes: 101 }).kind).toBe('ok');
  });

  it('accepts parameters before the encoding', () => {
    expect(decodeDataUri('data:audio/wav;codec=1;base64,AAAA', { maxBytes: 9 })).toMatchObject({
      mimeType: 'audio/wav',
    });
  });

  it.each([
    '',
    'data:',
    'data:,',
    'data:image/png,abc',
    'data:image/png;base64',
    'data:image/png;base64,',
    'data:image/png;base64,A',
    'data:image/png;base64,AA=A',
    'data:image/png;base64,AAA==',
    'data:image/png;base64,A A=',
    'data:image/png;base64,AA_-',
    'data:image/png;base64,=',
    'data:image/png;base64,====',
    'https://x.example/data:image/png;base64,AAAA',
    ' data:image/png;base64,AAAA',
    `data:${'x'.repeat(300)}/png;base64,AAAA`,
    'data:image/png;base64,AAAA\n',
  ])('refuses the malformed %j', (text) => {
    expect(decodeDataUri(text, { maxBytes: 1_000 })).toEqual({ kind: 'refused', reason: 'malformed' });
  });
});
