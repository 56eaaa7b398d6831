import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GatewayError, quoted } from '../../domain/errors.ts';
import type { AppMiddleware } from '../context.ts';
import type { Route } from '../route.ts';
import { createAssets } from './console-assets.ts';

/** Where `scripts/build-console.mjs` puts the built console. */
const builtFolder = fileURLToPath(new URL('../../../console/dist/', import.meta.url));

/** The console of operators: one page for every address below `/console`, and the files that it loads. It needs no credential to load. */
export function consoleRoutes(folder = builtFolder): Route[] {
  const open = { method: 'GET', auth: 'none', dialect: 'openai', body: 'none' } as const;
  const page = showPage(folder);
  return [
    { ...open, path: '/console/assets/:name', handler: showAsset(folder) },
    { ...open, path: '/console', anyQuery: true, handler: page },
    { ...open, path: '/console/*page', anyQuery: true, handler: page },
  ];
}

/** Its scripts and requests stay on this origin. Style elements need the nonce of the page, and no other page may show it in a frame. */
const policyOf = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

const noncePlaceholder = '__CSP_NONCE__';

function showPage(folder: string): AppMiddleware {
  let read: Promise<string> | undefined;
  return async (ctx) => {
    read ??= readFile(join(folder, 'index.html'), 'utf8');
    const html = await read.catch((cause: unknown) => {
      read = undefined;
      const message =
        'The console is not built. Run `npm run console:build` in the folder of the gateway, and load the page again.';
      throw new GatewayError('not_found', { message, cause });
    });
    const nonce = randomBytes(16).toString('base64');
    ctx.set('Content-Security-Policy', policyOf(nonce));
    ctx.set('Referrer-Policy', 'no-referrer');
    ctx.set('Cache-Control', 'no-store');
    ctx.set('Content-Type', 'text/html; charset=utf-8');
    ctx.body = html.replaceAll(noncePlaceholder, nonce);
  };
}

function showAsset(folder: string): AppMiddleware {
  const answerAsset = createAssets(join(folder, 'assets'));
  return async (ctx) => {
    const name = ctx.params['name'] ?? '';
    if (!(await answerAsset(ctx, name)))
      throw new GatewayError('not_found', { message: `The console has no file ${quoted(name)}. Load the page again.` });
  };
}
