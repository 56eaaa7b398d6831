import {
  beginOidcSignIn,
  completeOidcSignIn,
  oidcSignInSeconds,
  type OidcDeps,
} from '../../services/admin/oidc-sign-in.ts';
import type { AppContext, AppMiddleware } from '../context.ts';
import type { Route } from '../route.ts';
import { adminPrefix, oidcCallbackPath } from './admin-prefix.ts';
import { showRefusalAsPage } from './refusal-page.ts';
import { demandSameOrigin } from './same-origin.ts';
import { secretOf, setSecret, setSessionCookie } from './session-cookie.ts';

const path = `${adminPrefix}/session/oidc`;

/**
 * Sign-in to the console by OIDC: to the identity provider and back with a session. What is checked of the answer is in a sealed cookie of
 * this browser meanwhile, so no server remembers who has only begun.
 */
export function oidcRoutes(deps: OidcDeps): Route[] {
  const shared = { method: 'GET', dialect: 'openai', body: 'none' } as const;
  const beforeAuth = [showRefusalAsPage(deps)];
  return [
    { ...shared, auth: 'none', path: `${adminPrefix}/session/options`, handler: showOptions(deps) },
    { ...shared, auth: 'none', path, beforeAuth, handler: begin(deps) },
    // Identity providers add parameters of their own.
    { ...shared, auth: 'sign_in', path: oidcCallbackPath, anyQuery: true, beforeAuth, handler: complete(deps) },
  ];
}

/** `GET /session/options`: the ways to sign in beside a token, for the sign-in page. */
const showOptions =
  ({ oidc }: OidcDeps): AppMiddleware =>
  (ctx) => {
    ctx.body = { oidc: oidc && { issuer: oidc.issuer, url: path } };
    return Promise.resolve();
  };

/** `GET /session/oidc` */
const begin =
  (deps: OidcDeps): AppMiddleware =>
  async (ctx) => {
    demandSameOrigin(ctx);
    const { url, kept } = await beginOidcSignIn(deps);
    keep(ctx, deps, { value: kept, seconds: oidcSignInSeconds });
    redirect(ctx, url);
  };

/** `GET /session/oidc/callback`: the identity provider's page leads here, so this is the one request of the console from another site. */
const complete =
  (deps: OidcDeps): AppMiddleware =>
  async (ctx) => {
    const kept = secretOf(ctx, signInCookie);
    keep(ctx, deps, { value: '', seconds: 0 });
    const begun = await completeOidcSignIn(deps, { query: ctx.querystring, kept });
    setSessionCookie(ctx, begun, isHttps(deps));
    redirect(ctx, '/console');
  };

const signInCookie = { name: 'tollgate_sign_in', path };

const keep = (ctx: AppContext, deps: OidcDeps, cookie: { value: string; seconds: number }): void =>
  setSecret(ctx, signInCookie, { ...cookie, secure: isHttps(deps) });

/** A request for a page has no Origin, and the redirect URI is where the browser comes from and returns to. */
const isHttps = ({ oidc }: OidcDeps): boolean => oidc?.redirectUri.startsWith('https://') ?? false;

function redirect(ctx: AppContext, url: string): void {
  ctx.set('Referrer-Policy', 'no-referrer');
  ctx.status = 303;
  ctx.redirect(url);
}
