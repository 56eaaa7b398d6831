import { z } from 'zod';
import {
  beginOidcSignIn,
  completeOidcSignIn,
  oidcSignInSeconds,
  type OidcDeps,
} from '../../services/operators/oidc-sign-in.ts';
import type { AppContext } from '../context.ts';
import { json, type Description } from '../description.ts';
import { endpoint, type Route } from '../route.ts';
import { adminPrefix, oidcCallbackPath } from './admin-prefix.ts';
import { showRefusalAsPage } from './refusal-page.ts';
import { demandSameOrigin } from './same-origin.ts';
import { cookieSecretOf, setSecret, setSessionCookie } from './session-cookie.ts';
import { setsCookie } from './session-routes.ts';

const path = `${adminPrefix}/session/oidc`;

/**
 * Sign-in to the console by OIDC: to the identity provider and back with a session. What is checked of the answer is in a sealed cookie of
 * this browser meanwhile, so no server remembers who has only begun.
 */
export function oidcRoutes(deps: OidcDeps): Route[] {
  const shared = { method: 'GET', dialect: 'openai', body: 'none', tag: 'console' } as const;
  const forBrowser = { ...shared, beforeAuth: [showRefusalAsPage(deps)], refusesWithPages: true } as const;
  return [
    endpoint({
      ...shared,
      auth: 'none',
      path: `${adminPrefix}/session/options`,
      summary: 'show the ways to sign in beside a token',
      answers: { 200: { description: 'The ways to sign in.', content: json(SignInOptions) } },
      handler: () => ({ oidc: deps.oidc && { issuer: deps.oidc.issuer, url: path } }),
    }),
    endpoint({
      ...forBrowser,
      auth: 'none',
      path,
      summary: 'sign in to the console by OIDC',
      description: 'For a browser. What is checked when it comes back is in a cookie for ten minutes.',
      answers: redirection('To the identity provider.', {
        Location: 'The page of the identity provider.',
        'Set-Cookie': 'The cookie of the sign-in.',
      }),
      errors: ['cross_site_request', 'not_found'],
      handler: (ctx) => begin(deps, ctx),
    }),
    endpoint({
      // Identity providers add parameters of their own.
      ...forBrowser,
      auth: 'sign_in',
      path: oidcCallbackPath,
      anyQuery: true,
      summary: 'come back from the identity provider',
      description: 'For a browser, with the parameters that the identity provider adds.',
      answers: redirection('To the console, with a session.', { Location: 'The console.', ...setsCookie }),
      errors: ['sign_in_failed', 'unknown_operator', 'not_found'],
      handler: (ctx) => complete(deps, ctx),
    }),
  ];
}

const SignInOptions = z
  .object({
    oidc: z
      .object({ issuer: z.string(), url: z.string().describe('Where a sign-in begins.') })
      .nullable()
      .describe('Null where no identity provider is configured.'),
  })
  .meta({ id: 'SignInOptions' });

/** With what a browser shows that does not follow it. */
const redirection = (description: string, headers: Record<string, string>): Description['answers'] => ({
  303: { description, content: { '*/*': z.string() }, headers },
});

async function begin(deps: OidcDeps, ctx: AppContext): Promise<void> {
  demandSameOrigin(ctx);
  const { url, kept } = await beginOidcSignIn(deps);
  keep(ctx, deps, { value: kept, seconds: oidcSignInSeconds });
  redirect(ctx, url);
}

/** The identity provider's page leads here, so this is the one request of the console from another site. */
async function complete(deps: OidcDeps, ctx: AppContext): Promise<void> {
  const kept = cookieSecretOf(ctx, signInCookie);
  keep(ctx, deps, { value: '', seconds: 0 });
  const begun = await completeOidcSignIn(deps, { query: ctx.querystring, kept });
  setSessionCookie(ctx, begun, isHttps(deps));
  redirect(ctx, '/console');
}

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
