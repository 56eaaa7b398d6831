import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider, type Adapter, type AdapterPayload } from 'oidc-provider';
import { oidcClient } from '../../support/oidc-issuer.ts';

/** A complete identity provider on loopback, whose one person signs in without a form. */
export async function startRealProvider(options: { subject: string; redirectUri: string }) {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const provider: Provider = new Provider(issuer, {
    clients: [{ client_id: oidcClient.id, client_secret: oidcClient.secret, redirect_uris: [options.redirectUri] }],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'k1', alg: 'RS256', use: 'sig' }] },
    adapter: inMemory(),
    cookies: { keys: ['a key for the cookies of a test'] },
    features: { devInteractions: { enabled: false } },
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    pkce: { required: () => true },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    async loadExistingGrant({ oidc }) {
      const grant = new provider.Grant({ clientId: oidcClient.id, accountId: oidc.account?.accountId ?? '' });
      grant.addOIDCScope('openid');
      await grant.save();
      return grant;
    },
  });
  const answer = provider.callback();
  server.on('request', (request, response) => {
    if (request.url?.startsWith('/interaction/'))
      void provider.interactionFinished(request, response, { login: { accountId: options.subject } });
    else void answer(request, response);
  });
  return {
    issuer,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** What the provider remembers of one person for the time of a test, by kind and id. */
function inMemory(): (kind: string) => Adapter {
  const rows = new Map<string, AdapterPayload>();
  return (kind) => {
    const find = (id: string) => Promise.resolve(rows.get(`${kind} ${id}`));
    const findBy = (name: 'uid' | 'userCode', value: string) =>
      Promise.resolve([...rows].find(([key, row]) => key.startsWith(kind) && row[name] === value)?.[1]);
    return {
      find,
      findByUid: (uid) => findBy('uid', uid),
      findByUserCode: (code) => findBy('userCode', code),
      upsert: (id, row) => Promise.resolve(void rows.set(`${kind} ${id}`, row)),
      consume: async (id) => void Object.assign((await find(id)) ?? {}, { consumed: Math.floor(Date.now() / 1_000) }),
      destroy: (id) => Promise.resolve(void rows.delete(`${kind} ${id}`)),
      revokeByGrantId: (grantId) => {
        for (const [key, row] of rows) if (row.grantId === grantId) rows.delete(key);
        return Promise.resolve();
      },
    };
  };
}
