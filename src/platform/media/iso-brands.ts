/** What a file is, by its bytes. */
export interface FileFormat {
  kind: 'image' | 'video' | 'audio';
  mime_type: string;
}

/**
 * What the `ftyp` box at the beginning of a file says (ISO 14496-12 §4.3), or null if there is none. The major brand decides if it is that of
 * a still picture, of audio alone or of QuickTime. Any other one (`hvc1`, `cmfc`, `av01`, those of the future) is a clip, unless no
 * compatible brand is one of clips and some are of pictures or of audio alone. The tracks may still say otherwise.
 *
 * Not by `file-type`, which takes every unknown brand for MP4, also that of a still picture, and finds no size, duration or track.
 */
export function isoFormat(head: Buffer): FileFormat | null {
  if (head.toString('latin1', 4, 8) !== 'ftyp') return null;
  const major = head.toString('latin1', 8, 12);
  const ownFormat = formatOf(major);
  if (ownFormat) return ownFormat;
  const compatible = compatibleBrands(head);
  if (isClipBrand.test(major) || compatible.some((brand) => isClipBrand.test(brand))) return clip;
  const formats = compatible.map(formatOf).filter((format) => format !== null);
  // A sequence of pictures names the brands of the pictures too.
  return formats.find(({ kind }) => kind === 'image') ?? formats[0] ?? clip;
}

const clip: FileFormat = { kind: 'video', mime_type: 'video/mp4' };

/** Brands of clips whose container others share. */
const isClipBrand = /^(mp4[12]|iso[2-9a-m]|avc[1-4]|hvc1|hev1|av01|cmf[cs2]|dash|M4V |MSNV|mmp4|f4v |3g[p2].)$/;

/** The registry of brands at https://mp4ra.org/registered-types/brands. */
function formatOf(brand: string): FileFormat | null {
  if (brand === 'avif' || brand === 'avis') return { kind: 'image', mime_type: 'image/avif' };
  if (/^(hei[cxms]|hev[cxms])$/.test(brand)) return { kind: 'image', mime_type: 'image/heic' };
  if (/^(M4A |M4B |M4P |F4A |F4B |aax |aaxc|cmfa)$/.test(brand)) return { kind: 'audio', mime_type: 'audio/mp4' };
  if (brand === 'qt  ') return { kind: 'video', mime_type: 'video/quicktime' };
  if (brand === 'crx ') return { kind: 'image', mime_type: 'image/x-canon-cr3' };
  return stillBrands.test(brand) ? { kind: 'image', mime_type: 'image/heif' } : null;
}

/** Still pictures in any codec (ISO 23008-12). */
const stillBrands = /^(mif[12]|msf1|miaf|avci|avcs|vvic|vvis|evbi|evbs|jpeg|jpgs)$/;

/** At most 64; the box may be truncated. */
function compatibleBrands(head: Buffer): string[] {
  const end = Math.min(head.readUInt32BE(0), head.length, 16 + 64 * 4);
  const brands: string[] = [];
  for (let at = 16; at + 4 <= end; at += 4) brands.push(head.toString('latin1', at, at + 4));
  return brands;
}
