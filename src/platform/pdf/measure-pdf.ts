import type { PdfSize } from '../../domain/chat/chat.ts';
import { decodeStream, type DecodingBudget } from './decode-stream.ts';
import { PageTree } from './page-tree.ts';
import { mostDraws, shownBytes } from './shown-bytes.ts';

/** More streams than any document that a provider takes. Each costs the start of a decoder. */
const STREAMS_MAX = 50_000;
/** Texts of objects between two streams, or in one of them. Each becomes many small strings. */
const OBJECTS_BYTES_MAX = 8_000_000;

/** How often one page draws the same form, where forms have text. Writers repeat markers of diagrams far more often, which have none. */
const FORM_DRAWS_MAX = 20;

/**
 * The pages of a PDF and the bytes of the texts on them, without a full parse: every stream is decoded within the budget and searched, and the
 * tree of pages is followed. Both are upper bounds for what writers of PDF make. Null if there is no bound: the document is encrypted,
 * compressed in an unusual way, damaged, written to mislead, or larger than the budget. (ISO 32000-1, 7.3.8, 7.5.7 and 7.7.3.)
 */
export function measurePdf(bytes: Buffer, budget: DecodingBudget): PdfSize | null {
  const tree = new PageTree();
  const shown: ShownText[] = [];
  const draws = { page: 0, form: 0 };
  let at = 0;
  for (let streams = 0; at < bytes.length; streams += 1) {
    const start = nextStream(bytes, at);
    const end = start?.keyword ?? bytes.length;
    if (end - at > OBJECTS_BYTES_MAX) return null;
    const object = tree.read(bytes.toString('latin1', at, end));
    if (object === null) return null;
    if (!start) break;
    if (streams > STREAMS_MAX || performance.now() > budget.until) return null;
    const { dictionary } = object;
    const decoded = decodeStream(bytes, { start: start.data, dictionary }, budget);
    if (decoded === null) return null;
    if (decoded.data) {
      if (!tree.readObjects(decoded.data, { dictionary, bytesMax: OBJECTS_BYTES_MAX })) return null;
      const count = shownBytes(decoded.data);
      if (count === null) return null;
      const kind = /\/Subtype\s*\/Form\b/.test(dictionary) ? 'form' : 'page';
      if (count > 0) shown.push({ object: object.number, bytes: count, kind });
      draws[kind] = Math.max(draws[kind], mostDraws(decoded.data));
    }
    at = decoded.end;
  }
  const pages = tree.pages();
  const hasForms = shown.some(({ kind }) => kind === 'form');
  // Forms that draw others repeatedly multiply with each level.
  if (pages === null || (hasForms && (draws.form > 1 || draws.page > FORM_DRAWS_MAX))) return null;
  const timesOf = ({ object, kind }: ShownText): number =>
    kind === 'form' ? Math.max(1, draws.page) : tree.uses(object);
  return { pages, textBytes: shown.reduce((sum, text) => sum + text.bytes * timesOf(text), 0) };
}

/** The bytes of text in one stream, which pages show themselves or draw as a form (ISO 32000-1, 8.10). */
interface ShownText {
  object: number | null;
  bytes: number;
  kind: 'page' | 'form';
}

/** The next keyword `stream`, which a line break follows, and where its data begin. */
function nextStream(bytes: Buffer, from: number): { keyword: number; data: number } | null {
  for (let at = bytes.indexOf('stream', from); at >= 0; at = bytes.indexOf('stream', at + 6)) {
    const isEnd = bytes.toString('latin1', Math.max(0, at - 3), at) === 'end';
    const after = bytes[at + 6];
    if (isEnd || (after !== 0x0a && after !== 0x0d)) continue;
    return { keyword: at, data: at + (after === 0x0d && bytes[at + 7] === 0x0a ? 8 : 7) };
  }
  return null;
}
