import { LRUCache } from 'lru-cache';
import { getOrMake } from '../../platform/get-or-make.ts';
import { z } from 'zod';
import type { CatalogCache } from '../../caches/catalog-cache.ts';
import type { Config } from '../../config/load-config.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { isOffered } from '../../domain/catalog/model-list.ts';
import { etagOf } from '../../platform/crypto/hash.ts';
import type { AppContext } from '../context.ts';
import { json, type TaskDeadlines } from '../description.ts';
import { docAssets } from '../docs/assets.ts';
import { errorPage, errorsPage, isErrorCode } from '../docs/error-pages.ts';
import { homeFacts, homePage } from '../docs/home-page.ts';
import { llmsText } from '../docs/llms-text.ts';
import { pagePolicy } from '../docs/page.ts';
import { referencePage } from '../docs/reference-page.ts';
import { answerRepresentation, type Representation } from '../response/etag.ts';
import { openapiDocument } from '../openapi/openapi-document.ts';
import { preferredType } from '../request/preferred-type.ts';
import { answerCoded, perCatalog, renderCoded, renderJson } from '../response/representations.ts';
import { endpoint, type Route } from '../route.ts';
import { versioned } from './common-descriptions.ts';
import { webhookKeysRoute } from './webhook-keys.ts';

interface DocumentationDeps {
  catalog: Pick<CatalogCache, 'entries'>;
  config: { http: Pick<Config['http'], 'publicBaseUrl'>; tasks: TaskDeadlines } & Pick<Config, 'secrets'>;
}

const open = { method: 'GET', auth: 'none', dialect: 'openai', body: 'none', tag: 'Documentation' } as const;

/**
 * The document, the pages about it and `llms.txt`, all without a key. `described` are the other routes, which the document is about
 * together with these.
 */
export function documentationRoutes(deps: DocumentationDeps, described: readonly Route[]): Route[] {
  const all = () => [...described, ...routes];
  const routes: Route[] = [
    homeRoute(deps),
    endpoint({
      ...open,
      path: '/api/v1/openapi.json',
      summary: 'This document',
      description: 'OpenAPI 3.1. It names the models of the catalog, whatever a key may use.',
      answers: versioned(
        'The document.',
        json(z.looseObject({ openapi: z.string(), paths: z.record(z.string(), z.unknown()) })),
      ),
      handler: showDocument(deps, all),
    }),
    webhookKeysRoute(deps),
    endpoint({
      ...open,
      path: '/llms.txt',
      summary: 'A guide for language models',
      answers: page('text/plain', 'Markdown.'),
      handler: showGuide(deps, all),
    }),
    ...pageRoutes(),
  ];
  return routes;
}

const homeRoute = (deps: DocumentationDeps): Route =>
  endpoint({
    ...open,
    path: '/',
    // Clients may add parameters to it.
    anyQuery: true,
    summary: 'What this is and where clients go on',
    description: 'A page for a browser (`Accept: text/html`), one line of JSON for a program.',
    answers: versioned('The addresses of the gateway.', {
      ...json(z.looseObject({ name: z.literal('tollgate'), version: z.string(), openai_base_url: z.string() })),
      'text/html': z.string(),
    }),
    handler: showHome(deps),
  });

const pageRoutes = (): Route[] => [
  endpoint({
    ...open,
    path: '/docs',
    summary: 'The reference as a page',
    answers: page('text/html'),
    handler: showPage(() => referencePage, referencePolicy),
  }),
  endpoint({
    ...open,
    path: '/docs/assets/:name',
    summary: 'A part of the pages',
    params: { name: z.string().describe('The name of the file.') },
    answers: versioned('The file.', { 'text/css': z.string(), 'text/javascript': z.string() }),
    errors: ['not_found'],
    handler: showAsset,
  }),
  endpoint({
    ...open,
    path: '/docs/errors',
    summary: 'The error codes as a page',
    answers: page('text/html'),
    handler: showPage(errorsPage, pagePolicy),
  }),
  endpoint({
    ...open,
    path: '/docs/errors/:code',
    summary: 'One error code as a page',
    params: { code: z.string().describe('The `code` of an error.') },
    answers: page('text/html'),
    errors: ['not_found'],
    handler: showPage(errorPageOf, pagePolicy),
  }),
];

const page = (type: string, description = 'The page.') => versioned(description, { [type]: z.string() });

type Handler = (ctx: AppContext) => Promise<void> | void;

/** The document is made and compressed once per catalog. It names offered models only, as a key without an allowlist sees them. */
function showDocument({ catalog, config }: DocumentationDeps, routes: () => readonly Route[]): Handler {
  const document = perCatalog((entries) =>
    renderCoded(renderJson(openapiDocument(routes(), entries.filter(isOffered), config.tasks))),
  );
  return async (ctx) => answerCoded(ctx, document(await catalog.entries()));
}

/** `PUBLIC_BASE_URL`, or what clients name in their Host header. */
const guidesMax = 10;

function showGuide({ catalog, config }: DocumentationDeps, routes: () => readonly Route[]): Handler {
  const guides = perCatalog((entries) => {
    const byBaseUrl = new LRUCache<string, Representation>({ max: guidesMax });
    return (baseUrl: string) =>
      getOrMake(byBaseUrl, baseUrl, () =>
        kept(llmsText(baseUrl, routes(), entries.filter(isOffered)), 'text/plain; charset=utf-8'),
      );
  });
  return async (ctx) => {
    answerRepresentation(ctx, guides(await catalog.entries())(baseUrlOf(config, ctx)));
  };
}

const baseUrlOf = ({ http }: DocumentationDeps['config'], ctx: AppContext): string =>
  http.publicBaseUrl.replace(/\/+$/, '') || ctx.origin;

/** A page for a browser, and one line of JSON for a program. */
function showHome({ config }: DocumentationDeps): Handler {
  return (ctx) => {
    const baseUrl = baseUrlOf(config, ctx);
    const type = preferredType(ctx, ['application/json', 'text/html']);
    if (type === 'text/html') {
      denyOthers(ctx, pagePolicy);
      answerRepresentation(ctx, kept(homePage(baseUrl), 'text/html; charset=utf-8'));
    } else
      answerRepresentation(ctx, kept(`${JSON.stringify(homeFacts(baseUrl))}\n`, 'application/json; charset=utf-8'));
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
function showPage(html: (ctx: AppContext) => string, policy: string): Handler {
  const pages = new Map<string, Representation>();
  return (ctx) => {
    const name = ctx.params['code'] ?? '';
    const page = pages.get(name) ?? kept(html(ctx), 'text/html; charset=utf-8');
    pages.set(name, page);
    denyOthers(ctx, policy);
    answerRepresentation(ctx, page);
  };
}

function errorPageOf({ params }: AppContext): string {
  const code = params['code'] ?? '';
  if (!isErrorCode(code)) throw new GatewayError('not_found', { message: `There is no error code ${quoted(code)}.` });
  return errorPage(code);
}

async function showAsset(ctx: AppContext): Promise<void> {
  const name = ctx.params['name'] ?? '';
  const asset = docAssets.get(name);
  if (!asset) throw new GatewayError('not_found', { message: `There is no file ${quoted(name)} here.` });
  await asset(ctx);
}
