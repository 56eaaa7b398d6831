import { buffer } from 'node:stream/consumers';
import sharp, { type Metadata, type Sharp } from 'sharp';
import type { CleanImage, DecoderHead } from './decode-image.ts';
import { imageType } from './image-type.ts';

/**
 * The program behind `createImageDecoder`: reads one picture from stdin, writes one line of JSON and the re-encoded picture to
 * stdout. Arguments: the most pixels, the most bytes of memory for them, the most bytes of output, and the most seconds of one
 * operation. The parent limits the total time.
 */
const [pixelsMax = 0, memoryBytesMax = 0, bytesMax = 0, secondsMax = 0] = process.argv.slice(2).map(Number);
if (!pixelsMax || !memoryBytesMax || !bytesMax || !secondsMax) throw new Error('the four limits are missing');

sharp.cache(false);
sharp.concurrency(1);
// libvips reads dozens of formats, SVG and PDF among them. Only these three loaders are allowed, and only from memory.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer'],
});

const input = await buffer(process.stdin);
const answer = await clean(input);
// A pipe accepts less than a whole picture, so the process lives until the parent has read all of it.
process.stdout.write(`${JSON.stringify(answer.head)}\n`);
process.stdout.end(answer.data ?? '');

interface DecoderAnswer {
  head: DecoderHead;
  data?: Buffer;
}

async function clean(bytes: Buffer): Promise<DecoderAnswer> {
  const refuse = (reason: Extract<DecoderHead, { kind: 'refused' }>['reason']): DecoderAnswer => ({
    head: { kind: 'refused', reason },
  });
  const declared = imageType(bytes);
  if (!declared) return refuse('undecodable');
  try {
    // `failOn: 'warning'` refuses truncated pictures instead of filling them with grey.
    const options = { limitInputPixels: pixelsMax, failOn: 'warning', pages: 1 } as const;
    const metadata = await sharp(bytes, options).metadata();
    if (`image/${metadata.format}` !== declared) return refuse('undecodable');
    if (metadata.width * metadata.height * bytesPerPixel(bytes, metadata) > memoryBytesMax) {
      return refuse('too_many_pixels');
    }
    const upright = sharp(bytes, options).timeout({ seconds: secondsMax }).autoOrient();
    const { data, info } = await encode(upright, declared).toBuffer({ resolveWithObject: true });
    if (data.length > bytesMax) return refuse('too_large');
    return {
      head: { kind: 'ok', mimeType: declared, width: info.width, height: info.height, bytes: data.length },
      data,
    };
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    if (message.startsWith('timeout:')) return refuse('too_slow');
    return refuse(/pixel limit/i.test(message) ? 'too_many_pixels' : 'undecodable');
  }
}

/**
 * The most bytes of memory per pixel, measured. Most pictures are processed a few rows at a time. Some kinds are held whole, and
 * WebP is held several times by its decoder and its encoder.
 */
function bytesPerPixel(
  bytes: Buffer,
  { format, channels, depth, isProgressive, chromaSubsampling, orientation }: Metadata,
): number {
  const pixelBytes = channels * (depth === 'uchar' ? 1 : 2);
  const turnedBytes = (orientation ?? 1) > 1 ? pixelBytes : 0;
  if (format === 'webp') return (bytes.toString('latin1', 12, 16) === 'VP8 ' ? 12 : 21) + turnedBytes;
  if (!isProgressive) return turnedBytes;
  // A progressive JPEG is held as coefficients of two bytes.
  if (format === 'jpeg') return (chromaSubsampling === '4:2:0' ? 3 : channels * 2) + 1.5 + turnedBytes;
  // An interlaced PNG is held whole.
  return pixelBytes + turnedBytes;
}

/** Fast settings, because large pictures must be encoded in seconds. */
function encode(image: Sharp, type: CleanImage['mimeType']): Sharp {
  switch (type) {
    case 'image/jpeg':
      // Optimised tables need all coefficients in memory.
      return image.jpeg({ quality: 90, optimiseCoding: false });
    case 'image/png':
      return image.png({ compressionLevel: 6 });
    case 'image/webp':
      return image.webp({ quality: 90, effort: 1 });
  }
}
