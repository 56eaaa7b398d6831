import { isObject } from '../../domain/json.ts';
import type { FileKind, UpstreamOutput } from '../../domain/channels/upstream.ts';
import { numberOf, asText, type Fields } from './fields.ts';

/** No job has so many results; an answer with more is read no further. */
const filesMax = 64;
const depthMax = 6;

/** The members that have the address of a file, the best first. A copy with a watermark is better than none. */
const addressKeys = [
  'url',
  'uri',
  'href',
  'src',
  'download_url',
  'file_url',
  'fileUri',
  'file_uri',
  'signed_url',
  'public_url',
  'video_url',
  'videoUrl',
  'image_url',
  'imageUrl',
  'gcsUri',
  'watermark_url',
] as const;
/** The members that have the bytes of a file in base64. */
const bytesKeys = ['b64_json', 'base64', 'b64', 'bytesBase64Encoded', 'image_base64', 'video_base64', 'data'] as const;
/** Addresses that are no results: of the job itself, of its input, or of what was only used. */
const otherKeys =
  /^(?:urls|links?|status_url|response_url|cancel_url|web|webhook.*|callback.*|logs?|metadata|input.*|request.*|prompt.*|docs?(?:_url)?)$/i;

/**
 * The files in one part of an answer, in order and each address once: a text, an object with an address or bytes, or lists and
 * objects of these. What an answer says about a file besides its address never decides: a size, a duration or a type that cannot be
 * read is left out.
 */
export function filesIn(value: unknown, kind?: FileKind): UpstreamOutput[] {
  const files = new Map<string, UpstreamOutput>();
  collect(value, kind, 0, files);
  return [...files.values()];
}

function collect(value: unknown, kind: FileKind | undefined, depth: number, files: Map<string, UpstreamOutput>): void {
  if (depth > depthMax || files.size >= filesMax) return;
  if (typeof value === 'string') {
    const url = fileAddressOf(value);
    if (url !== null) add(files, { url, ...(kind && { kind }) });
  } else if (Array.isArray(value)) {
    for (const each of value) collect(each, kind, depth + 1, files);
  } else if (isObject(value)) {
    const file = fileOf(value, kind);
    if (file) return add(files, file);
    for (const [key, each] of Object.entries(value)) {
      if (!otherKeys.test(key)) collect(each, kindOfKey(key) ?? kind, depth + 1, files);
    }
  }
}

/** An address that is told twice is one file. Equal bytes are two. */
function add(files: Map<string, UpstreamOutput>, file: UpstreamOutput): void {
  const key = file.url.startsWith('data:') ? `data:${files.size}` : file.url;
  if (!files.has(key)) files.set(key, file);
}

/** The one file that an object describes: by an address of its own, or by bytes. Null for an object of several files. */
function fileOf(fields: Fields, kind: FileKind | undefined): UpstreamOutput | null {
  const mimeType = mimeTypeOf(fields);
  const details = { ...(mimeType !== undefined && { mimeType }), ...(kind && { kind }), ...sizeOf(fields) };
  // `url` with an `image_url` beside it is one file; a `video_url` beside an `image_url` are two.
  const named = addressKeys.filter((key) => addressIn(fields[key]) !== null);
  const isAlone = new Set(named.map(kindOfKey).filter((each) => each !== undefined)).size < 2;
  const [key] = named;
  const url = key === undefined || (!isAlone && kindOfKey(key) !== undefined) ? null : addressIn(fields[key]);
  if (url !== null && key !== undefined) return { url, ...details, ...kindMember(kindOfKey(key) ?? kind) };
  for (const name of bytesKeys) {
    const bytes = bytesOf(asText(fields[name]) ?? '', mimeType, kindOfKey(name) ?? kind);
    if (bytes) return { ...details, ...bytes };
  }
  return null;
}

const kindMember = (kind: FileKind | undefined) => (kind ? { kind } : {});

/** An address, also wrapped: `{"url": {"url": "https://…"}}`, `{"url": ["https://…"]}`. */
function addressIn(value: unknown): string | null {
  const text = asText(value);
  if (text !== undefined) return fileAddressOf(text);
  return isObject(value) ? fileAddressOf(asText(value['url'] ?? value['uri']) ?? '') : null;
}

/** An absolute http(s) URL or a data URI. */
const fileAddressOf = (text: string): string | null => {
  const trimmed = text.trim();
  return /^(?:https?:\/\/[^\s/]|data:[\w+.-]{1,60}\/)/i.test(trimmed) ? trimmed : null;
};

/** Base64 as a data URI. Many providers do not name the format; the first bytes do. */
function bytesOf(base64: string, mimeType: string | undefined, kind: FileKind | undefined): UpstreamOutput | null {
  const text = base64.trim();
  const inline = fileAddressOf(text);
  if (inline?.startsWith('data:')) return { url: inline };
  if (text.length < bytesLengthMin || !/^[A-Za-z0-9+/=_-]+$/.test(text.slice(0, 256))) return null;
  const type = mimeType ?? typeOfBytes(text) ?? (kind === 'video' ? 'video/mp4' : 'image/png');
  return { url: `data:${type};base64,${text}`, mimeType: type };
}
/** Shorter than any picture. */
const bytesLengthMin = 16;

/** The format by the first bytes of a picture or clip in base64. */
function typeOfBytes(base64: string): string | undefined {
  if (base64.startsWith('iVBOR')) return 'image/png';
  if (base64.startsWith('/9j/')) return 'image/jpeg';
  if (base64.startsWith('UklGR')) return 'image/webp';
  return /^.{5,6}Z0eX/.test(base64) ? 'video/mp4' : undefined;
}

function mimeTypeOf(fields: Fields): string | undefined {
  const text = asText(fields['content_type'] ?? fields['mime_type'] ?? fields['mimeType'] ?? fields['contentType']);
  const [type] = /^[\w.+-]{1,60}\/[\w.+-]{1,60}/.exec(text ?? '') ?? [];
  return type?.toLowerCase();
}

function sizeOf(fields: Fields): Pick<UpstreamOutput, 'width' | 'height' | 'duration'> {
  const width = lengthOf(fields['width'], 100_000);
  const height = lengthOf(fields['height'], 100_000);
  const duration = lengthOf(fields['duration'], 86_400);
  return {
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
    ...(duration !== undefined && { duration }),
  };
}

/** A length that can be true. */
export function lengthOf(value: unknown, max: number): number | undefined {
  const number = numberOf(value);
  return number !== undefined && number > 0 && number < max ? number : undefined;
}

/** What the name of a member says about the files in it. */
function kindOfKey(key: string): FileKind | undefined {
  if (/thumb|poster|preview|cover|last_?frame|first_?frame|mask|caption|subtitle|audio|music|sound/i.test(key))
    return 'other';
  if (/video|clip|movie/i.test(key)) return 'video';
  return /image|picture|photo/i.test(key) ? 'image' : undefined;
}
