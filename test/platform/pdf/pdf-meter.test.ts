import { afterEach, describe, expect, it } from '@jest/globals';
import { PdfMeter } from '../../../src/platform/pdf/pdf-meter.ts';
import { assembled, pdf, stream } from '../../support/pdfs.ts';

const meters: PdfMeter[] = [];
const meter = (options?: ConstructorParameters<typeof PdfMeter>[0]): PdfMeter => {
  // Longer than the first start of a thread takes on a busy machine.
  const one = new PdfMeter({ answerMs: 60_000, waitMs: 60_000, ...options });
  meters.push(one);
  return one;
};
afterEach(() => Promise.all(meters.splice(0).map((one) => one.close())));

const base64 = (bytes: Buffer): string => bytes.toString('base64');
const two = { pages: 2, textBytes: 10 };

describe('the meter of PDFs', () => {
  it('measures each document of a request, and says which are none', async () => {
    const documents = [base64(pdf({ pages: 2 })), base64(Buffer.from('no document')), 'no*base64', '', base64(pdf())];
    expect(await meter().measure('a', documents)).toEqual([
      two,
      'no_pdf',
      'no_base64',
      'no_base64',
      { pages: 1, textBytes: 5 },
    ]);
  });

  it('finds a document behind other bytes, whatever its padding', async () => {
    const one = meter();
    for (const before of ['', 'x', 'xx', 'xxx'])
      expect(await one.measure('a', [base64(Buffer.concat([Buffer.from(before), pdf({ pages: 2 })]))])).toEqual([two]);
  });

  it('shares what it unpacks among the documents of one request', async () => {
    const bomb = base64(assembled([stream(9, ' '.repeat(34_000_000)), pdf()]));
    const [first, second, third] = await meter().measure('a', [
      bomb,
      bomb,
      base64(pdf({ pages: 2, form: 'compressed texts' })),
    ]);
    expect(first).not.toBeNull();
    expect(second).toBeNull();
    expect(third).toEqual(two);
  });

  it('gives up a document that takes too long, and measures the next one', async () => {
    const one = meter({ answerMs: 1 });
    expect(await one.measure('a', [base64(pdf({ pages: 2_000 }))])).toEqual([null]);
    const patient = meter();
    expect(await patient.measure('a', [base64(pdf({ pages: 2 }))])).toEqual([two]);
  });

  it('leaves what one project sends beyond its turn unmeasured, and takes turns with the others', async () => {
    const one = meter();
    const documents = [base64(pdf({ pages: 2 }))];
    const ends: string[] = [];
    const measured = Array.from({ length: 30 }, () =>
      one.measure('busy', documents).then(([size]) => {
        ends.push('busy');
        return size;
      }),
    );
    const other = one.measure('other', documents).then((sizes) => {
      ends.push('other');
      return sizes;
    });
    expect(await other).toEqual([two]);
    const sizes = await Promise.all(measured);
    expect(sizes.filter((size) => size === null).length).toBeGreaterThan(0);
    expect(sizes.filter((size) => size !== null).length).toBeGreaterThanOrEqual(16);
    const turns = ends.filter((owner, index) => owner === 'busy' || ends.slice(0, index).length === index);
    expect(turns.lastIndexOf('busy')).toBeGreaterThan(ends.indexOf('other'));
  });

  it('answers what waits when it closes', async () => {
    const one = new PdfMeter();
    const documents = [base64(pdf({ pages: 2 }))];
    const waiting = [one.measure('a', documents), one.measure('a', documents)];
    await one.close();
    expect((await Promise.all(waiting)).flat()).toHaveLength(2);
  });
});
