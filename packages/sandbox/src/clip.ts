import { LRUCache } from 'lru-cache';
import { getOrMake } from '../../../src/platform/get-or-make.ts';
import { seeds, sideMax, u32 } from './picture.ts';

/**
 * A playable MP4 of exactly this size and duration: one plain H.264 picture, repeated by frames that change nothing. It is built
 * by hand (ISO/IEC 14496-12 and H.264), so that no encoder is needed and a minute of video has a few kilobytes.
 */
export function clip(options: { width: number; height: number; seconds: number; seed: number }): Buffer {
  const width = even(options.width);
  const height = even(options.height);
  const seconds = Math.min(Math.max(options.seconds || 1, 1), secondsMax);
  const seed = Math.abs(options.seed) % seeds;
  return getOrMake(made, `${width}x${height}x${seconds}-${seed}`, () => build(width, height, seconds, seed));
}

const secondsMax = 600;
const made = new LRUCache<string, Buffer>({ max: 128 });
/** H.264 with 4:2:0 colour has even sides only. */
const even = (pixels: number): number => Math.min(Math.max(Math.round((pixels || 2) / 2) * 2, 32), sideMax);

/** Frames per second. Low, because nothing moves. */
const rate = 8;
const timescale = 1_000;

function build(width: number, height: number, seconds: number, seed: number): Buffer {
  const columns = Math.ceil(width / 16);
  const rows = Math.ceil(height / 16);
  const frames = Math.max(Math.round(seconds * rate), 1);
  const samples = Array.from({ length: frames }, (_, index) => {
    const unit = index === 0 ? keyFrame(columns, rows, seed) : stillFrame(columns * rows, index);
    return Buffer.concat([u32(unit.length), unit]);
  });
  const duration = Math.round(seconds * timescale);
  const sample = sampleEntry(width, height, sequenceParameters(width, height, columns, rows));
  const head = box('ftyp', 'isom', u32(512), 'isomiso2avc1mp41');
  const movie = (dataAt: number) => movieBox({ width, height, duration, sample, sizes: samples.map(sizeOf), dataAt });
  // The sample table has the offset of the data, which depends on the table's own length: measure first, then fill in.
  const dataAt = head.length + movie(0).length + 8;
  return Buffer.concat([head, movie(dataAt), box('mdat', ...samples)]);
}

const sizeOf = ({ length }: Buffer): number => length;

// --- H.264 baseline, the few elements that a plain picture needs, written as texts of bits ------------------------------

const bits = (count: number, value: number): string => value.toString(2).padStart(count, '0');

/** An unsigned Exp-Golomb code (§9.1). The signed code of zero is the same as this one of zero. */
const ue = (value: number): string => bits(2 * Math.floor(Math.log2(value + 1)) + 1, value + 1);

/** Fills the last byte with zeros. */
const aligned = (text: string): string => text.padEnd(Math.ceil(text.length / 8) * 8, '0');

/** A NAL unit: its header, the elements, a stop bit, and escapes in place of start codes (§7.4.1). */
function unit(header: number, ...elements: string[]): Buffer {
  const escaped = [header];
  for (const [byte] of aligned(`${elements.join('')}1`).matchAll(/.{8}/g)) {
    const value = parseInt(byte, 2);
    if (value <= 3 && escaped.at(-1) === 0 && escaped.at(-2) === 0) escaped.push(3);
    escaped.push(value);
  }
  return Buffer.from(escaped);
}

/** §7.3.2.1. Cropping cuts the last macroblocks down to the asked size. */
function sequenceParameters(width: number, height: number, columns: number, rows: number): Buffer {
  const right = (columns * 16 - width) / 2;
  const bottom = (rows * 16 - height) / 2;
  return unit(
    0x67,
    bits(8, 66),
    bits(8, 0xc0),
    bits(8, 51),
    // seq_parameter_set_id; log2_max_frame_num - 4; output order is decoding order; max_num_ref_frames; no gaps
    ue(0),
    ue(4),
    ue(2),
    ue(1),
    '0',
    // The size; frames only; direct 8x8
    ue(columns - 1),
    ue(rows - 1),
    '1',
    '1',
    ...(right + bottom > 0 ? ['1', ue(0), ue(right), ue(0), ue(bottom)] : ['0']),
    '0', // no VUI
  );
}

/** §7.3.2.2. CAVLC; the slice may switch deblocking off. */
const pictureParameters = unit(0x68, ue(0), ue(0), '00', ue(0), ue(0), ue(0), '000', ue(0), ue(0), ue(0), '100');

/**
 * §7.3.3, §7.3.5. The first macroblock is raw and has the seed's colour. Every other one is predicted from its neighbours without
 * a difference, so that it takes the same colour in eight bits.
 */
function keyFrame(columns: number, rows: number, seed: number): Buffer {
  const angle = (2 * Math.PI * seed) / seeds;
  const blue = bits(8, Math.round(128 + 70 * Math.cos(angle)));
  const red = bits(8, Math.round(128 + 70 * Math.sin(angle)));
  // first_mb, I, pps, frame_num, idr_pic_id; no marking, qp, no deblocking; I_PCM
  const start = aligned([ue(0), ue(7), ue(0), bits(8, 0), ue(0), '00', ue(0), ue(1), ue(25)].join(''));
  // Intra 16x16, DC prediction, no coefficients; chroma DC; no change of qp
  const predicted = [ue(3), ue(0), ue(0)].join('');
  const others = Array.from({ length: columns * rows - 1 }, (_, index) => {
    // §9.2.1: "no coefficient" has a longer code beside and below the raw macroblock, which counts as full.
    const isBesideRaw = index === 0 || index === columns - 1;
    return predicted + (isBesideRaw ? '000011' : '1');
  });
  return unit(0x65, start, bits(8, 130).repeat(256), blue.repeat(64), red.repeat(64), ...others);
}

/** A P slice that skips every macroblock: first_mb, P, pps, frame_num; no overrides, qp, no deblocking; the skipped ones. */
const stillFrame = (macroblocks: number, index: number): Buffer =>
  unit(0x41, ue(0), ue(5), ue(0), bits(8, index % 256), '000', ue(0), ue(1), ue(macroblocks));

// --- MP4 boxes -------------------------------------------------------------------------------------------------------

interface Movie {
  width: number;
  height: number;
  duration: number;
  sample: Buffer;
  sizes: number[];
  dataAt: number;
}

function movieBox({ width, height, duration, sample, sizes, dataAt }: Movie): Buffer {
  const count = sizes.length;
  const step = Math.floor(duration / count);
  const table = box(
    'stbl',
    full('stsd', 0, u32(1), sample),
    full('stts', 0, u32(2, count - 1, step, 1, duration - step * (count - 1))),
    full('stss', 0, u32(1, 1)),
    full('stsc', 0, u32(1, 1, count, 1)),
    full('stsz', 0, u32(0, count, ...sizes)),
    full('stco', 0, u32(1, dataAt)),
  );
  const data = box('dinf', full('dref', 0, u32(1), full('url ', 1)));
  const media = box(
    'mdia',
    full('mdhd', 0, u32(0, 0, timescale, duration, 0x55c40000)),
    full('hdlr', 0, u32(0), 'vide', u32(0, 0, 0), 'video\0'),
    box('minf', full('vmhd', 1, u32(0, 0)), data, table),
  );
  const track = full('tkhd', 3, u32(0, 0, 1, 0, duration, 0, 0, 0, 0), matrix, u32(width * 0x10000, height * 0x10000));
  const times = u32(0, 0, timescale, duration, 0x10000, 0x1000000, 0, 0);
  return box('moov', full('mvhd', 0, times, matrix, Buffer.alloc(24), u32(2)), box('trak', track, media));
}

function sampleEntry(width: number, height: number, sequence: Buffer): Buffer {
  const coding = box(
    'avcC',
    Buffer.of(1, 66, 0xc0, 51, 0xff, 0xe1, 0, sequence.length),
    sequence,
    Buffer.of(1, 0, pictureParameters.length),
    pictureParameters,
  );
  const size = u32(0, 1, 0, 0, 0, 0, width * 0x10000 + height, 0x480000, 0x480000, 0);
  return box('avc1', size, Buffer.of(0, 1), Buffer.alloc(32), u32(0x18ffff), coding);
}

const matrix = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);

function box(type: string, ...parts: (Buffer | string)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)));
  return Buffer.concat([u32(body.length + 8), Buffer.from(type, 'latin1'), body]);
}

function full(type: string, flags: number, ...parts: (Buffer | string)[]): Buffer {
  return box(type, u32(flags), ...parts);
}
