import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { measurePdf } from '../../../src/platform/pdf/measure-pdf.ts';
import { assembled, object, objectStream, pdf, pdfForms, rawStream, stream } from '../../support/pdfs.ts';

const measure = (bytes: Buffer, { bytesMax = 10_000_000 } = {}) =>
  measurePdf(bytes, { bytes: bytesMax, until: performance.now() + 60_000 });

const catalog = object(1, '<< /Type /Catalog /Pages 2 0 R >>');
const tree = (number: number, kids: string): string => object(number, `<< /Type /Pages /Kids [${kids}] >>`);
const page = (number: number, contents = 9): string =>
  object(number, `<< /Type /Page /Parent 2 0 R /Contents ${contents} 0 R >>`);
const shown = (text: string): string => `BT (${text}) Tj ET`;
const long = 'word '.repeat(20_000);

describe('the size of a PDF', () => {
  it.each(pdfForms)('is its pages and the bytes of their texts: %s', (form) => {
    const text = 'The quick (brown) fox \\ jumps';
    for (const pages of [1, 7, 300]) {
      const size = measure(pdf({ pages, text, form }));
      expect(size?.pages).toBe(pages);
      expect(size?.textBytes).toBeGreaterThanOrEqual(pages * text.length);
      expect(size?.textBytes).toBeLessThan(pages * (text.length + 10));
    }
  });

  it('has the pages of nested trees, and of the version with the most of a changed document', () => {
    expect(
      measure(assembled([catalog, tree(2, '3 0 R 4 0 R'), tree(3, '5 0 R 6 0 R'), page(4), page(5), page(6)])),
    ).toEqual({ pages: 3, textBytes: 0 });
    const changed = [catalog, tree(2, '3 0 R'), page(3), objectStream(8, [[2, '<< /Kids [3 0 R 4 0 R] >>']]), page(4)];
    expect(measure(assembled(changed))?.pages).toBe(2);
  });

  it('counts a page each time that it stands in the tree, and a text for each page that shows it', () => {
    const kids = '3 0 R '.repeat(50);
    expect(measure(assembled([catalog, tree(2, kids), page(3), stream(9, shown('hello'))]))?.pages).toBe(50);
    const pages = Array.from({ length: 20 }, (_, index) => page(20 + index));
    const kidsOf = pages.map((_, index) => `${20 + index} 0 R`).join(' ');
    const shared = assembled([catalog, tree(2, kidsOf), ...pages, stream(9, shown('hello'))]);
    expect(measure(shared)).toEqual({ pages: 20, textBytes: 100 });
  });

  it('has the texts of strings in digits, of dense pages and of streams that name themselves pictures', () => {
    const of = (content: Buffer) => measure(assembled([catalog, tree(2, '3 0 R'), page(3), content]))?.textBytes;
    expect(of(stream(9, 'BT <48656C6C6F> Tj [(wor) -20 (ld)] TJ ET'))).toBe(10);
    expect(of(stream(9, shown(long)))).toBe(long.length);
    expect(of(stream(9, shown(long), 'compressed texts', '/Subtype /Image'))).toBe(long.length);
  });

  it('has the text of a form as often as a page draws it', () => {
    const form = stream(8, shown('hello'), 'compressed texts', '/Subtype /Form');
    const of = (content: string, ...more: Buffer[]) =>
      measure(assembled([catalog, tree(2, '3 0 R'), page(3), form, stream(9, content), ...more]));
    expect(of('/F0 Do')).toEqual({ pages: 1, textBytes: 5 });
    expect(of('/F0 Do '.repeat(7))).toEqual({ pages: 1, textBytes: 35 });
    expect(of('/F0 Do '.repeat(1_000))).toBeNull();
    const nested = stream(7, '/F0 Do '.repeat(2), 'compressed texts', '/Subtype /Form');
    expect(of('/F1 Do', nested)).toBeNull();
    const markers = stream(8, '0 0 m 1 1 l S', 'compressed texts', '/Subtype /Form');
    const drawn = [catalog, tree(2, '3 0 R'), page(3), markers, stream(9, '/M0 Do '.repeat(1_000))];
    expect(measure(assembled(drawn))).toEqual({ pages: 1, textBytes: 0 });
  });

  it('has no text of pictures, fonts and drawings', () => {
    const of = (content: Buffer) => measure(assembled([catalog, tree(2, '3 0 R'), page(3), content]));
    expect(of(rawStream(9, Buffer.from('(a) BT (b)'), '/Subtype /Image /Filter /DCTDecode'))).toMatchObject({
      textBytes: 0,
    });
    expect(of(stream(9, '0 0 m (not shown) 10 10 l S'))).toMatchObject({ textBytes: 0 });
  });

  it('is not changed by a false end of a stream', () => {
    const hidden = `${shown('seen')} endstream endobj ${shown(long)}`;
    const stored = stream(9, hidden);
    expect(measure(assembled([catalog, tree(2, '3 0 R'), page(3), stored]))?.textBytes).toBe(4 + long.length);
  });

  const doubling = Array.from({ length: 40 }, (_, index) => tree(100 + index, `${101 + index} 0 R ${101 + index} 0 R`));
  const unknown: Record<string, Buffer> = {
    'is encrypted': assembled([catalog, tree(2, '3 0 R'), page(3), 'trailer << /Encrypt 7 0 R >>\n']),
    'writes its names in numbers': assembled([catalog, object(2, '<< /K#69ds [3 0 R] >>'), page(3)]),
    'compresses a text in a way that is not read here': assembled([
      catalog,
      tree(2, '3 0 R'),
      page(3),
      rawStream(9, Buffer.from('xx'), '/Filter /LZWDecode'),
    ]),
    'names its filter elsewhere': assembled([
      catalog,
      tree(2, '3 0 R'),
      page(3),
      rawStream(9, Buffer.from('xx'), '/Filter 8 0 R'),
    ]),
    'has damaged data': assembled([
      catalog,
      tree(2, '3 0 R'),
      page(3),
      rawStream(9, Buffer.from('xx'), '/Filter /FlateDecode'),
    ]),
    'has a tree that contains itself': assembled([catalog, tree(2, '3 0 R'), tree(3, '2 0 R')]),
    'has a tree that doubles at each level': assembled([catalog, tree(2, '100 0 R'), ...doubling, page(140)]),
    'keeps its list of pages elsewhere': assembled([
      catalog,
      object(2, '<< /Type /Pages /Kids 5 0 R >>'),
      object(5, '[3 0 R]'),
      page(3),
    ]),
    'has a comment in its list of pages': assembled([catalog, tree(2, '3 0 R %]\n 4 0 R'), page(3), page(4)]),
    'has no tree of pages': assembled([object(1, '<< /Type /Catalog >>'), page(3)]),
    'unpacks to more than the budget': assembled([
      catalog,
      tree(2, '3 0 R'),
      page(3),
      stream(9, ' '.repeat(20_000_000)),
    ]),
    'shows long texts for single characters': assembled([
      catalog,
      tree(2, '3 0 R'),
      page(3),
      stream(9, `begincmap 1 beginbfchar <01> <${'0041'.repeat(100)}> endbfchar`),
    ]),
    'has more text between its streams than is read': assembled([
      catalog,
      tree(2, '3 0 R'),
      page(3),
      '1 0 obj '.repeat(1_100_000),
    ]),
  };
  it.each(Object.entries(unknown))('is not known of a document that %s', (_what, bytes) => {
    expect(measure(bytes)).toBeNull();
  });

  it('is found or not known of any bytes, and never throws', () => {
    const whole = pdf({ pages: 3, form: 'compressed objects' });
    const change = fc.tuple(fc.nat(whole.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(change, { maxLength: 20 }), fc.nat(whole.length), (changes, length) => {
        const bytes = Buffer.from(whole);
        for (const [at, value] of changes) bytes[at] = value;
        const size = measure(bytes.subarray(0, length));
        if (size) expect(size.pages).toBeGreaterThan(0);
      }),
      { numRuns: 300 },
    );
  });
});
