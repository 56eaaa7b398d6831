/**
 * A playable MP4 of exactly this size and duration: one plain H.264 picture, repeated by frames that change nothing. It is built
 * by hand (ISO/IEC 14496-12 and H.264), so that no encoder is needed and a minute of video has a few kilobytes.
 */
export function clip(asked: { width: number; height: number; seconds: number; seed: number }): Buffer {
  // H.264 with 4:2:0 colour has even sides only.
  const width = even(asked.width);
  const height = even(asked.height);
  const seconds = Math.min(Math.max(asked.seconds || 1, 1), secondsMax);
  const key = `${width}x${height}x${seconds}-${asked.seed % seeds}`;
  const known = made.get(key);
  if (known) return known;
  const bytes = build(width, height, seconds, Math.abs(asked.seed) % seeds);
  made.set(key, bytes);
  if (made.size > keptMax) {
    const oldest = made.keys().next();
    if (!oldest.done) made.delete(oldest.value);
  }
  return bytes;
}

const seeds = 8;
const sideMax = 4_096;
const secondsMax = 600;
const keptMax = 128;
const made = new Map<string, Buffer>();
const even = (pixels: number): number => Math.min(Math.max(Math.round((pixels || 2) / 2) * 2, 32), sideMax);

/** Frames per second. Low, because nothing moves. */
const rate = 8;
const timescale = 1_000;

function build(width: number, height: number, seconds: number, seed: number): Buffer {
  const columns = Math.ceil(width / 16);
  const rows = Math.ceil(height / 16);
  const sps = sequenceParameters(width, height, columns, rows);
  const pps = pictureParameters();
  const frames = Math.max(Math.round(seconds * rate), 1);
  const samples = [keyFrame(columns, rows, seed)];
  for (let index = 1; index < frames; index += 1) samples.push(stillFrame(columns * rows, index));
  const sized = samples.map((unit) => Buffer.concat([uint32(unit.length), unit]));

  const duration = Math.round(seconds * timescale);
  const sizes = sized.map(({ length }) => length);
  const kind = box('ftyp', text('isom'), uint32(512), text('isomiso2avc1mp41'));
  // The sample table has the offset of the data, which depends on the table's own length: measure first, then fill in.
  const movie = (dataAt: number) => moov({ width, height, duration, sizes, sps, pps, dataAt });
  const dataAt = kind.length + movie(0).length + 8;
  return Buffer.concat([kind, movie(dataAt), box('mdat', ...sized)]);
}

// --- H.264 baseline, the few elements that a plain picture needs -----------------------------------------------------

/** §7.3.2.1. Cropping cuts the last macroblocks down to the asked size. */
function sequenceParameters(width: number, height: number, columns: number, rows: number): Buffer {
  const bits = new Bits();
  bits.put(8, 66).put(8, 0xc0).put(8, 51);
  bits.ue(0); // seq_parameter_set_id
  bits.ue(4); // log2_max_frame_num - 4
  bits.ue(2); // pic_order_cnt_type: output order is decoding order
  bits.ue(1); // max_num_ref_frames
  bits.put(1, 0);
  bits.ue(columns - 1).ue(rows - 1);
  bits.put(1, 1).put(1, 1); // frames only, direct 8x8
  const right = (columns * 16 - width) / 2;
  const bottom = (rows * 16 - height) / 2;
  bits.put(1, right + bottom > 0 ? 1 : 0);
  if (right + bottom > 0) bits.ue(0).ue(right).ue(0).ue(bottom);
  bits.put(1, 0); // no VUI
  return bits.unit(0x67);
}

/** §7.3.2.2. CAVLC; the slice may switch deblocking off. */
function pictureParameters(): Buffer {
  const bits = new Bits();
  bits.ue(0).ue(0).put(1, 0).put(1, 0).ue(0).ue(0).ue(0);
  bits.put(1, 0).put(2, 0).se(0).se(0).se(0);
  bits.put(1, 1).put(1, 0).put(1, 0);
  return bits.unit(0x68);
}

/**
 * §7.3.3, §7.3.5. The first macroblock is raw and has the seed's colour. Every other one is predicted from its neighbours without
 * a difference, so that it takes the same colour in eight bits.
 */
function keyFrame(columns: number, rows: number, seed: number): Buffer {
  const bits = new Bits();
  bits.ue(0).ue(7).ue(0).put(8, 0).ue(0); // first_mb, I, pps, frame_num, idr_pic_id
  bits.put(1, 0).put(1, 0).se(0).ue(1); // no marking, qp, no deblocking
  bits.ue(25).align(); // I_PCM
  const angle = (2 * Math.PI * seed) / seeds;
  for (let index = 0; index < 256; index += 1) bits.put(8, 130);
  for (let index = 0; index < 64; index += 1) bits.put(8, Math.round(128 + 70 * Math.cos(angle)));
  for (let index = 0; index < 64; index += 1) bits.put(8, Math.round(128 + 70 * Math.sin(angle)));
  for (let index = 1; index < columns * rows; index += 1) {
    bits.ue(3).ue(0).se(0); // Intra 16x16, DC prediction, no coefficients; chroma DC; no change of qp
    // §9.2.1: "no coefficient" has a longer code beside and below the raw macroblock, which counts as full.
    if (index === 1 || index === columns) bits.put(6, 0b000011);
    else bits.put(1, 1);
  }
  return bits.unit(0x65);
}

/** A P slice that skips every macroblock. */
function stillFrame(macroblocks: number, index: number): Buffer {
  const bits = new Bits();
  bits
    .ue(0)
    .ue(5)
    .ue(0)
    .put(8, index % 256); // first_mb, P, pps, frame_num
  bits.put(1, 0).put(1, 0).put(1, 0).se(0).ue(1);
  bits.ue(macroblocks);
  return bits.unit(0x41);
}

/** Writes bits, Exp-Golomb codes (§9.1), and wraps them into a NAL unit with its stop bit and escapes (§7.4.1). */
class Bits {
  private readonly bytes: number[] = [];
  private current = 0;
  private filled = 0;

  put(count: number, value: number): this {
    for (let bit = count - 1; bit >= 0; bit -= 1) {
      this.current = (this.current << 1) | ((value >> bit) & 1);
      this.filled += 1;
      if (this.filled === 8) {
        this.bytes.push(this.current);
        this.current = 0;
        this.filled = 0;
      }
    }
    return this;
  }

  ue(value: number): this {
    const length = 32 - Math.clz32(value + 1);
    return this.put(length - 1, 0).put(length, value + 1);
  }

  se(value: number): this {
    return this.ue(value > 0 ? value * 2 - 1 : -value * 2);
  }

  align(): this {
    return this.filled === 0 ? this : this.put(8 - this.filled, 0);
  }

  unit(header: number): Buffer {
    this.put(1, 1).align();
    const escaped = [header];
    let zeros = 0;
    for (const byte of this.bytes) {
      if (zeros >= 2 && byte <= 3) {
        escaped.push(3);
        zeros = 0;
      }
      escaped.push(byte);
      zeros = byte === 0 ? zeros + 1 : 0;
    }
    return Buffer.from(escaped);
  }
}

// --- MP4 boxes -------------------------------------------------------------------------------------------------------

interface Movie {
  width: number;
  height: number;
  duration: number;
  sizes: number[];
  sps: Buffer;
  pps: Buffer;
  dataAt: number;
}

function moov({ width, height, duration, sizes, sps, pps, dataAt }: Movie): Buffer {
  const step = Math.floor(duration / sizes.length);
  const last = duration - step * (sizes.length - 1);
  const avcC = box(
    'avcC',
    Buffer.from([1, 66, 0xc0, 51, 0xff, 0xe1]),
    uint16(sps.length),
    sps,
    Buffer.from([1]),
    uint16(pps.length),
    pps,
  );
  const avc1 = box(
    'avc1',
    Buffer.concat([Buffer.alloc(6), uint16(1), Buffer.alloc(16), uint16(width), uint16(height)]),
    Buffer.concat([
      uint32(0x00480000),
      uint32(0x00480000),
      uint32(0),
      uint16(1),
      Buffer.alloc(32),
      uint16(24),
      uint16(0xffff),
    ]),
    avcC,
  );
  const stbl = box(
    'stbl',
    full('stsd', 0, uint32(1), avc1),
    full('stts', 0, uint32(2), uint32(sizes.length - 1), uint32(step), uint32(1), uint32(last)),
    full('stss', 0, uint32(1), uint32(1)),
    full('stsc', 0, uint32(1), uint32(1), uint32(sizes.length), uint32(1)),
    full('stsz', 0, uint32(0), uint32(sizes.length), ...sizes.map(uint32)),
    full('stco', 0, uint32(1), uint32(dataAt)),
  );
  const minf = box(
    'minf',
    full('vmhd', 1, Buffer.alloc(8)),
    box('dinf', full('dref', 0, uint32(1), full('url ', 1))),
    stbl,
  );
  const mdia = box(
    'mdia',
    full('mdhd', 0, uint32(0), uint32(0), uint32(timescale), uint32(duration), uint16(0x55c4), uint16(0)),
    full('hdlr', 0, uint32(0), text('vide'), Buffer.alloc(12), text('video\0')),
    minf,
  );
  const tkhd = full(
    'tkhd',
    3,
    Buffer.concat([uint32(0), uint32(0), uint32(1), uint32(0), uint32(duration), Buffer.alloc(8)]),
    Buffer.concat([Buffer.alloc(8), matrix, uint32(width * 0x10000), uint32(height * 0x10000)]),
  );
  const mvhd = full(
    'mvhd',
    0,
    Buffer.concat([uint32(0), uint32(0), uint32(timescale), uint32(duration), uint32(0x00010000), uint16(0x0100)]),
    Buffer.concat([Buffer.alloc(10), matrix, Buffer.alloc(24), uint32(2)]),
  );
  return box('moov', mvhd, box('trak', tkhd, mdia));
}

const uint16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
};
const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const text = (value: string): Buffer => Buffer.from(value, 'latin1');
const box = (type: string, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([uint32(body.length + 8), text(type), body]);
};
const full = (type: string, flags: number, ...parts: Buffer[]): Buffer => box(type, uint32(flags), ...parts);
const matrix = Buffer.concat([0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000].map(uint32));
