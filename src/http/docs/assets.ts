import { etagOf } from '../../platform/crypto/hash.ts';
import type { AppContext } from '../context.ts';
import { answerRepresentation, type Representation } from '../etag.ts';
import { answerCoded, renderCoded } from '../representations.ts';
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

/** Read when the first browser asks for it. Only the compressed form is kept, because hardly a client takes no gzip. */
let scalar: Promise<Awaited<ReturnType<typeof scalarScript>>> | undefined;

async function answerScalar(ctx: AppContext): Promise<void> {
  scalar ??= scalarScript();
  const { gzipped, plain } = await scalar.catch((error: unknown) => {
    scalar = undefined;
    throw error;
  });
  ctx.vary('Accept-Encoding');
  const compressed: Representation = { body: gzipped, etag: etagOf(gzipped), coding: 'gzip', type: script };
  if (ctx.acceptsEncodings('gzip', 'identity') === 'gzip') return answerRepresentation(ctx, compressed);
  const body = await plain();
  answerRepresentation(ctx, { body, etag: etagOf(body), type: script });
}
