import type { Config } from '../../config/load-config.ts';
import { webhookKeys } from '../../platform/crypto/webhook-keys.ts';
import type { Route } from '../route.ts';

/** `GET /.well-known/webhook-keys.json`: the public keys of callback signatures, the one that signs now first. */
export function webhookKeysRoute({ config }: { config: Pick<Config, 'secrets'> }): Route {
  const keys = webhookKeys(config.secrets.masterKeys).map(({ id, publicKey }) => ({
    id,
    algorithm: 'ed25519',
    public_key: publicKey,
  }));
  return {
    method: 'GET',
    path: '/.well-known/webhook-keys.json',
    auth: 'none',
    dialect: 'openai',
    body: 'none',
    handler: (ctx) => {
      ctx.set('cache-control', 'public, max-age=300');
      ctx.body = { keys };
      return Promise.resolve();
    },
  };
}
