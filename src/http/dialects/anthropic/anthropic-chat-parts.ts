import type { CacheControl, ChatContent, ChatPart, DocumentWords } from '../../../domain/chat/chat.ts';
import type {
  DocumentBlock,
  ImageBlock,
  SearchResultBlock,
  TextBlock,
  ToolReferenceBlock,
} from './anthropic-chat-fields.ts';
import { markedParts } from '../cache-mark.ts';
import { nonNullFields, isNonNull } from '../chat-fields.ts';
import { notStored, toFilePart } from '../document-part.ts';

type ContentBlock = TextBlock | ImageBlock | DocumentBlock | SearchResultBlock | ToolReferenceBlock;

/** The content of a message or a result. `at` is its path. */
export const contentOfBlocks = (content: string | readonly ContentBlock[], at = ''): ChatContent =>
  typeof content === 'string' ? content : content.flatMap((block, index) => toChatParts(block, `${at}.${index}`));

/** A block as parts: a document may be several. `at` is its path. */
export const toChatParts = (block: ContentBlock, at: string): ChatPart[] =>
  block.type === 'document' ? toDocument(block, at) : [toPart(block, at)];

function toPart(block: Exclude<ContentBlock, DocumentBlock>, at: string): ChatPart {
  const cached = nonNullFields({ cacheControl: block.cache_control });
  if (block.type === 'text') return { type: 'text', text: block.text, ...cached };
  if (block.type === 'search_result') {
    const text = [block.title, block.source, ...block.content.map((part) => part.text)].join('\n');
    return { type: 'text', text, ...cached };
  }
  if (block.type === 'tool_reference') {
    const { tool_name: name } = block;
    return { type: 'text', text: `The tool ${name} is available.`, toolReference: name, ...cached };
  }
  const { source } = block;
  if (source.type === 'file') throw notStored(`${at}.source.type`, 'Send the bytes of the picture as a base64 source.');
  const url = source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`;
  return { type: 'image', url, ...cached };
}

/** A PDF, a text, or the texts and pictures that the client made of a document. */
function toDocument({ source, title, context, cache_control: cacheControl }: DocumentBlock, at: string): ChatPart[] {
  const words = nonNullFields({ title, context });
  const cached = nonNullFields({ cacheControl });
  switch (source.type) {
    case 'file':
      throw notStored(`${at}.source.type`, 'Send the bytes of the document as a base64 source.');
    case 'text':
      return [{ type: 'text', text: source.data, document: words, ...cached }];
    case 'content':
      return toContentDocument(source.content, { words, at: `${at}.source.content`, cacheControl });
    case 'url':
      return [{ ...toFilePart({ at, url: source.url, mediaType: 'application/pdf', ...words }), ...cached }];
    case 'base64':
      return [{ ...toFilePart({ at, data: source.data, mediaType: source.media_type, ...words }), ...cached }];
  }
}

function toContentDocument(
  content: string | readonly (TextBlock | ImageBlock)[],
  { words, at, cacheControl }: { words: DocumentWords; at: string; cacheControl: CacheControl | null | undefined },
): ChatPart[] {
  const chatContent = contentOfBlocks(content, at);
  const parts =
    typeof chatContent === 'string' ? [{ type: 'text' as const, text: chatContent, document: words }] : chatContent;
  const heading = typeof chatContent === 'string' ? '' : [words.title, words.context].filter(Boolean).join('\n');
  const all: ChatPart[] = heading === '' ? parts : [{ type: 'text', text: heading }, ...parts];
  return isNonNull(cacheControl) ? markedParts(all, cacheControl) : all;
}
