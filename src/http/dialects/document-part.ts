import { isUtf8 } from 'node:buffer';
import { isDataUri, type ChatPart, type DocumentWords, type PdfPart } from '../../domain/chat/chat.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { fromBase64 } from '../../platform/media/base64.ts';
import { isBase64 } from './base64.ts';
import { nonNullFields } from './chat-fields.ts';

/** A file in a client's request. Either `data` or `url` is given. */
export interface ClientFile extends DocumentWords {
  /** Where its part stands, in the client's words. */
  at: string;
  /** A base64 `data:` URI, or base64 alone. */
  data?: string | null | undefined;
  /** An https URL. */
  url?: string | null | undefined;
  /** The media type that the client names. That of a `data:` URI stands before it. */
  mediaType?: string | null | undefined;
  /** The name of the file, whose ending tells the type of data without one. */
  name?: string | null | undefined;
  detail?: string | null | undefined;
}

/**
 * A file as a part: a PDF as a document, any text as text, a picture as a picture. Throws `invalid_value` or `unsupported_parameter` on the part for
 * other types and for data that is none.
 */
export function toFilePart({ at, data, url, mediaType, name, detail, ...words }: ClientFile): ChatPart {
  const pdf = (address: string): PdfPart => ({
    type: 'document',
    url: address,
    at,
    ...nonNullFields({ name, detail }),
    ...words,
  });
  if (typeof url === 'string') {
    const type = mediaType ?? typeOfName(name) ?? typeOfName(pathOf(url)) ?? PDF;
    if (type.startsWith('image/')) return { type: 'image', url, ...nonNullFields({ detail }) };
    if (type !== PDF) throw refused(at, 'only a PDF is taken by URL. Send the bytes of other files in base64.');
    return pdf(url);
  }
  if (typeof data !== 'string' || data === '') throw refused(at, 'has no data');
  const { type, base64 } = typed(data, { mediaType, name });
  if (type === PDF) return pdf(`data:${PDF};base64,${base64}`);
  if (type.startsWith('image/')) {
    if (!isBase64(base64)) throw noBase64(at);
    return { type: 'image', url: `data:${type};base64,${base64}`, ...nonNullFields({ detail }) };
  }
  if (!isText(type))
    throw refused(at, `the type ${quoted(type)} is not supported: a file must be a PDF, a text or a picture`);
  const title = words.title ?? name ?? undefined;
  return { type: 'text', text: decodedText(base64, at), document: { ...words, ...(title !== undefined && { title }) } };
}

/** The refusal of a file that a client uploaded elsewhere. `instead` says what to send. */
export const notStored = (param: string, instead: string): GatewayError =>
  new GatewayError('unsupported_parameter', {
    param,
    message: `${param}: files are not stored here. ${instead}`,
    isInClientWords: true,
  });

/** The refusal of a part that has no file. */
export const missingFile = (param: string): GatewayError =>
  new GatewayError('missing_parameter', { param, message: `The field ${param} is required.`, isInClientWords: true });

const PDF = 'application/pdf';

/** The beginning of every PDF, `%PDF-`, in base64. */
const pdfBegins = 'JVBERi';

function typed(data: string, { mediaType, name }: Pick<ClientFile, 'mediaType' | 'name'>) {
  const comma = data.slice(0, 300).indexOf(',');
  const header = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w-]+=[^;,]*)*;base64$/i.exec(data.slice(0, Math.max(comma, 0)));
  const base64 = plainAlphabet(header ? data.slice(comma + 1) : data);
  const statedType = (header?.[1] ?? mediaType)?.toLowerCase();
  const isVague = statedType === undefined || statedType === 'application/octet-stream';
  const found = base64.startsWith(pdfBegins) ? PDF : typeOfName(name);
  return { base64, type: (isVague ? found : statedType) ?? statedType ?? 'unknown' };
}

/** Protobuf's JSON accepts the URL-safe alphabet too. `data:` URIs have the standard one. */
const plainAlphabet = (base64: string): string => base64.replaceAll('-', '+').replaceAll('_', '/');

const isText = (type: string): boolean =>
  type.startsWith('text/') ||
  /^application\/(.*\+)?(json|jsonl|xml|yaml|x-yaml|javascript|x-javascript|x-python|toml|sql|x-sh)$/.test(type);

const textEndings =
  /\.(txt|md|markdown|csv|tsv|json|jsonl|xml|html?|css|ya?ml|toml|ini|log|rst|tex|sql|sh|py|js|mjs|ts|tsx|jsx|java|kt|go|rs|rb|php|c|h|cc|cpp|hpp|cs|swift)$/i;

function typeOfName(name: string | null | undefined): string | undefined {
  if (/\.pdf$/i.test(name ?? '')) return PDF;
  const picture = /\.(png|jpe?g|webp|gif|heic|heif)$/i.exec(name ?? '')?.[1]?.toLowerCase();
  if (picture !== undefined) return `image/${picture === 'jpg' ? 'jpeg' : picture}`;
  return textEndings.test(name ?? '') ? 'text/plain' : undefined;
}

const pathOf = (url: string): string => (isDataUri(url) || !URL.canParse(url) ? '' : new URL(url).pathname);

function decodedText(base64: string, at: string): string {
  const bytes = fromBase64(base64);
  if (bytes === null) throw noBase64(at);
  if (!isUtf8(bytes)) throw refused(at, 'the text is not UTF-8');
  const text = Buffer.from(bytes.buffer).toString('utf8');
  if (text.includes('\0')) throw refused(at, 'the text has NUL characters');
  return text;
}

const noBase64 = (at: string): GatewayError => refused(at, 'the data is not base64');

const refused = (param: string, what: string): GatewayError =>
  new GatewayError('invalid_value', { param, message: `${param}: ${what}`, isInClientWords: true });
