import { createHmac, sign, type KeyObject } from 'node:crypto';

/**
 * The three headers of Standard Webhooks (spec/standard-webhooks.md, "Signature scheme"): HMAC-SHA256 over
 * `id.timestamp.body` with each secret (`v1`), so that the old and the new secret both verify during a rotation, and Ed25519 (`v1a`), which a
 * receiver verifies with the published key.
 */
export function webhookHeaders(input: {
  id: string;
  /** Unix seconds. */
  timestamp: number;
  body: string;
  /** `whsec_` and base64. */
  secrets: readonly string[];
  /** An Ed25519 key. */
  signingKey: KeyObject;
}): Record<string, string> {
  const signed = `${input.id}.${input.timestamp}.${input.body}`;
  const signatures = input.secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  });
  return {
    'webhook-id': input.id,
    'webhook-timestamp': String(input.timestamp),
    'webhook-signature': [
      ...signatures,
      `v1a,${sign(null, Buffer.from(signed), input.signingKey).toString('base64')}`,
    ].join(' '),
  };
}
