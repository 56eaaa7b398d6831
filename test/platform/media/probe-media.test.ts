import { deflateSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { probeBytes, probeMedia } from '../../../src/platform/media/probe-media.ts';

const ascii = (text: string) => Buffer.from(text, 'latin1');
const uint32 = (...values: number[]) => {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => bytes.writeUInt32BE(value >>> 0, index * 4));
  return bytes;
};
const box = (type: string, ...parts: Buffer[]) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([uint32(body.length + 8), ascii(type), body]);
};

const UPRIGHT = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000];
const QUARTER_TURN = [0, 0x10000, 0, -0x10000, 0, 0, 0, 0, 0x40000000];
const track = (handler: string, width: number, height: number, matrix = UPRIGHT) =>
  box(
    'trak',
    box('tkhd', uint32(0, 0, 0, 1, 0, 0, 0, 0, 0, 0), uint32(...matrix), uint32(width * 65_536, height * 65_536)),
    box('mdia', box('hdlr', uint32(0, 0), ascii(handler), Buffer.alloc(13))),
  );
const movieHeader = (perSecond: number, ticks: number) =>
  box('mvhd', uint32(0, 0, 0, perSecond, ticks), Buffer.alloc(80));
const fileType = (brand: string, ...compatible: string[]) =>
  box('ftyp', ascii(brand), uint32(0x200), ascii(compatible.length > 0 ? compatible.join('') : 'isom'));
const clip = (brand: string, ...tracks: Buffer[]) =>
  Buffer.concat([
    fileType(brand),
    box('mdat', Buffer.alloc(50_000)),
    box('moov', movieHeader(1_000, 8_042), ...tracks),
  ]);

const pngOf = (width: number, height: number) => {
  const chunk = (type: string, body: Buffer) => Buffer.concat([uint32(body.length), ascii(type), body, uint32(0)]);
  return Buffer.concat([
    ascii('\x89PNG\r\n\x1a\n'),
    chunk('IHDR', Buffer.concat([uint32(width, height), Buffer.from([8, 2, 0, 0, 0])])),
    chunk('IDAT', deflateSync(Buffer.alloc(10))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
};
const gif = Buffer.concat([ascii('GIF89a'), Buffer.from([7, 0, 5, 0]), Buffer.alloc(20)]);
const jpeg = Buffer.from('ffd8ffe000104a46494600010100000100010000ffc0001108001e002803012200021101031101ffd9', 'hex');
const webp = Buffer.concat([
  ascii('RIFF'),
  Buffer.from([30, 0, 0, 0]),
  ascii('WEBPVP8X'),
  Buffer.from([10, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 49, 0, 0]),
  Buffer.alloc(8),
]);
const wav = (() => {
  const bytes = Buffer.alloc(44 + 16_000);
  bytes.write('RIFF', 0, 'latin1');
  bytes.write('WAVEfmt ', 8, 'latin1');
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt32LE(8_000, 28);
  bytes.write('data', 36, 'latin1');
  bytes.writeUInt32LE(16_000, 40);
  return bytes;
})();

describe('probeMedia', () => {
  it.each([
    ['a PNG', pngOf(640, 360), { kind: 'image', mime_type: 'image/png', width: 640, height: 360, duration: null }],
    ['a GIF', gif, { kind: 'image', mime_type: 'image/gif', width: 7, height: 5, duration: null }],
    ['a JPEG', jpeg, { kind: 'image', mime_type: 'image/jpeg', width: 40, height: 30, duration: null }],
    ['a WebP', webp, { kind: 'image', mime_type: 'image/webp', width: 100, height: 50, duration: null }],
    [
      'an MP4 with its index at the end',
      clip('isom', track('soun', 0, 0), track('vide', 1920, 1080)),
      { kind: 'video', mime_type: 'video/mp4', width: 1920, height: 1080, duration: 8.042 },
    ],
    [
      'a QuickTime film',
      clip('qt  ', track('vide', 320, 240)),
      { kind: 'video', mime_type: 'video/quicktime', width: 320, height: 240, duration: 8.042 },
    ],
    [
      'a clip filmed upright',
      clip('mp42', track('vide', 1920, 1080, QUARTER_TURN)),
      { kind: 'video', mime_type: 'video/mp4', width: 1080, height: 1920, duration: 8.042 },
    ],
    [
      'an MP4 without pictures',
      clip('mp42', track('soun', 0, 0)),
      { kind: 'audio', mime_type: 'audio/mp4', width: null, height: null, duration: 8.042 },
    ],
    [
      'a WebM',
      Buffer.concat([ascii('\x1a\x45\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm'), Buffer.alloc(40)]),
      { kind: 'video', mime_type: 'video/webm', width: null, height: null, duration: null },
    ],
    [
      'an MP3 with a tag',
      Buffer.concat([ascii('ID3\x04\0\0'), Buffer.alloc(40)]),
      { kind: 'audio', mime_type: 'audio/mpeg', width: null, height: null, duration: null },
    ],
    [
      'a bare MP3',
      Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x44]), Buffer.alloc(40)]),
      { kind: 'audio', mime_type: 'audio/mpeg', width: null, height: null, duration: null },
    ],
    ['a WAV', wav, { kind: 'audio', mime_type: 'audio/wav', width: null, height: null, duration: 2 }],
  ])('recognises %s by its bytes', async (_what, bytes, expected) => {
    expect(await probeBytes(bytes)).toEqual(expected);
  });

  const movie = box('moov', movieHeader(1_000, 8_042), track('vide', 640, 360));
  it.each([
    'isom',
    'iso2',
    'iso5',
    'isoa',
    'isoc',
    'mp41',
    'mp42',
    'avc1',
    'avc3',
    'hvc1',
    'hev1',
    'av01',
    'vp09',
    'dvh1',
    'cmfc',
    'cmf2',
    'cmfs',
    'dash',
    'M4V ',
    'M4VH',
    'MSNV',
    'XAVC',
    'f4v ',
    'mmp4',
    '3gp4',
    '3gp6',
    '3g2a',
    'NDSC',
    'KDDI',
    'caqv',
    'lmsg',
    'piff',
    'ccff',
    'new!',
    '\0\0\0\0',
  ])('takes a container with the major brand %j for a clip', async (brand) => {
    for (const compatible of [[], [brand], ['isom', brand], ['zzzz']]) {
      const bytes = Buffer.concat([fileType(brand, ...compatible), movie]);
      expect(await probeBytes(bytes)).toEqual({
        kind: 'video',
        mime_type: 'video/mp4',
        width: 640,
        height: 360,
        duration: 8.042,
      });
    }
  });

  const stills: [brand: string, compatible: string[], mime: string][] = [
    ['avif', ['mif1', 'miaf'], 'image/avif'],
    ['avis', ['msf1', 'iso8'], 'image/avif'],
    ['mif1', ['mif1', 'heic', 'hevc'], 'image/heif'],
    ['heic', ['mif1', 'heic'], 'image/heic'],
    ['heix', [], 'image/heic'],
    ['hevc', ['heic', 'iso8'], 'image/heic'],
    ['msf1', ['iso8'], 'image/heif'],
    ['vvic', [], 'image/heif'],
    ['zzzz', ['mif1', 'avif'], 'image/heif'],
    ['crx ', ['crx ', 'isom'], 'image/x-canon-cr3'],
  ];
  it.each(stills)('takes a picture with the brand %j and %j for no clip', async (brand, compatible, mime) => {
    expect(
      await probeBytes(Buffer.concat([fileType(brand, ...compatible), box('meta', Buffer.alloc(40))])),
    ).toMatchObject({
      kind: 'image',
      mime_type: mime,
    });
  });

  it.each(['M4A ', 'M4B ', 'M4P ', 'F4A ', 'aax '])(
    'takes %j for audio, unless it has a track of pictures',
    async (brand) => {
      expect(await probeBytes(clip(brand, track('soun', 0, 0)))).toMatchObject({ kind: 'audio', duration: 8.042 });
      expect(await probeBytes(clip(brand, track('soun', 0, 0), track('vide', 8, 8)))).toMatchObject({
        kind: 'video',
        width: 8,
      });
      expect(await probeBytes(fileType(brand, 'isom'))).toMatchObject({ kind: 'audio' });
      expect(await probeBytes(Buffer.concat([fileType('zzzz', brand), Buffer.alloc(20)]))).toMatchObject({
        kind: 'audio',
      });
    },
  );

  it.each(['moov', 'mdat', 'wide', 'free', 'skip'])(
    'finds the film in a file without a brand that begins with %j',
    async (first) => {
      const rest = first === 'moov' ? Buffer.alloc(0) : box(first, Buffer.alloc(30));
      expect(await probeBytes(Buffer.concat([rest, movie]))).toMatchObject({
        kind: 'video',
        mime_type: 'video/quicktime',
        width: 640,
      });
      expect(await probeBytes(ascii(`The ${first} text of a page that is no film at all`))).toBeNull();
    },
  );

  it('finds the type of an EBML file wherever its head has it', async () => {
    const file = (type: string, padding: number) =>
      Buffer.concat([
        ascii('\x1a\x45\xdf\xa3\x9f\xec'),
        Buffer.alloc(padding),
        ascii(`B\x82${String.fromCharCode(0x80 + type.length)}${type}`),
        Buffer.alloc(40),
      ]);
    for (const padding of [2, 200, 800]) {
      expect(await probeBytes(file('webm', padding))).toMatchObject({ kind: 'video', mime_type: 'video/webm' });
      expect(await probeBytes(file('matroska', padding))).toMatchObject({
        kind: 'video',
        mime_type: 'video/x-matroska',
      });
    }
    expect(await probeBytes(file('other', 2))).toBeNull();
  });

  it('accepts a 64-bit box size and a box that extends to the end of the file', async () => {
    const movie = box('moov', movieHeader(600, 1_200), track('vide', 16, 8));
    const longData = Buffer.concat([uint32(1), ascii('mdat'), uint32(0, 116), Buffer.alloc(100)]);
    const toTheEnd = Buffer.concat([uint32(0), movie.subarray(4)]);
    expect(await probeBytes(Buffer.concat([fileType('isom'), longData, toTheEnd]))).toMatchObject({
      width: 16,
      height: 8,
      duration: 2,
    });
  });

  it('reads the duration of a fragmented clip from mehd', async () => {
    const movie = box('moov', movieHeader(1_000, 0), track('vide', 16, 8), box('mvex', box('mehd', uint32(0, 5_000))));
    expect(await probeBytes(Buffer.concat([fileType('iso5'), movie]))).toMatchObject({ duration: 5 });
  });

  it.each([
    ['nothing', ''],
    ['a page', '<!DOCTYPE html><html></html>'],
    ['JSON', '{"error":"not found"}'],
    ['a vector picture', '<svg xmlns="http://www.w3.org/2000/svg"/>'],
    ['a document', '%PDF-1.7 and more bytes'],
    ['an archive', 'PK\x03\x04 and more bytes'],
    ['a tiny file', '\x89PNG'],
  ])('recognises no media in %s', async (_what, text) => {
    expect(await probeBytes(ascii(text))).toBeNull();
  });

  it('returns the type without a size if the rest is missing', async () => {
    expect(await probeBytes(pngOf(1, 1).subarray(0, 14))).toMatchObject({ mime_type: 'image/png', width: null });
    expect(await probeBytes(clip('isom').subarray(0, 30_000))).toMatchObject({ mime_type: 'video/mp4', width: null });
  });

  it('never throws and reads a limited number of bytes for any content', async () => {
    const seeds = [
      pngOf(9, 9),
      gif,
      jpeg,
      webp,
      wav,
      clip('isom', track('vide', 16, 8)).subarray(-1_000),
      clip('isom', track('vide', 16, 8)),
    ];
    const heads = [fileType('isom'), fileType('avif'), ...seeds.map((seed) => seed.subarray(0, 16))];
    const hostile = fc.oneof(
      fc
        .tuple(fc.constantFrom(...heads), fc.uint8Array({ maxLength: 400 }))
        .map(([head, tail]) => Buffer.concat([head, tail])),
      fc
        .tuple(fc.constantFrom(...seeds), fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 8 }))
        .map(([seed, at, change]) => {
          const bytes = Buffer.from(seed);
          bytes.set(change.subarray(0, bytes.length - (at % bytes.length)), at % bytes.length);
          return bytes;
        }),
    );
    await fc.assert(
      fc.asyncProperty(hostile, async (bytes) => {
        let readBytes = 0;
        await probeMedia({
          size: bytes.length,
          read: (start, length) => {
            const piece = bytes.subarray(start, start + length);
            readBytes += piece.length;
            return Promise.resolve(piece);
          },
        });
        expect(readBytes).toBeLessThanOrEqual(2 * bytes.length + 64 * 16);
      }),
      { numRuns: 1_500 },
    );
  });

  it('reads a limited part of a file of any size', async () => {
    const head = Buffer.concat([fileType('isom'), uint32(16), ascii('free'), Buffer.alloc(8)]);
    let reads = 0;
    const endless = {
      size: 2 ** 50,
      read: (start: number, length: number) => {
        reads += 1;
        expect(length).toBeLessThanOrEqual(4 * 1_024 * 1_024);
        return Promise.resolve(start === 0 ? head : box('free', Buffer.alloc(8)));
      },
    };
    expect(await probeMedia(endless)).toMatchObject({ mime_type: 'video/mp4', width: null });
    expect(reads).toBeLessThan(100);
  });
});
