import { measurePdf } from '../../../src/platform/pdf/measure-pdf.ts';
import { objectOf, objectsOf, type Fields } from './chat.ts';
import type { HeardDocument } from './heard-document.ts';

/** What each provider counts for a page: its picture, and the text of an ordinary page. */
export const tokensPerPage = { anthropic: 2_300, gemini: 560, openai: 1_900 } as const;

/** A document of Anthropic's own words, in a message or in the result of a tool. */
export const anthropicDocuments = (content: unknown): HeardDocument[] =>
  objectsOf(content).flatMap((block): HeardDocument[] => {
    if (block.type === 'tool_result') return anthropicDocuments(block.content);
    const source = objectOf(block.source);
    if (block.type !== 'document' || !source) return [];
    const name = nameOf(block.title);
    if (source.type === 'text') return [{ type: 'text/plain', ...name, text: String(source.data).slice(0, 100) }];
    return [source.type === 'url' ? byUrl(source.url, name) : inline(source.media_type, source.data, name)];
  });

/** The documents among the parts of a Gemini content, and in the results of functions. Pictures are none. */
export const geminiDocuments = (parts: unknown): HeardDocument[] =>
  objectsOf(parts).flatMap((part): HeardDocument[] => {
    const result = objectOf(part.functionResponse);
    if (result) return geminiDocuments(result.parts);
    const data = objectOf(part.inlineData);
    const file = objectOf(part.fileData);
    if (data && !isPicture(data.mimeType)) return [inline(data.mimeType, data.data, {})];
    return file && !isPicture(file.mimeType) ? [byUrl(file.fileUri, {})] : [];
  });

/** The files of chat completions and of the Responses API. */
export const openaiDocuments = (content: unknown): HeardDocument[] =>
  objectsOf(content).flatMap((part): HeardDocument[] => {
    const file = part.type === 'file' ? objectOf(part.file) : part.type === 'input_file' ? part : null;
    if (!file) return [];
    const name = nameOf(file.filename);
    if (typeof file.file_url === 'string') return [byUrl(file.file_url, name)];
    const [, type, data] = /^data:([^;,]*);base64,([^]*)$/.exec(String(file.file_data)) ?? [];
    return [inline(type, data, name)];
  });

/** Why the provider would refuse one of these documents; null if it takes all. */
export const complaintAboutDocuments = (documents: readonly HeardDocument[]): string | null =>
  documents.some(({ type, bytes, url, text }) => url === undefined && text === undefined && (type !== PDF || !bytes))
    ? 'The PDF specified was not valid.'
    : null;

const PDF = 'application/pdf';
const isPicture = (type: unknown): boolean => typeof type === 'string' && type.startsWith('image/');
const nameOf = (name: unknown): Fields & { name?: string } => (typeof name === 'string' ? { name } : {});
const byUrl = (url: unknown, name: { name?: string }): HeardDocument => ({ type: PDF, ...name, url: String(url) });

function inline(type: unknown, data: unknown, name: { name?: string }): HeardDocument {
  const bytes = Buffer.from(typeof data === 'string' ? data : '', 'base64');
  const isPdf = bytes.subarray(0, 1_024).includes('%PDF-');
  const size = isPdf ? measurePdf(bytes, { bytes: 64_000_000, until: performance.now() + 1_000 }) : null;
  return {
    type: typeof type === 'string' ? type : 'unknown',
    ...name,
    bytes: isPdf ? bytes.length : 0,
    ...(size && { pages: size.pages }),
  };
}
