import { z } from 'zod';
import type { Config } from '../../config/load-config.ts';
import { webhookKeys } from '../../platform/crypto/webhook-keys.ts';
import { json } from '../description.ts';
import { endpoint, type Route } from '../route.ts';

/** `GET /.well-known/webhook-keys.json`: the public keys of callback signatures, the one that signs now first. */
export function webhookKeysRoute({ config }: { config: Pick<Config, 'secrets'> }): Route {
  const keys = webhookKeys(config.secrets.masterKeys).map(({ id, publicKey }) => ({
    id,
    algorithm: 'ed25519' as const,
    public_key: publicKey,
  }));
  return endpoint({
    method: 'GET',
    path: '/.well-known/webhook-keys.json',
    auth: 'none',
    dialect: 'openai',
    body: 'none',
    summary: 'The public keys of callback signatures',
    description:
      'For `v1a` in `webhook-signature`. The first one signs now; callbacks that were signed before may need the others.',
    tag: 'Documentation',
    answers: { 200: { description: 'The keys.', content: json(WebhookKeys) } },
    handler(ctx) {
      ctx.set('cache-control', 'public, max-age=300');
      return { keys };
    },
  });
}

const WebhookKeys = z.object({
  keys: z.array(z.object({ id: z.string(), algorithm: z.literal('ed25519'), public_key: z.string() })),
});
