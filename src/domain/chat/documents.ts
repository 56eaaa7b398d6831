import type { UpstreamMapping } from '../catalog/catalog.ts';
import {
  isDataUri,
  type ChatContent,
  type ChatPart,
  type ChatRequest,
  type DocumentWords,
  type PdfPart,
} from './chat.ts';
import { GatewayError } from '../errors.ts';

/** How a family takes documents. */
export interface DocumentSupports {
  /** It has documents in its own words, of text too, with a title and a context. Others are sent these as text. */
  hasBlocks?: true;
  /** It fetches a PDF by its https URL. */
  urls?: true;
}

/** What the providers of a model count for a page, and for a document of unknown size. */
export interface DocumentTokens {
  /** The most for a page of `textPerPage` tokens of text, with its picture. */
  page: number;
  likelyPage: number;
  /** The context of the model. More cannot be counted: the provider refuses such a request. */
  context: number;
}

/** The text on a full page: "each page typically uses 1,500-3,000 tokens" (https://platform.claude.com/docs/en/build-with-claude/pdf-support). */
const textPerPage = 3_000;
/** For estimates alone: the bytes of a page of a document that could not be measured, and the pages of one that was not fetched. */
const likelyBytesPerPage = 20_000;
const likelyPagesOfUrl = 10;
/** English text has four characters to a token. */
const likelyBytesPerToken = 4;

/** Every PDF of the request, in order. */
export const listDocuments = ({ messages }: Pick<ChatRequest, 'messages'>): PdfPart[] =>
  messages.flatMap(({ content }) =>
    typeof content === 'string' || content === null ? [] : content.filter((part) => part.type === 'document'),
  );

/** The request with each PDF replaced. */
export const withDocuments = (request: ChatRequest, replace: (document: PdfPart) => PdfPart): ChatRequest => ({
  ...request,
  messages: request.messages.map((message) =>
    message.role === 'assistant' || !Array.isArray(message.content)
      ? message
      : {
          ...message,
          content: message.content.map((part) => (part.type === 'document' ? { ...part, ...replace(part) } : part)),
        },
  ),
});

/** What the documents of a model count, by the mappings that take them; undefined if none does. */
export function documentTokensOf(
  mappings: readonly Pick<UpstreamMapping, 'documents'>[],
  context: number | null,
): DocumentTokens | undefined {
  const taking = mappings.flatMap(({ documents }) => documents ?? []);
  if (taking.length === 0) return undefined;
  return {
    page: Math.max(...taking.map(({ page_tokens: tokens }) => tokens)),
    likelyPage: Math.max(...taking.map(({ likely_page_tokens: tokens }) => tokens)),
    context: context ?? unknownContext,
  };
}
/** As large as the contexts of the largest models. */
const unknownContext = 1_000_000;

/**
 * The tokens of all documents: at most, which is never below what a provider counts, and likely. A document of unknown size, and one by URL, may fill
 * the context. Together they never have more than the context.
 */
export function tokensOfDocuments(
  documents: readonly PdfPart[],
  tokens: DocumentTokens,
): { most: number; likely: number } {
  const sums = documents.map((document) => tokensOf(document, tokens));
  const sum = (key: 'most' | 'likely'): number => sums.reduce((total, one) => total + one[key], 0);
  return { most: Math.min(sum('most'), tokens.context), likely: Math.ceil(sum('likely')) };
}

function tokensOf({ url, size }: PdfPart, { page, likelyPage, context }: DocumentTokens) {
  if (!size) {
    const pages = isDataUri(url) ? Math.ceil((url.length * 0.75) / likelyBytesPerPage) : likelyPagesOfUrl;
    return { most: context, likely: Math.min(pages * likelyPage, context) };
  }
  const { pages, textBytes } = size;
  const likelyText = textBytes / likelyBytesPerToken - (pages * textPerPage) / likelyBytesPerToken;
  return {
    most: pages * page + Math.max(0, textBytes - pages * textPerPage),
    likely: pages * likelyPage + Math.max(0, likelyText),
  };
}

/** The first document that a family does not take of a model; undefined if it takes all of them. */
export const refusedDocument = (
  { mapping, supports }: TakerOfDocuments,
  documents: readonly PdfPart[],
): PdfPart | undefined =>
  supports.documents && mapping.documents
    ? documents.find(({ url }) => !supports.documents?.urls && !isDataUri(url))
    : documents[0];

/** A model at a family. */
export interface TakerOfDocuments {
  mapping: Pick<UpstreamMapping, 'documents'>;
  supports: { documents?: DocumentSupports };
}

/**
 * Refuses documents that no family of the model takes: `unsupported_parameter` on the part, which says what can be done. `takers` are the models
 * that take PDFs.
 */
export function checkDocuments(
  {
    model,
    families,
    takers,
  }: { model: string; families: readonly TakerOfDocuments[]; takers: () => readonly string[] },
  documents: readonly PdfPart[],
): void {
  const [first] = documents;
  if (!first || families.some((family) => refusedDocument(family, documents) === undefined)) return;
  const isTaken = families.some((family) => family.mapping.documents && family.supports.documents);
  const byUrl = documents.find(({ url }) => !isDataUri(url)) ?? first;
  throw isTaken
    ? refused(byUrl.at, `the model ${model} takes no document by URL. Send its bytes in base64.`)
    : refused(first.at, `the model ${model} does not take PDF documents.${instead(takers())}`);
}

function instead(takers: readonly string[]): string {
  if (takers.length === 0) return ' Send its text.';
  const named = takers.slice(0, TAKERS_NAMED_MAX).join(', ');
  return ` Send its text, or use a model that takes them: ${named}${takers.length > TAKERS_NAMED_MAX ? ', …' : ''}.`;
}
const TAKERS_NAMED_MAX = 8;

const refused = (param: string, what: string): GatewayError =>
  new GatewayError('unsupported_parameter', { param, message: `${param}: ${what}`, isInClientWords: true });

/** The request with the titles and contexts of its documents, and its documents of text, as text. */
export function plainDocuments(request: ChatRequest): ChatRequest {
  if (!request.messages.some(({ content }) => Array.isArray(content) && content.some(hasWords))) return request;
  const plain = <Content extends ChatContent | null>(content: Content): ChatContent | Content =>
    Array.isArray(content) ? content.flatMap(toPlain) : content;
  return {
    ...request,
    messages: request.messages.map((message) =>
      message.role === 'assistant' ? message : { ...message, content: plain(message.content) },
    ),
  };
}

const hasWords = (part: ChatPart): boolean =>
  part.type === 'document'
    ? part.title !== undefined || part.context !== undefined
    : part.type === 'text' && part.document !== undefined;

function toPlain(part: ChatPart): ChatPart[] {
  if (part.type === 'document') {
    const { title, context, ...document } = part;
    const words = titleAndContext({ ...(title !== undefined && { title }), ...(context !== undefined && { context }) });
    return [...(words === '' ? [] : [{ type: 'text' as const, text: words }]), document];
  }
  if (part.type !== 'text' || !part.document) return [part];
  const { document, ...text } = part;
  return [{ ...text, text: [titleAndContext(document), part.text].filter(Boolean).join('\n\n') }];
}

const titleAndContext = ({ title, context }: DocumentWords): string => [title, context].filter(Boolean).join('\n');
