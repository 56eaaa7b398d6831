import { crc32, deflate } from 'node:zlib';
import { promisify } from 'node:util';

/**
 * A PNG of exactly this size: a diagonal gradient whose colour depends on the seed. Cached by size and seed, so that a thousand
 * tasks cost one picture. Sides are limited to 4096.
 */
export function picture(size: { width: number; height: number; seed: number }): Promise<Buffer> {
  const width = side(size.width);
  const height = side(size.height);
  const seed = Math.abs(Math.trunc(size.seed)) % seeds;
  const key = `${width}x${height}-${seed}`;
  const known = made.get(key);
  if (known) return known;
  const bytes = draw(width, height, seed);
  made.set(key, bytes);
  if (made.size > keptMax) {
    const oldest = made.keys().next();
    if (!oldest.done) made.delete(oldest.value);
  }
  return bytes;
}

/** More colours would only fill the cache. */
export const seeds = 8;
const sideMax = 4_096;
const keptMax = 128;
const made = new Map<string, Promise<Buffer>>();
const side = (pixels: number): number => Math.min(Math.max(Math.trunc(pixels) || 1, 1), sideMax);

/** PNG (ISO/IEC 15948): one byte a pixel into a palette of 256 shades. */
async function draw(width: number, height: number, seed: number): Promise<Buffer> {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);

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

  const hue = seed / seeds;
  const palette = Buffer.alloc(256 * 3);
  for (let index = 0; index < 256; index += 1) {
    for (let channel = 0; channel < 3; channel += 1) {
      palette[index * 3 + channel] = Math.round(
        (index / 255) * (128 + 127 * Math.cos(2 * Math.PI * (hue + channel / 3))),
      );
    }
  }
  const packed = await promisify(deflate)(rows, { level: 1 });
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('PLTE', palette),
    chunk('IDAT', packed),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const filterUp = 2;

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}
