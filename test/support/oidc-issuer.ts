import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose';

export const oidcClient = { id: 'tollgate-console', secret: 'oidc-secret-0123456789' };

/** What the issuer does wrong. */
export interface IssuerFaults {
  /** Replace claims of the ID token; undefined leaves one out. */
  claims?: JWTPayload;
  /** Signs with a key that the issuer does not publish. */
  foreignKey?: boolean;
  /** The token endpoint closes the connection. */
  away?: boolean;
  /** The token endpoint accepts a code again. */
  repeats?: boolean;
}

export interface OidcIssuer {
  url: string;
  /** The person who is signed in at the issuer. */
  subject: string;
  faults: IssuerFaults;
  /** Every code and every ID token that it has given away. */
  issued: string[];
  close(): Promise<void>;
}

interface Grant {
  subject: string;
  nonce: string;
  challenge: string;
  redirectUri: string;
}

/**
 * An identity provider on loopback that signs its one person in without asking, and that can break each rule of the answer. Its token endpoint
 * demands the secret of the client and PKCE.
 */
export async function startOidcIssuer(): Promise<OidcIssuer> {
  const [own, foreign] = await Promise.all([generateKeyPair('RS256'), generateKeyPair('RS256')]);
  const published = { keys: [{ ...(await exportJWK(own.publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' }] };
  const grants = new Map<string, Grant>();
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer: OidcIssuer = {
    url,
    subject: 'ada-1',
    faults: {},
    issued: [],
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', url);
    if (pathname === '/.well-known/openid-configuration') return json(response, metadataOf(url));
    if (pathname === '/jwks') return json(response, published);
    if (pathname === '/authorize') return void response.writeHead(302, { location: authorize(searchParams) }).end();
    if (issuer.faults.away) return void response.destroy();
    return redeem(request, response);
  }

  function authorize(query: URLSearchParams): string {
    const code = `code-${randomUUID()}`;
    issuer.issued.push(code);
    grants.set(code, {
      subject: issuer.subject,
      nonce: query.get('nonce') ?? '',
      challenge: query.get('code_challenge') ?? '',
      redirectUri: query.get('redirect_uri') ?? '',
    });
    const back = new URL(query.get('redirect_uri') ?? '');
    back.searchParams.set('code', code);
    back.searchParams.set('state', query.get('state') ?? '');
    return back.href;
  }

  async function redeem(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sent = new URLSearchParams(await textOf(request));
    if (credentialsOf(request) !== `${oidcClient.id}:${oidcClient.secret}`)
      return json(response, { error: 'invalid_client' }, 401);
    const code = sent.get('code') ?? '';
    const grant = grants.get(code);
    const challenge = createHash('sha256')
      .update(sent.get('code_verifier') ?? '')
      .digest('base64url');
    if (grant?.challenge !== challenge || grant.redirectUri !== sent.get('redirect_uri'))
      return json(response, { error: 'invalid_grant' }, 400);
    if (!issuer.faults.repeats) grants.delete(code);
    const token = await idToken(grant);
    issuer.issued.push(token);
    json(response, { access_token: randomUUID(), token_type: 'Bearer', id_token: token });
  }

  function idToken({ subject, nonce }: Grant): Promise<string> {
    const now = Math.floor(Date.now() / 1_000);
    const usual = { iss: url, aud: oidcClient.id, sub: subject, nonce, iat: now, exp: now + 300 };
    return new SignJWT({ ...usual, ...issuer.faults.claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
      .sign((issuer.faults.foreignKey ? foreign : own).privateKey);
  }
  return issuer;
}

const metadataOf = (url: string) => ({
  issuer: url,
  authorization_endpoint: `${url}/authorize`,
  token_endpoint: `${url}/token`,
  jwks_uri: `${url}/jwks`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256'],
});

/** Both parts are encoded as in a form (RFC 6749 §2.3.1). */
const credentialsOf = ({ headers }: IncomingMessage): string =>
  decodeURIComponent(Buffer.from((headers.authorization ?? '').replace('Basic ', ''), 'base64').toString());

const json = (response: ServerResponse, body: object, status = 200): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}
