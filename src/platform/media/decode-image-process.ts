import { buffer } from 'node:stream/consumers';
import sharp, { type Metadata, type Sharp } from 'sharp';
import { imageType, type CleanImage, type DecoderHead } from './decode-image.ts';

/**
 * The program behind `createImageDecoder`: one picture on stdin, one line of JSON and the clean picture on stdout. Its
 * arguments are the most pixels it decodes, the most bytes it takes for that, the most bytes it answers, and the whole seconds that
 * one operation may take: the parent watches all of them together.
 */
const [pixelsMax = 0, memoryBytesMax = 0, bytesMax = 0, secondsMax = 0] = process.argv.slice(2).map(Number);
if (!pixelsMax || !memoryBytesMax || !bytesMax || !secondsMax) throw new Error('the four limits are missing');

sharp.cache(false);
sharp.concurrency(1);
// libvips reads dozens of formats, SVG and PDF among them; only these three are opened, and only from memory.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer'],
});

const input = await buffer(process.stdin);
const answer = await clean(input);
// A pipe takes less than a picture at once; the process lives on until all of it is taken.
process.stdout.write(`${JSON.stringify(answer.head)}\n`);
process.stdout.end(answer.data ?? '');

interface Answer {
  head: DecoderHead;
  data?: Buffer;
}

async function clean(bytes: Buffer): Promise<Answer> {
  const refuse = (reason: Extract<DecoderHead, { kind: 'refused' }>['reason']): Answer => ({
    head: { kind: 'refused', reason },
  });
  const declared = imageType(bytes);
  if (!declared) return refuse('undecodable');
  try {
    // `failOn: 'warning'` refuses pictures that are cut short instead of filling them up with grey.
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
    return refuse(/pixel limit/i.test(message) ? 'too_many_pixels' : 'undecodable');
  }
}

/**
 * What a pixel takes in memory at most, measured. Most pictures stream through in a few rows; some kinds are held whole, and
 * WebP several times over by its decoder and its encoder.
 */
function bytesPerPixel(
  bytes: Buffer,
  { format, channels, depth, isProgressive, chromaSubsampling, orientation }: Metadata,
): number {
  const samples = channels * (depth === 'uchar' ? 1 : 2);
  const turned = (orientation ?? 1) > 1 ? samples : 0;
  if (format === 'webp') return (bytes.toString('latin1', 12, 16) === 'VP8 ' ? 12 : 21) + turned;
  if (!isProgressive) return turned;
  // A progressive JPEG is kept as coefficients of two bytes.
  if (format === 'jpeg') return (chromaSubsampling === '4:2:0' ? 3 : channels * 2) + 1.5 + turned;
  return samples + turned;
}

/** Cheap settings: large pictures must be done in seconds. */
function encode(image: Sharp, type: CleanImage['mimeType']): Sharp {
  switch (type) {
    case 'image/jpeg':
      // Optimised tables would need all coefficients in memory.
      return image.jpeg({ quality: 90, optimiseCoding: false });
    case 'image/png':
      return image.png({ compressionLevel: 6 });
    case 'image/webp':
      return image.webp({ quality: 90, effort: 1 });
  }
}
