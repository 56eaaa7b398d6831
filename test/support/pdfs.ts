import { deflateSync } from 'node:zlib';

/** How writers of PDF differ: whole objects and texts in the clear, compressed texts, or compressed objects too (PDF 1.5). */
export type PdfForm = 'plain' | 'compressed texts' | 'compressed objects' | 'ASCII85';
export const pdfForms: readonly PdfForm[] = ['plain', 'compressed texts', 'compressed objects', 'ASCII85'];

export interface PdfOptions {
  pages?: number;
  /** The text on each page. */
  text?: string;
  form?: PdfForm;
}

/** A PDF as its writers make them. Its table of offsets is left out, because readers rebuild it. */
export function pdf({ pages = 1, text = 'Hello', form = 'plain' }: PdfOptions = {}): Buffer {
  const numbers = Array.from({ length: pages }, (_, index) => index);
  const objects: [number: number, body: string][] = [
    [1, '<< /Type /Catalog /Pages 2 0 R >>'],
    [2, `<< /Type /Pages /Kids [${numbers.map((page) => `${10 + 2 * page} 0 R`).join(' ')}] /Count ${pages} >>`],
    [3, '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'],
    ...numbers.map((page): [number, string] => [
      10 + 2 * page,
      `<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 3 0 R >> >> /Contents ${11 + 2 * page} 0 R >>`,
    ]),
  ];
  const shown = `BT /F1 12 Tf 72 720 Td (${text.replaceAll(/[\\()]/g, '\\$&')}) Tj ET`;
  const contents = numbers.map((page) => stream(11 + 2 * page, shown, form));
  const body =
    form === 'compressed objects' ? [objectStream(4, objects)] : objects.map(([number, one]) => object(number, one));
  return assembled([...body, ...contents]);
}

/** The bytes of a document with these objects. */
export const assembled = (objects: readonly (Buffer | string)[]): Buffer =>
  Buffer.concat([
    Buffer.from('%PDF-1.7\n'),
    ...objects.map((one) => (typeof one === 'string' ? Buffer.from(one, 'latin1') : one)),
    Buffer.from('trailer << /Root 1 0 R >>\n%%EOF\n'),
  ]);

export const object = (number: number, body: string): string => `${number} 0 obj\n${body}\nendobj\n`;

/** One stream, as `form` writes it. */
export function stream(number: number, data: string, form: PdfForm = 'compressed texts', more = ''): Buffer {
  const bytes = Buffer.from(data, 'latin1');
  if (form === 'plain') return rawStream(number, bytes, more);
  if (form === 'ASCII85')
    return rawStream(number, Buffer.from(ascii85(deflateSync(bytes))), `${more} /Filter [/ASCII85Decode /FlateDecode]`);
  return rawStream(number, deflateSync(bytes), `${more} /Filter /FlateDecode`);
}

export const rawStream = (number: number, data: Buffer, dictionary: string): Buffer =>
  Buffer.concat([
    Buffer.from(`${number} 0 obj\n<< /Length ${data.length} ${dictionary} >>\nstream\n`),
    data,
    Buffer.from('\nendstream\nendobj\n'),
  ]);

/** Several objects in one compressed stream. */
export function objectStream(number: number, objects: readonly [number: number, body: string][]): Buffer {
  let offset = 0;
  const pairs = objects.map(([one, body]) => {
    const pair = `${one} ${offset}`;
    offset += body.length + 1;
    return pair;
  });
  const head = `${pairs.join(' ')} `;
  const data = head + objects.map(([, body]) => body).join(' ');
  return stream(number, data, 'compressed texts', `/Type /ObjStm /N ${objects.length} /First ${head.length}`);
}

function ascii85(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 4) {
    const group = Buffer.alloc(4);
    const length = bytes.copy(group, 0, at, at + 4);
    let value = group.readUInt32BE(0);
    const digits = Array.from({ length: 5 }, () => {
      const digit = value % 85;
      value = Math.floor(value / 85);
      return String.fromCharCode(33 + digit);
    }).reverse();
    text += digits.slice(0, length + 1).join('');
  }
  return `${text}~>`;
}
