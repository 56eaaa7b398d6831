import type { Deps } from '../../deps.ts';
import type { CatalogEntry, UpstreamMapping } from '../../domain/catalog/catalog.ts';
import { isOffered } from '../../domain/catalog/model-list.ts';
import { isAllowed } from '../../domain/catalog/model-names.ts';
import {
  checkChatModel,
  isDataUri,
  splitDataUri,
  withThoughts,
  type ChatRequest,
  type PdfPart,
} from '../../domain/chat/chat.ts';
import { chatHold, checkContext, checkTextLength, heldCredits, type ChatHold } from '../../domain/chat/chat-hold.ts';
import { familiesTaking, type ChatSupports } from '../../domain/chat/chat-supports.ts';
import {
  checkDocuments,
  documentTokensOf,
  listDocuments,
  withDocuments,
  type TakerOfDocuments,
} from '../../domain/chat/documents.ts';
import { withThinkingLength } from '../../domain/chat/reasoning.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { MeasuredPdf } from '../../platform/pdf/pdf-meter.ts';
import { checkInputUrl } from '../files/check-input-url.ts';

export interface PreparedChat {
  entry: CatalogEntry;
  request: ChatRequest;
  hold: ChatHold;
  /** Credits to hold: the price of the worst case. */
  credits: number;
  /** Adapter families that support the request. */
  families: string[];
}

/**
 * Checks a request before credits are held, and computes its hold. Its documents must have been measured (`measuredDocuments`). The returned
 * request lacks the thoughts that no provider gets, and leaves room to think. Throws GatewayError.
 */
export function prepareChat(
  { adapters, egress }: Pick<Deps, 'adapters' | 'egress'>,
  entry: CatalogEntry,
  clientRequest: ChatRequest,
): PreparedChat {
  checkChatModel(entry.model, clientRequest);
  checkInputUrls({ egress }, clientRequest);
  checkTextLength(clientRequest);
  const supports = (family: string, api: UpstreamMapping['api'], vendor: string | undefined) =>
    supportsOf(adapters, family, api, vendor);
  const upstream = Object.entries(entry.private.upstream);
  // The hold does not include thoughts that no provider gets.
  const sent = withThoughts(clientRequest, {
    isReasoningKept: upstream.some(([, { keeps_reasoning: keeps }]) => keeps === true),
    kinds: upstream.flatMap(([family, { api, vendor }]) => supports(family, api, vendor)?.thoughts ?? []),
  });
  const request = withThinkingLength(sent, entry.private.max_tokens);
  const documents = documentTokensOf(
    upstream.map(([, mapping]) => mapping),
    entry.private.context_tokens,
  );
  const hold = chatHold(request, entry.private.image_tokens, documents);
  checkContext(entry, hold);
  const families = familiesTaking(entry.private.upstream, supports, request);
  const credits = heldCredits(entry.model.pricing, hold);
  return { entry, request, hold, credits, families };
}

/** Providers fetch these URLs. With a private address a client would reach the network of a self-hosted provider. */
function checkInputUrls(deps: Pick<Deps, 'egress'>, { messages }: ChatRequest): void {
  for (const [at, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue;
    for (const [index, part] of content.entries()) {
      if (part.type === 'text' || isDataUri(part.url)) continue;
      if (part.type === 'document') checkInputUrl(deps, part.url, part.at, { isInClientWords: true });
      else checkInputUrl(deps, part.url, `messages.${at}.content.${index}.image_url.url`);
    }
  }
}

/**
 * The request with the size of each PDF that it has. Throws `unsupported_parameter` if the model takes no PDF, with the models that do and that
 * the key may use, and `invalid_value` for data that is no PDF. A document that could not be measured has the size null.
 */
export async function measuredDocuments(
  deps: Pick<Deps, 'adapters' | 'catalog' | 'pdfMeter'>,
  {
    entry,
    request,
    key,
  }: { entry: CatalogEntry; request: ChatRequest; key: { projectId: string; models: string[] | null } },
): Promise<ChatRequest> {
  const documents = listDocuments(request);
  if (documents.length === 0 || entry.model.type !== 'chat') return request;
  const offered = (await deps.catalog.entries()).filter((one) => isOffered(one) && isAllowed(key.models, one));
  const takers = () => offered.filter((one) => takersOf(deps, one).some(takesAny)).map(({ model }) => model.id);
  checkDocuments({ model: entry.model.id, families: takersOf(deps, entry), takers }, documents);
  const inline = documents.filter(({ url }) => splitDataUri(url) !== null);
  const texts = inline.map(({ url }) => splitDataUri(url)?.base64 ?? '');
  const measured = await deps.pdfMeter.measure(key.projectId, texts);
  const sizes = new Map(inline.map((document, index) => [document, sizeOf(document, measured[index] ?? null)]));
  return withDocuments(request, (document) => ({ ...document, size: sizes.get(document) ?? null }));
}

/** The families that serve a model's chats, with what they take of documents. */
const takersOf = ({ adapters }: Pick<Deps, 'adapters'>, { private: hidden }: CatalogEntry): TakerOfDocuments[] =>
  Object.entries(hidden.upstream).flatMap(([family, mapping]) => {
    const supports = supportsOf(adapters, family, mapping.api, mapping.vendor);
    return supports ? [{ mapping, supports }] : [];
  });

const takesAny = ({ mapping, supports }: TakerOfDocuments): boolean =>
  mapping.documents !== undefined && supports.documents !== undefined;

function sizeOf({ at }: PdfPart, measured: MeasuredPdf): PdfPart['size'] {
  if (measured !== 'no_pdf' && measured !== 'no_base64') return measured;
  const what = measured === 'no_pdf' ? 'the data is no PDF' : 'the data is not base64';
  throw new GatewayError('invalid_value', { param: at, message: `${at}: ${what}`, isInClientWords: true });
}

/**
 * What a family supports of a chat, through the API that a mapping names; for the chat completions API also what the mapping's vendor
 * changes. Undefined if the family has no such API.
 */
export function supportsOf(
  adapters: Deps['adapters'],
  family: string,
  api: UpstreamMapping['api'],
  vendorName: string | undefined,
): ChatSupports | undefined {
  const adapter = adapters[family];
  if (api === 'responses') return adapter?.responsesSupports;
  const supports = adapter?.chatSupports;
  const vendor = vendorName === undefined ? undefined : adapter?.chatVendors?.[vendorName];
  return supports && vendor ? { ...supports, vendor } : supports;
}
