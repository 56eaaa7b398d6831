import type { ClientAuth, Configuration } from 'openid-client';
import type { OidcIdentity } from '../../domain/operators/admin-access.ts';

export interface OidcSettings {
  /** As the ID tokens name it. */
  issuer: string;
  clientId: string;
  /** Empty for a public client. */
  clientSecret: string;
  redirectUri: string;
}

/** What a sign-in keeps until the identity provider sends the browser back. All of it is secret. */
export interface OidcChecks {
  state: string;
  nonce: string;
  codeVerifier: string;
}

/** The client of one identity provider: the authorization code flow with PKCE (OpenID Connect Core 1.0 §3.1, RFC 7636). */
export interface OidcClient extends Pick<OidcSettings, 'issuer' | 'redirectUri'> {
  /** The address at the identity provider to which the browser goes, and what `complete` checks. Throws `OidcUnavailable`. */
  begin(): Promise<{ url: string; checks: OidcChecks }>;
  /**
   * The person of an authorization response, given as the query of the redirect URI: redeems the code and checks state, issuer,
   * audience, expiry, nonce and signature of the ID token. Throws `OidcRefused` or `OidcUnavailable`.
   */
  complete(query: string, checks: OidcChecks): Promise<OidcIdentity>;
}

/** The identity provider does not answer as OpenID Connect asks. */
export class OidcUnavailable extends Error {
  override readonly name = 'OidcUnavailable';
}

/** The identity provider refused the sign-in, or its answer failed a check. The message has a code and no part of the answer. */
export class OidcRefused extends Error {
  override readonly name = 'OidcRefused';
}

const timeoutSeconds = 10;
/** Identity providers seldom change their addresses. Their keys are fetched again when an ID token names an unknown one. */
const metadataKeptMs = 3_600_000;

/** Neither loads its package nor connects before the first sign-in, so that a missing identity provider keeps no process from starting. */
export function createOidcClient(settings: OidcSettings): OidcClient {
  const { issuer, redirectUri } = settings;
  let cached: { at: number; configuration: Promise<Configuration> } | undefined;
  const configured = (): Promise<Configuration> => {
    if (cached !== undefined && performance.now() - cached.at < metadataKeptMs) return cached.configuration;
    const configuration = discover(settings);
    cached = { at: performance.now(), configuration };
    configuration.catch(() => (cached = undefined));
    return configuration;
  };
  return {
    issuer,
    redirectUri,
    async begin() {
      const openid = await import('openid-client');
      const configuration = await configured().catch(unavailable);
      const checks = {
        state: openid.randomState(),
        nonce: openid.randomNonce(),
        codeVerifier: openid.randomPKCECodeVerifier(),
      };
      const url = openid.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        // The pair of issuer and subject is all that counts.
        scope: 'openid',
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(checks.codeVerifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, checks };
    },
    async complete(query, { state, nonce, codeVerifier }) {
      const openid = await import('openid-client');
      const configuration = await configured().catch(unavailable);
      const answered = new URL(redirectUri);
      answered.search = query;
      const tokens = await openid
        .authorizationCodeGrant(configuration, answered, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
        })
        .catch(classified);
      const claims = tokens.claims();
      if (!claims) throw new OidcRefused('no_id_token');
      return { issuer: claims.iss, subject: claims.sub };
    },
  };
}

async function discover({ issuer, clientId, clientSecret }: OidcSettings): Promise<Configuration> {
  const openid = await import('openid-client');
  const { ClientSecretBasic, ClientSecretPost, None } = openid;
  // Of the two ways to send the secret, the one that the provider names first; one that names none takes client_secret_basic (OpenID
  // Connect Discovery 1.0 §3).
  const authenticate: ClientAuth = (server, ...request) => {
    const named = server.token_endpoint_auth_methods_supported ?? [];
    const [first] = named.filter((method) => ['client_secret_basic', 'client_secret_post'].includes(method));
    const withSecret = first === 'client_secret_post' ? ClientSecretPost : ClientSecretBasic;
    (clientSecret === '' ? None() : withSecret(clientSecret))(server, ...request);
  };
  return openid.discovery(new URL(issuer), clientId, undefined, authenticate, {
    timeout: timeoutSeconds,
    execute: [
      // Without it the signature is not checked, because TLS vouches for the token endpoint.
      openid.enableNonRepudiationChecks,
      // The configuration allows plain http on loopback only.
      ...(issuer.startsWith('http:') ? [openid.allowInsecureRequests] : []),
    ],
  });
}

function unavailable(cause: unknown): never {
  throw new OidcUnavailable('the identity provider was not discovered', { cause });
}

/** Errors of `fetch` are TypeErrors. The codes are those of openid-client. */
function classified(error: unknown): never {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  // The message of the parser quotes the answer, which may have a token.
  const cause = code === 'OAUTH_PARSE_ERROR' ? undefined : error;
  if (error instanceof TypeError || notAnswered.has(code))
    throw new OidcUnavailable('the identity provider did not answer', { cause });
  // The token endpoint challenges a client that it does not recognise (RFC 6749 §5.2).
  const own = code === 'OAUTH_WWW_AUTHENTICATE_CHALLENGE' ? 'invalid_client' : ownCodeOf(error);
  throw new OidcRefused(own ?? code, { cause });
}

const notAnswered = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_PARSE_ERROR',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
]);

/** The error code that the identity provider itself answered, such as `access_denied` (RFC 6749 §4.1.2.1 and §5.2). */
const ownCodeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'error' in error && typeof error.error === 'string' && /^[\w.-]{1,60}$/.test(error.error)
    ? error.error
    : undefined;
