import { crc32, deflate } from 'node:zlib';
import { promisify } from 'node:util';
import { LRUCache } from 'lru-cache';
import { getOrMake } from '../../../src/platform/get-or-make.ts';

/**
 * A PNG of exactly this size: a diagonal gradient whose colour depends on the seed. Cached by size and seed, so that a thousand
 * tasks cost one picture. Sides are limited to 4096.
 */
export function picture(size: { width: number; height: number; seed: number }): Promise<Buffer> {
  const width = side(size.width);
  const height = side(size.height);
  const seed = Math.abs(Math.trunc(size.seed)) % seeds;
  return getOrMake(made, `${width}x${height}-${seed}`, () => draw(width, height, seed));
}

/** More colours would only fill the cache. */
export const seeds = 8;
export const sideMax = 4_096;
const made = new LRUCache<string, Promise<Buffer>>({ max: 128 });
const side = (pixels: number): number => Math.min(Math.max(Math.trunc(pixels) || 1, 1), sideMax);

/** PNG (ISO/IEC 15948): one byte a pixel into a palette of 256 shades. */
async function draw(width: number, height: number, seed: number): Promise<Buffer> {
  // Only the first row is drawn. Every later row is filtered to "as above" or "one shade further", which deflate packs well.
  const rows = Buffer.alloc((width + 1) * height);
  for (let x = 0; x < width; x += 1) rows[1 + x] = Math.floor((x * 128) / width);
  let shade = 0;
  for (let y = 1; y < height; y += 1) {
    const start = y * (width + 1);
    const next = Math.floor((y * 127) / height);
    rows[start] = filterUp;
    rows.fill(next - shade, start + 1, start + 1 + width);
    shade = next;
  }

  // The bytes of a colour follow each other: red, green, blue.
  const palette = Buffer.from(
    Array.from({ length: 256 * 3 }, (_, index) => {
      const hue = seed / seeds + (index % 3) / 3;
      return Math.round((Math.floor(index / 3) / 255) * (128 + 127 * Math.cos(2 * Math.PI * hue)));
    }),
  );
  const packed = await promisify(deflate)(rows, { level: 1 });
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', u32(width, height), Buffer.of(8, 3, 0, 0, 0)),
    chunk('PLTE', palette),
    chunk('IDAT', packed),
    chunk('IEND'),
  ]);
}

const filterUp = 2;

/** 32-bit integers, the most significant byte first. */
export const u32 = (...values: number[]): Buffer =>
  Buffer.from(values.map((value) => value.toString(16).padStart(8, '0')).join(''), 'hex');

function chunk(type: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), ...parts]);
  return Buffer.concat([u32(body.length - 4), body, u32(crc32(body))]);
}
