import { randomBytes } from 'node:crypto';
import { createDeflate, crc32, deflateSync } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';

/** A picture of one colour, which is fast to create at any size. */
export const plain = (width: number, height: number, { alpha = false, colour = '#2a6f97' } = {}): Sharp =>
  sharp({ create: { width, height, channels: alpha ? 4 : 3, background: colour } });

export const png = (width = 40, height = 30): Promise<Buffer> => plain(width, height).png().toBuffer();
export const jpeg = (width = 40, height = 30): Promise<Buffer> => plain(width, height).jpeg().toBuffer();
export const webp = (width = 40, height = 30): Promise<Buffer> => plain(width, height).webp().toBuffer();

/**
 * A baseline JPEG of one grey. Only a picture of one block is encoded, and its 32 bits of image data are repeated for each block of
 * 16 × 16 pixels, so that a large picture costs no CPU time.
 */
export async function flatJpeg(width: number, height: number, { orientation = 1 } = {}): Promise<Buffer> {
  const block = await plain(16, 16, { colour: '#808080' })
    .withMetadata({ orientation })
    .jpeg({ optimiseCoding: false })
    .toBuffer();
  const dataAt = block.indexOf(Buffer.from([0xff, 0xda, 0, 12])) + 14;
  const sizeAt = block.indexOf(Buffer.from([0xff, 0xc0, 0, 17])) + 5;
  const head = Buffer.from(block.subarray(0, dataAt));
  head.writeUInt16BE(height, sizeAt);
  head.writeUInt16BE(width, sizeAt + 2);
  const blocks = Math.ceil(width / 16) * Math.ceil(height / 16);
  return Buffer.concat([
    head,
    Buffer.alloc(blocks * 4, block.subarray(dataAt, dataAt + 4)),
    block.subarray(dataAt + 4),
  ]);
}

/** A picture with a red and a blue frame. */
export const animatedWebp = async (): Promise<Buffer> => {
  const frames = await Promise.all(['#f00', '#00f'].map((colour) => plain(20, 10, { colour }).png().toBuffer()));
  return sharp(frames, { join: { animated: true } })
    .webp({ lossless: true })
    .toBuffer();
};

/** A picture with two frames, of which decoders without APNG support see only the first. */
export async function animatedPng(): Promise<Buffer> {
  const [first, second] = await Promise.all([png(20, 10), plain(20, 10, { colour: '#f00' }).png().toBuffer()]);
  const frame = (sequence: number): Buffer =>
    chunk('fcTL', uint32(sequence, 20, 10, 0, 0), Buffer.from([0, 1, 0, 10, 0, 0]));
  const begin = first.indexOf('IDAT') - 4;
  const end = first.indexOf('IEND') - 4;
  return Buffer.concat([
    first.subarray(0, begin),
    chunk('acTL', uint32(2, 0)),
    frame(0),
    first.subarray(begin, end),
    frame(1),
    chunk('fdAT', uint32(2), dataOf(second)),
    first.subarray(end),
  ]);
}

/** A PNG of about 100 kB that decompresses to `side` × `side` white pixels. */
export async function bomb(side: number): Promise<Buffer> {
  const row = Buffer.alloc(1 + Math.ceil(side / 8), 255).fill(0, 0, 1);
  const packer = createDeflate({ level: 1 });
  const packed: Buffer[] = [];
  packer.on('data', (part: Buffer) => packed.push(part));
  const done = new Promise((resolve) => packer.once('end', resolve));
  const rows = Buffer.concat(Array.from({ length: 100 }, () => row));
  for (let written = 0; written < side; written += 100) packer.write(rows);
  packer.end();
  await done;
  return pngFile({ width: side, height: side, bitDepth: 1 }, Buffer.concat(packed));
}

/** A PNG whose header claims `width` × `height` grey pixels, with only ten bytes of pixel data. */
export const lyingPng = (width: number, height: number): Buffer =>
  pngFile({ width, height, bitDepth: 8 }, deflateSync(Buffer.alloc(10)));

function pngFile(header: { width: number; height: number; bitDepth: number }, data: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', uint32(header.width, header.height), Buffer.from([header.bitDepth, 0, 0, 0, 0])),
    chunk('IDAT', data),
    chunk('IEND'),
  ]);
}

const dataOf = (file: Buffer): Buffer => {
  const at = file.indexOf('IDAT');
  return file.subarray(at + 4, at + 4 + file.readUInt32BE(at - 4));
};

function chunk(name: string, ...content: Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), ...content]);
  return Buffer.concat([uint32(body.length - 4), body, uint32(crc32(body))]);
}

const uint32 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => bytes.writeUInt32BE(value, index * 4));
  return bytes;
};

/** A square picture of random pixels, which no format compresses: about three bytes for each pixel. */
export const noise = (side: number): Promise<Buffer> =>
  sharp(randomBytes(side * side * 3), { raw: { width: side, height: side, channels: 3 } })
    .png({ compressionLevel: 0 })
    .toBuffer();
