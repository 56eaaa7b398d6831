import { createPublicKey, randomBytes, verify } from 'node:crypto';
import { describe, expect, it, jest } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { verifyWebhookByPublicKey, WebhookVerificationError } from '../../../packages/tollgate-js/src/index.ts';
import { webhookKeys } from '../../../src/platform/crypto/webhook-keys.ts';
import { webhookHeaders } from '../../../src/platform/crypto/webhook-signature.ts';

const newest = { id: 'k2', secret: randomBytes(32) };
const oldest = { id: 'k1', secret: randomBytes(32) };
const body = '{"type":"task.succeeded"}';
const secret = `whsec_${randomBytes(32).toString('base64')}`;

/** Verifies as a receiver does that knows only the published key. */
function verifies(headers: Record<string, string>, publicKey: string): boolean {
  const x = Buffer.from(publicKey.replace(/^whpk_/, ''), 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const signed = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`);
  const signatures = (headers['webhook-signature'] ?? '').split(' ').filter((one) => one.startsWith('v1a,'));
  return signatures.some((one) => verify(null, signed, key, Buffer.from(one.slice(4), 'base64')));
}

describe('the signatures of a callback', () => {
  const [current, former] = webhookKeys([newest, oldest]);
  const input = { id: 'evt_1', timestamp: Math.floor(Date.now() / 1_000), body, secrets: [secret] };
  const headers = webhookHeaders({ ...input, signingKey: current!.privateKey });

  it('verify with the secret in the standardwebhooks package and with the published Ed25519 key of the newest master key', () => {
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
    expect(verifies(headers, current!.publicKey)).toBe(true);
    expect(verifies(headers, former!.publicKey)).toBe(false);
    expect(verifies({ ...headers, 'webhook-id': 'evt_2' }, current!.publicKey)).toBe(false);
  });

  it.each([-301, -299, 299, 301])(
    'verify in tollgate-js by the published keys %i seconds from now, if at most 300',
    async (seconds) => {
      const now = Math.floor(Date.now() / 1_000);
      const timestamp = now + seconds;
      const signed = webhookHeaders({ ...input, timestamp, signingKey: former!.privateKey });
      const keys = [current!, former!].map(({ publicKey }) => ({ algorithm: 'ed25519', public_key: publicKey }));
      // The tolerance is read before the first wait.
      const clock = jest.spyOn(Date, 'now').mockReturnValue(now * 1_000);
      const verified = verifyWebhookByPublicKey(body, signed, keys);
      clock.mockRestore();
      if (Math.abs(seconds) < 300) expect(await verified).toEqual(JSON.parse(body));
      else await expect(verified).rejects.toThrow(WebhookVerificationError);
    },
  );

  it('use keys that depend on the master key alone', () => {
    expect(webhookKeys([oldest])[0]).toMatchObject({ id: former!.id, publicKey: former!.publicKey });
    expect(current!.publicKey).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/);
    expect(current!.id).not.toBe(former!.id);
  });
});
