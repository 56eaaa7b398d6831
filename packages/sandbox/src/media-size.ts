/** The size formats of provider requests that the sandbox understands. */
export interface RequestedSize {
  /** `{width, height}`, a preset's name, `1024x1536`, `2K` or `1080p`. Families name the field differently. */
  sizes: unknown[];
  aspectRatio: unknown;
}

/** Width and height of the requested size. A K size keeps its area over all ratios, a p size keeps its short side. */
export function mediaSize(
  { sizes, aspectRatio }: RequestedSize,
  type: 'image' | 'video',
): { width: number; height: number } {
  const ratio = ratioOf(aspectRatio) ?? (type === 'video' ? 16 / 9 : 1);
  for (const size of sizes) {
    const exact = exactSize(size);
    if (exact) return fitted(exact.width, exact.height);
    const text =
      typeof size === 'string' || typeof size === 'number'
        ? String(size)
            .toLowerCase()
            .replace(/^auto_/, '')
        : '';
    const lines = type === 'video' && text === '4k' ? 2_160 : Number(/^(\d{3,4})p$/.exec(text)?.[1] ?? 0);
    if (lines > 0) return ratio >= 1 ? fitted(lines * ratio, lines) : fitted(lines, lines / ratio);
    const thousands = Number(/^(\d(?:\.\d)?)k$/.exec(text)?.[1] ?? 0);
    if (thousands > 0) return ofArea((thousands * 1_024) ** 2, ratio);
  }
  return type === 'video'
    ? ratio >= 1
      ? fitted(720 * ratio, 720)
      : fitted(720, 720 / ratio)
    : ofArea(1_024 ** 2, ratio);
}

/** fal's names of sizes. */
const presets: Record<string, [number, number]> = {
  square_hd: [1_024, 1_024],
  square: [512, 512],
  portrait_4_3: [768, 1_024],
  portrait_16_9: [576, 1_024],
  landscape_4_3: [1_024, 768],
  landscape_16_9: [1_024, 576],
};

function exactSize(size: unknown): { width: number; height: number } | null {
  if (typeof size === 'object' && size !== null && 'width' in size && 'height' in size) {
    const [width, height] = [Number(size.width), Number(size.height)];
    return width > 0 && height > 0 ? { width, height } : null;
  }
  if (typeof size !== 'string') return null;
  const preset = Object.hasOwn(presets, size) ? presets[size] : undefined;
  if (preset) return { width: preset[0], height: preset[1] };
  const match = /^(\d{1,5})[x*](\d{1,5})$/i.exec(size);
  return match ? { width: Number(match[1]), height: Number(match[2]) } : null;
}

function ratioOf(text: unknown): number | null {
  const match = typeof text === 'string' ? /^(\d{1,3}(?:\.\d+)?):(\d{1,3}(?:\.\d+)?)$/.exec(text) : null;
  const ratio = match ? Number(match[1]) / Number(match[2]) : NaN;
  return Number.isFinite(ratio) && ratio > 0 ? Math.min(Math.max(ratio, 1 / 8), 8) : null;
}

const ofArea = (area: number, ratio: number) => {
  const height = Math.sqrt(area / ratio);
  return fitted(Math.round((height * ratio) / 16) * 16, Math.round(height / 16) * 16);
};

const sideMax = 4_096;

/** Integer, even sides, small enough not to burden a test machine. */
function fitted(width: number, height: number): { width: number; height: number } {
  const scale = Math.min(1, sideMax / Math.max(width, height));
  const even = (side: number) => Math.max(Math.round((side * scale) / 2) * 2, 2);
  // An exact size keeps its odd sides.
  const side = (value: number) => (Number.isInteger(value) && scale === 1 ? value : even(value));
  return { width: side(width), height: side(height) };
}
