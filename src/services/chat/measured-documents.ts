import type { Deps } from '../../deps.ts';
import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import { splitDataUri, type ChatRequest, type PdfPart } from '../../domain/chat/chat.ts';
import { checkDocuments, listDocuments, withDocuments, type TakerOfDocuments } from '../../domain/chat/documents.ts';
import { GatewayError } from '../../domain/errors.ts';
import { isOffered } from '../../domain/catalog/model-list.ts';
import { isAllowed } from '../../domain/catalog/model-names.ts';
import type { MeasuredPdf } from '../../platform/pdf/pdf-meter.ts';
import { supportsOf } from './supports-of.ts';

type DocumentDeps = Pick<Deps, 'adapters' | 'catalog' | 'pdfMeter'>;

/**
 * The request with the size of each PDF that it has. Throws `unsupported_parameter` if the model takes no PDF, with the models that do and that the key may
 * use, and `invalid_value` for data that is no PDF. A document that could not be measured has the size null.
 */
export async function measuredDocuments(
  deps: DocumentDeps,
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
