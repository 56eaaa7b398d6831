import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import type { Task } from './types.ts';

export { WebhookVerificationError };

/** The body of a callback. */
export interface WebhookEvent {
  /** The same for all tries of one callback: use it to ignore duplicates. */
  id: string;
  type: 'task.succeeded' | 'task.failed' | 'task.canceled';
  /** When the task ended, as ISO 8601. */
  timestamp: string;
  data: Task;
}

/** One of the keys that `{baseUrl}/.well-known/webhook-keys.json` lists. */
export interface WebhookKey {
  algorithm: string;
  /** `whpk_` and the 32 bytes of an Ed25519 key in base64. */
  public_key: string;
}

type CallbackHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * The event of a callback, once its `v1` signature is verified with the project's secret (`whsec_…`). `body` is the raw body: a parsed one has
 * other bytes. Throws `WebhookVerificationError` for a wrong signature and for a timestamp more than five minutes from now.
 */
export function verifyWebhook(body: string | Uint8Array, headers: CallbackHeaders, secret: string): WebhookEvent {
  return new Webhook(secret).verify(textOf(body), signatureHeaders(headers)) as WebhookEvent;
}

/**
 * The same by the `v1a` signature (Ed25519), for a receiver that does not hold the secret. One of `keys` must have made it. Keys change rarely: keep
 * the list, and read it again when no key fits. Needs Ed25519 in WebCrypto: Node 20, browsers of 2025.
 */
export async function verifyWebhookByPublicKey(
  body: string | Uint8Array,
  headers: CallbackHeaders,
  keys: readonly WebhookKey[],
): Promise<WebhookEvent> {
  const webhookHeaders = signatureHeaders(headers);
  const timestamp = webhookHeaders['webhook-timestamp'];
  demandRecent(timestamp);
  const text = textOf(body);
  const signed = new TextEncoder().encode(`${webhookHeaders['webhook-id']}.${timestamp}.${text}`);
  const signatures = webhookHeaders['webhook-signature'].split(' ').filter((one) => one.startsWith('v1a,'));
  for (const { public_key: publicKey } of keys.filter(({ algorithm }) => algorithm === 'ed25519')) {
    const bytes = bytesOf(publicKey.replace(/^whpk_/, ''));
    const key = await crypto.subtle.importKey('raw', bytes, 'Ed25519', false, ['verify']);
    for (const signature of signatures) {
      if (await crypto.subtle.verify('Ed25519', key, bytesOf(signature.slice('v1a,'.length)), signed))
        return JSON.parse(text) as WebhookEvent;
    }
  }
  throw new WebhookVerificationError('No signature matches one of the public keys.');
}

/** As `standardwebhooks` has it. */
const TOLERANCE_SECONDS = 5 * 60;

function demandRecent(timestamp: string): void {
  const seconds = /^\d+$/.test(timestamp) ? Number(timestamp) : NaN;
  if (Math.abs(Date.now() / 1_000 - seconds) <= TOLERANCE_SECONDS) return;
  throw new WebhookVerificationError('The timestamp is missing, or more than five minutes from now.');
}

const textOf = (body: string | Uint8Array): string =>
  typeof body === 'string' ? body : new TextDecoder().decode(body);

/** The bytes of base64; none if it is malformed, which no signature matches. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

const signatureHeaders = (headers: CallbackHeaders) => ({
  'webhook-id': valueOf(headers, 'webhook-id'),
  'webhook-timestamp': valueOf(headers, 'webhook-timestamp'),
  'webhook-signature': valueOf(headers, 'webhook-signature'),
});

const valueOf = (headers: CallbackHeaders, name: string): string =>
  headers instanceof Headers ? (headers.get(name) ?? '') : [headers[name] ?? ''].flat().join(',');
