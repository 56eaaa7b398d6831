import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { etagOf } from '../../platform/crypto/hash.ts';
import type { AppContext } from '../context.ts';
import { answerRepresentation, type Representation } from '../response/etag.ts';
import { answerCoded, renderCoded } from '../response/representations.ts';
import { pagesCss } from './page.ts';
import { referenceJs } from './reference-page.ts';
import { scalarScript } from './scalar-script.ts';

const script = 'text/javascript; charset=utf-8';

const file = (text: string, type: string): ((ctx: AppContext) => Promise<void>) => {
  const body = Buffer.from(text);
  const coded = renderCoded({ body, etag: etagOf(body), type });
  return (ctx) => answerCoded(ctx, coded);
};

/** The files below `/docs/assets`, by name. */
export const docAssets: ReadonlyMap<string, (ctx: AppContext) => Promise<void>> = new Map([
  ['pages.css', file(pagesCss, 'text/css; charset=utf-8')],
  ['reference.js', file(referenceJs, script)],
  ['scalar.js', answerScalar],
]);

interface Scalar {
  gzipped: Representation;
  /** Made when the first client takes no gzip. Hardly one does, and it has 5 MB. */
  plain?: Promise<Representation>;
}

/** Read when the first browser asks for it, and kept: what each answer made for itself, unread connections would hold. */
let scalar: Promise<Scalar> | undefined;

async function answerScalar(ctx: AppContext): Promise<void> {
  scalar ??= scalarScript().then((gzipped) => ({ gzipped: scalarOf(gzipped, 'gzip') }));
  const kept = await scalar.catch((error: unknown) => {
    scalar = undefined;
    throw error;
  });
  ctx.vary('Accept-Encoding');
  if (ctx.acceptsEncodings('gzip', 'identity') === 'gzip') return answerRepresentation(ctx, kept.gzipped);
  kept.plain ??= promisify(gunzip)(kept.gzipped.body).then((body) => scalarOf(body));
  answerRepresentation(ctx, await kept.plain);
}

const scalarOf = (body: Buffer, coding?: 'gzip'): Representation => ({
  body,
  etag: etagOf(body),
  type: script,
  ...(coding && { coding }),
});
