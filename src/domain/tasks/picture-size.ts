import type { CatalogEntry } from '../catalog/catalog.ts';
import { GatewayError, quoted } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import { acceptedParameters, listValues } from '../catalog/parameters.ts';

/**
 * OpenAI's `size` (`1536x864`) in the parameters of the catalog entry: its own `size` if it has one, else the aspect ratio and the class of
 * sizes. Users of other gateways write one of the two alone (`16:9`, `2K`). `auto` is the model's own choice. Throws `invalid_value` for a size
 * that the model does not make.
 */
export function pictureSize(entry: CatalogEntry, size: string): JsonObject {
  return sizeParameters(entry, size, 'img_size', classOfPicture);
}

/** The same for the `size` of a clip (`1280x720`). */
export function clipSize(entry: CatalogEntry, size: string): JsonObject {
  return sizeParameters(entry, size, 'resolution', resolutionOfClip);
}

/**
 * The sizes of OpenAI's own models, which its clients send without asking what a model makes. A model that does not make one makes the most
 * similar: its smallest size, in an aspect ratio that differs by an eighth at most. The answer says which.
 */
const usualSizes: ReadonlySet<string> = new Set([
  '256x256',
  '512x512',
  '1024x1024',
  '1536x1024',
  '1024x1536',
  '1792x1024',
  '1024x1792',
]);

interface Pixels {
  width: number;
  height: number;
}

function sizeParameters(
  entry: CatalogEntry,
  size: string,
  classKey: 'img_size' | 'resolution',
  classOf: (classes: readonly string[], pixels: Pixels) => string | undefined,
): JsonObject {
  const offered = (key: string) => offeredWords(entry, key);
  if (offered('size').length > 0) return { size };
  if (size === 'auto') return {};
  const [ratios, classes] = [offered('aspect_ratio'), offered(classKey)];
  if (ratios.includes(size)) return { aspect_ratio: size };
  const named = classes.find((name) => name.toLowerCase() === size.toLowerCase());
  if (named !== undefined) return { [classKey]: named };
  const pixels = readPixels(size);
  const isUsual = classKey === 'img_size' && usualSizes.has(size);
  const ratio = pixels && (ratioOf(ratios, pixels) ?? (isUsual ? nearestRatio(ratios, pixels) : undefined));
  // A model without classes makes one size of each aspect ratio.
  const isOneSize = classes.length === 0 || classes.every((name) => name === 'default');
  const sizeClass = pixels && !isOneSize ? (classOf(classes, pixels) ?? (isUsual ? classes[0] : undefined)) : undefined;
  if (!pixels || ratio === undefined || (!isOneSize && sizeClass === undefined)) {
    throw new GatewayError('invalid_value', { param: 'size', message: refusalOf(size, { ratios, classes }) });
  }
  return { aspect_ratio: ratio, ...(sizeClass !== undefined && { [classKey]: sizeClass }) };
}

function offeredWords(entry: CatalogEntry, key: string): string[] {
  const accepted = acceptedParameters(entry).get(key);
  return (accepted && listValues(accepted)?.filter((value) => typeof value === 'string')) ?? [];
}

function readPixels(size: string): Pixels | null {
  const [, width, height] = /^([1-9]\d{1,4})x([1-9]\d{1,4})$/.exec(size) ?? [];
  return width === undefined || height === undefined ? null : { width: Number(width), height: Number(height) };
}

/** Sizes are rounded to multiples of 16: 1792x1024 stands for 16:9, from which it differs by 1.6 %. */
const isNear = (value: number, other: number): boolean => Math.abs(Math.log(value / other)) <= 0.02;

/** NaN for a word such as `auto`, with which the model chooses. */
function quotientOf(ratio: string): number {
  const [across = NaN, down = NaN] = ratio.split(':').map(Number);
  return across / down;
}

const ratioOf = (ratios: readonly string[], { width, height }: Pixels): string | undefined =>
  ratios.find((ratio) => isNear(quotientOf(ratio), width / height));

function nearestRatio(ratios: readonly string[], { width, height }: Pixels): string | undefined {
  const difference = (ratio: string): number => Math.abs(Math.log(quotientOf(ratio) / (width / height)));
  const [nearest] = ratios
    .filter((ratio) => !Number.isNaN(quotientOf(ratio)))
    .sort((one, other) => difference(one) - difference(other));
  return nearest !== undefined && difference(nearest) <= Math.log(1.126) ? nearest : undefined;
}

/** The pixels of a picture of 1k. */
const pixelsOf1k = 1024 * 1024;

/**
 * The smallest class with about as many pixels as were asked for: `2k` is four times `1k`. A picture has at least half of the pixels, and
 * at most about twice as many.
 */
function classOfPicture(classes: readonly string[], { width, height }: Pixels): string | undefined {
  const requestedPixels = (width * height) / pixelsOf1k;
  return classes
    .map((name) => ({ name, pixels: (Number.parseFloat(name) || 0) ** 2 }))
    .sort((one, other) => one.pixels - other.pixels)
    .find(({ pixels }) => pixels * 1.9 >= requestedPixels && pixels <= requestedPixels * 2.1)?.name;
}

/** The class is named by the shorter edge: 1280x720 and 720x1280 are `720p`. Larger ones are named by the longer edge, in thousands. */
const resolutionOfClip = (classes: readonly string[], { width, height }: Pixels): string | undefined =>
  classes.find((name) =>
    isNear(longEdgeClasses[name.toLowerCase()] ?? Number.parseInt(name, 10), Math.min(width, height)),
  );
const longEdgeClasses: Readonly<Record<string, number>> = { '2k': 1_440, '4k': 2_160 };

function refusalOf(size: string, { ratios, classes }: { ratios: string[]; classes: string[] }): string {
  const offers = [
    ...(ratios.length > 0 ? [`the aspect ratios ${ratios.join(', ')}`] : []),
    ...(classes.length > 0 ? [`the sizes ${classes.join(', ')}`] : []),
  ];
  const offer = offers.length > 0 ? `It makes ${offers.join(' in ')}` : 'It chooses the size itself: leave it out';
  return `size: the model does not make ${quoted(size)}. ${offer}.`;
}
