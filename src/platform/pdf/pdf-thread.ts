import { parentPort } from 'node:worker_threads';
import { z } from 'zod';
import { measurePdf } from './measure-pdf.ts';
import type { MeasuredPdf } from './pdf-meter.ts';

const PdfThreadRequest = z.object({
  id: z.number(),
  withinMs: z.number(),
  documents: z.array(z.instanceof(Uint8Array)),
});

/** What the streams of one request may have, decoded. A document of a thousand pages of text has four million bytes. */
const DECODED_BYTES_MAX = 64_000_000;
/** A PDF may have other bytes before its header (ISO 32000-1, Annex H.3.4.1). */
const HEADER_WITHIN_BYTES = 1_024;

parentPort?.on('message', (message: unknown) => {
  const { id, withinMs, documents } = PdfThreadRequest.parse(message);
  const budget = { bytes: DECODED_BYTES_MAX, until: performance.now() + withinMs };
  const measured = documents.map((document): MeasuredPdf => {
    const bytes = Buffer.from(document.buffer, document.byteOffset, document.length);
    if (!bytes.subarray(0, HEADER_WITHIN_BYTES).includes('%PDF-')) return 'no_pdf';
    return measurePdf(bytes, budget);
  });
  parentPort?.postMessage({ id, measured });
});
