import { buffer } from 'node:stream/consumers';
import { imageSize } from 'image-size';
import type { FileStore } from '../files/file-store.ts';
import { imageType } from './image-type.ts';
import { isoFormat, type FileFormat } from './iso-brands.ts';

/** The properties of a media file, read from its bytes. Null where unknown. */
export interface MediaProbe extends FileFormat {
  /** Pixels as displayed: a video recorded in portrait is taller than wide. */
  width: number | null;
  height: number | null;
  /** Seconds. */
  duration: number | null;
}

/** A random-access source of bytes. */
export interface ByteSource {
  size: number;
  /** Up to `length` bytes from `start`; fewer at the end. */
  read(start: number, length: number): Promise<Buffer>;
}

/**
 * Identifies a file by its bytes, never by its name or declared type: PNG, JPEG, WebP, GIF, AVIF, HEIF, MP4, MOV, WebM, Matroska, MP3 or WAV. Null
 * for anything else. Reads a bounded part of the file and never throws because of its content. Errors of `read` pass through.
 */
export async function probeMedia(source: ByteSource): Promise<MediaProbe | null> {
  const head = await source.read(0, Math.min(source.size, HEAD_BYTES));
  const format = sniff(head);
  if (!format) return null;
  const unknown: MediaProbe = { ...format, width: null, height: null, duration: null };
  if (format.kind === 'image') return { ...unknown, ...pictureDimensions(head) };
  if (format.mime_type === 'audio/wav') return { ...unknown, duration: wavSeconds(head) };
  if (['video/mp4', 'video/quicktime', 'audio/mp4'].includes(format.mime_type)) {
    const movie = await findMovieBox(source);
    const described = movie ? describeMovie(unknown, movie) : unknown;
    // Without a brand only a track of pictures tells a film from any other file.
    return isoFormat(head) || described.width !== null ? described : null;
  }
  return unknown;
}

/** The same for bytes in memory. */
export function probeBytes(bytes: Buffer): Promise<MediaProbe | null> {
  return probeMedia({
    size: bytes.length,
    read: (start, length) => Promise.resolve(bytes.subarray(start, start + length)),
  });
}

/**
 * The same for a file in the store. Reads only the necessary parts, and nothing that `head`, the file's first bytes, already has.
 * Throws `FileMissingError`.
 */
export async function probeStored(
  store: Pick<FileStore, 'open'>,
  key: string,
  size: number,
  head: Buffer = Buffer.alloc(0),
): Promise<MediaProbe | null> {
  return probeMedia({
    size,
    async read(start, length) {
      const end = Math.min(start + length, size) - 1;
      if (end < head.length) return head.subarray(start, end + 1);
      return end < start ? Buffer.alloc(0) : buffer(await store.open(key, { start, end }));
    },
  });
}

/** Enough to reach the size fields of a picture after a large colour profile or thumbnail. */
export const HEAD_BYTES = 512 * 1_024;
/** Bytes of the movie box. The dimensions of the tracks come before their sample tables, so its beginning is enough. */
const MOVIE_BYTES_MAX = 4 * 1_024 * 1_024;
const TOP_BOXES_MAX = 64;
const INNER_BOXES_MAX = 256;

const image = (mime_type: string): FileFormat => ({ kind: 'image', mime_type });
const video = (mime_type: string): FileFormat => ({ kind: 'video', mime_type });
const audio = (mime_type: string): FileFormat => ({ kind: 'audio', mime_type });

function sniff(head: Buffer): FileFormat | null {
  const text = (start: number, end: number) => head.toString('latin1', start, end);
  if (head.length < 12) return null;
  const decodable = imageType(head);
  if (decodable) return image(decodable);
  if (text(0, 6) === 'GIF87a' || text(0, 6) === 'GIF89a') return image('image/gif');
  if (text(0, 4) === 'RIFF' && text(8, 12) === 'WAVE') return audio('audio/wav');
  const container = isoFormat(head);
  if (container) return container;
  // The QuickTime file format has no brand box before 2001, and some encoders still write none.
  if (/^(moov|mdat|wide|free|skip|pnot)$/.test(text(4, 8))) return video('video/quicktime');
  if (text(0, 4) === '\x1a\x45\xdf\xa3') return matroska(text(0, EBML_HEAD_BYTES));
  if (text(0, 3) === 'ID3' || isMp3Frame(head)) return audio('audio/mpeg');
  return null;
}

/** RFC 8794 §11.2: the element DocType (0x4282), wherever in the EBML head it is. */
function matroska(ebml: string): FileFormat | null {
  const type = /\x42\x82[\x80-\xff]([a-z]+)/.exec(ebml)?.[1];
  if (type === 'webm') return video('video/webm');
  return type === 'matroska' ? video('video/x-matroska') : null;
}

const EBML_HEAD_BYTES = 1_024;

/** ISO 11172-3: eleven sync bits, layer III, and no reserved version, bit rate or sampling rate. */
function isMp3Frame(head: Buffer): boolean {
  const [sync = 0, second = 0, third = 0] = head;
  const layerThree = sync === 0xff && (second & 0xe6) === 0xe2 && (second & 0x18) !== 0x08;
  return layerThree && (third & 0xf0) !== 0xf0 && (third & 0xf0) !== 0 && (third & 0x0c) !== 0x0c;
}

function pictureDimensions(head: Buffer): Pick<MediaProbe, 'width' | 'height'> {
  try {
    const { width, height } = imageSize(head);
    return { width: positive(width), height: positive(height) };
  } catch {
    // Truncated or false: the type is known, the dimensions are not.
    return { width: null, height: null };
  }
}

function wavSeconds(head: Buffer): number | null {
  let bytesPerSecond = 0;
  let at = 12;
  for (let chunk = 0; chunk < TOP_BOXES_MAX && at + 8 <= head.length; chunk += 1) {
    const name = head.toString('latin1', at, at + 4);
    const size = head.readUInt32LE(at + 4);
    if (name === 'fmt ' && at + 20 <= head.length) bytesPerSecond = head.readUInt32LE(at + 16);
    // A streaming encoder writes 0xffffffff for an unknown size.
    if (name === 'data') return bytesPerSecond > 0 && size < 0xffffffff ? seconds(size / bytesPerSecond) : null;
    at += 8 + size + (size % 2);
  }
  return null;
}

/** Walks the top-level boxes to `moov`, which is at the end of files that were written in one pass. */
async function findMovieBox(source: ByteSource): Promise<Buffer | null> {
  let at = 0;
  for (let count = 0; count < TOP_BOXES_MAX && at + 8 <= source.size; count += 1) {
    const box = readBoxHeader(await source.read(at, 16), source.size - at);
    if (!box) return null;
    if (box.type === 'moov') {
      return source.read(at + box.headerBytes, Math.min(box.size - box.headerBytes, MOVIE_BYTES_MAX));
    }
    at += box.size;
  }
  return null;
}

interface BoxHeader {
  type: string;
  /** Includes the header. */
  size: number;
  headerBytes: number;
}

/** ISO 14496-12 §4.2: size 1 means that a 64-bit size follows, 0 means to the end of the enclosing box. */
function readBoxHeader(bytes: Buffer, remaining: number): BoxHeader | null {
  if (bytes.length < 8) return null;
  const short = bytes.readUInt32BE(0);
  const type = bytes.toString('latin1', 4, 8);
  if (short === 1 && bytes.length < 16) return null;
  const headerBytes = short === 1 ? 16 : 8;
  const size = short === 1 ? Number(bytes.readBigUInt64BE(8)) : short === 0 ? remaining : short;
  return size < headerBytes ? null : { type, size, headerBytes };
}

/** The boxes directly inside `bytes`. The last one may be truncated. */
function innerBoxes(bytes: Buffer): { type: string; body: Buffer }[] {
  const boxes: { type: string; body: Buffer }[] = [];
  let at = 0;
  while (at + 8 <= bytes.length && boxes.length < INNER_BOXES_MAX) {
    const box = readBoxHeader(bytes.subarray(at, at + 16), bytes.length - at);
    if (!box) break;
    boxes.push({ type: box.type, body: bytes.subarray(at + box.headerBytes, at + box.size) });
    at += box.size;
  }
  return boxes;
}

const child = (bytes: Buffer, type: string): Buffer | undefined =>
  innerBoxes(bytes).find((box) => box.type === type)?.body;

function describeMovie(probe: MediaProbe, movie: Buffer): MediaProbe {
  const header = child(movie, 'mvhd');
  const fragments = child(movie, 'mvex');
  const timing = header && movieTiming(header);
  const fragmentTicks = fragments && fragmentDuration(child(fragments, 'mehd'));
  const ticks = timing?.ticks ? timing.ticks : (fragmentTicks ?? 0);
  const duration = timing && ticks > 0 ? seconds(ticks / timing.perSecond) : null;

  const tracks = innerBoxes(movie).filter((box) => box.type === 'trak');
  const kinds = tracks.map(({ body }) => handlerOf(body));
  const picture = tracks[kinds.indexOf('vide')];
  if (!picture) {
    const soundOnly = kinds.includes('soun');
    return { ...probe, ...(soundOnly ? audio('audio/mp4') : {}), duration };
  }
  // A track of pictures makes a clip of it, whatever the brand says.
  const clip = probe.kind === 'audio' ? video('video/mp4') : {};
  return { ...probe, ...clip, ...trackSize(child(picture.body, 'tkhd')), duration };
}

/** §8.2.2 `mvhd`: version 1 has 64-bit times. All ones means unknown. */
function movieTiming(header: Buffer): { perSecond: number; ticks: number } | undefined {
  const long = header[0] === 1;
  if (header.length < (long ? 32 : 20)) return undefined;
  const perSecond = header.readUInt32BE(long ? 20 : 12);
  const ticks = long ? Number(header.readBigUInt64BE(24)) : header.readUInt32BE(16);
  const unknown = long ? ticks >= 2 ** 63 : ticks === 0xffffffff;
  return perSecond === 0 ? undefined : { perSecond, ticks: unknown ? 0 : ticks };
}

function fragmentDuration(header: Buffer | undefined): number | undefined {
  if (!header || header.length < (header[0] === 1 ? 12 : 8)) return undefined;
  return header[0] === 1 ? Number(header.readBigUInt64BE(4)) : header.readUInt32BE(4);
}

function handlerOf(track: Buffer): string {
  const media = child(track, 'mdia');
  const handler = media && child(media, 'hdlr');
  return handler ? handler.toString('latin1', 8, 12) : '';
}

/** §8.3.2 `tkhd`: 16.16 fixed point, after a matrix that may rotate the picture by 90 degrees. */
function trackSize(header: Buffer | undefined): Pick<MediaProbe, 'width' | 'height'> {
  if (!header) return { width: null, height: null };
  const matrix = header[0] === 1 ? 52 : 40;
  if (header.length < matrix + 44) return { width: null, height: null };
  const width = positive(header.readUInt32BE(matrix + 36) >>> 16);
  const height = positive(header.readUInt32BE(matrix + 40) >>> 16);
  const turned = header.readInt32BE(matrix) === 0 && header.readInt32BE(matrix + 4) !== 0;
  return turned ? { width: height, height: width } : { width, height };
}

const positive = (value: number): number | null => (Number.isSafeInteger(value) && value > 0 ? value : null);

/** Rounded to milliseconds. Null for implausible values. */
const seconds = (value: number): number | null =>
  Number.isFinite(value) && value > 0 && value < 1e7 ? Math.round(value * 1_000) / 1_000 : null;
