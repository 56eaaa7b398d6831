import type { CatalogCache } from '../../caches/catalog-cache.ts';
import type { Config } from '../../config/load-config.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { isOffered } from '../../domain/catalog/model-list.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { etagOf } from '../../platform/crypto/hash.ts';
import type { AppContext, AppMiddleware } from '../context.ts';
import { docAssets } from '../docs/assets.ts';
import { errorPage, errorsPage, isErrorCode } from '../docs/error-pages.ts';
import { homeFacts, homePage } from '../docs/home-page.ts';
import { llmsText } from '../docs/llms-text.ts';
import { pagePolicy } from '../docs/page.ts';
import { referencePage } from '../docs/reference-page.ts';
import { answerRepresentation, type Representation } from '../response/etag.ts';
import type { DescribedRoute } from '../openapi/operation.ts';
import { openapiDocument } from '../openapi/document.ts';
import type { TaskLimits } from '../openapi/operation.ts';
import { preferredType } from '../request/preferred-type.ts';
import { answerCoded, perCatalog, renderCoded, renderJson } from '../response/representations.ts';
import type { Route } from '../route.ts';

interface DocumentationDeps {
  catalog: Pick<CatalogCache, 'entries'>;
  config: { http: Pick<Config['http'], 'publicBaseUrl'>; tasks: TaskLimits };
}

/**
 * The document, the pages about it and `llms.txt`, all without a key. `described` are the other routes, which the document is about
 * together with these.
 */
export function documentationRoutes(deps: DocumentationDeps, described: readonly DescribedRoute[]): Route[] {
  const open = { method: 'GET', auth: 'none', dialect: 'openai', body: 'none' } as const;
  const routes: Route[] = [
    // Clients may add parameters to it.
    { ...open, path: '/', anyQuery: true, handler: showHome(deps) },
    { ...open, path: '/api/v1/openapi.json', handler: showDocument(deps, () => [...described, ...routes]) },
    { ...open, path: '/llms.txt', handler: showGuide(deps) },
    { ...open, path: '/docs', handler: showPage(() => referencePage, referencePolicy) },
    { ...open, path: '/docs/assets/:name', handler: showAsset },
    { ...open, path: '/docs/errors', handler: showPage(errorsPage, pagePolicy) },
    { ...open, path: '/docs/errors/:code', handler: showPage(errorPageOf, pagePolicy) },
  ];
  return routes;
}

/** The document is made and compressed once per catalog. It names offered models only, as a key without an allowlist sees them. */
function showDocument({ catalog, config }: DocumentationDeps, routes: () => readonly DescribedRoute[]): AppMiddleware {
  const document = perCatalog((entries) =>
    renderCoded(renderJson(openapiDocument(routes(), entries.filter(isOffered), config.tasks))),
  );
  return async (ctx) => answerCoded(ctx, document(await catalog.entries()));
}

/** `PUBLIC_BASE_URL`, or what clients name in their Host header. */
const guidesMax = 10;

function showGuide({ catalog, config }: DocumentationDeps): AppMiddleware {
  const guides = perCatalog((entries) => {
    const byBaseUrl = new BoundedMap<Representation>(guidesMax);
    return (baseUrl: string) =>
      byBaseUrl.getOrMake(baseUrl, () =>
        kept(llmsText(baseUrl, entries.filter(isOffered)), 'text/plain; charset=utf-8'),
      );
  });
  return async (ctx) => {
    answerRepresentation(ctx, guides(await catalog.entries())(baseUrlOf(config, ctx)));
  };
}

const baseUrlOf = ({ http }: DocumentationDeps['config'], ctx: AppContext): string =>
  http.publicBaseUrl.replace(/\/+$/, '') || ctx.origin;

/** A page for a browser, and one line of JSON for a program. */
function showHome({ config }: DocumentationDeps): AppMiddleware {
  return (ctx) => {
    const baseUrl = baseUrlOf(config, ctx);
    const type = preferredType(ctx, ['application/json', 'text/html']);
    if (type === 'text/html') {
      denyOthers(ctx, pagePolicy);
      answerRepresentation(ctx, kept(homePage(baseUrl), 'text/html; charset=utf-8'));
    } else
      answerRepresentation(ctx, kept(`${JSON.stringify(homeFacts(baseUrl))}\n`, 'application/json; charset=utf-8'));
    return Promise.resolve();
  };
}

/** The headers of a page: it loads what the policy names, and tells no other host where its reader was. */
function denyOthers(ctx: AppContext, policy: string): void {
  ctx.set('Content-Security-Policy', policy);
  ctx.set('Referrer-Policy', 'no-referrer');
}

/** One body for all answers. */
function kept(text: string, type: string): Representation {
  const body = Buffer.from(text);
  return { body, etag: etagOf(body), type };
}

/** Scalar writes styles into the page, makes object URLs for answers, and sends the requests of "try it" to this server. */
const referencePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; media-src 'self' blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** One page, or one for each `code` of the path that `html` accepts, which are few. */
function showPage(html: (ctx: AppContext) => string, policy: string): AppMiddleware {
  const pages = new Map<string, Representation>();
  return (ctx) => {
    const name = ctx.params['code'] ?? '';
    const page = pages.get(name) ?? kept(html(ctx), 'text/html; charset=utf-8');
    pages.set(name, page);
    denyOthers(ctx, policy);
    answerRepresentation(ctx, page);
    return Promise.resolve();
  };
}

function errorPageOf({ params }: AppContext): string {
  const code = params['code'] ?? '';
  if (!isErrorCode(code)) throw new GatewayError('not_found', { message: `There is no error code ${quoted(code)}.` });
  return errorPage(code);
}

const showAsset: AppMiddleware = async (ctx) => {
  const name = ctx.params['name'] ?? '';
  const asset = docAssets.get(name);
  if (!asset) throw new GatewayError('not_found', { message: `There is no file ${quoted(name)} here.` });
  await asset(ctx);
};
