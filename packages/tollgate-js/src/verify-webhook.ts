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

type CallbackHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * The event of a callback, once its `v1` signature is verified with the project's secret (`whsec_…`). `body` is the raw body: a parsed one has
 * other bytes. Throws `WebhookVerificationError` for a wrong signature and for a timestamp more than five minutes from now.
 */
export function verifyWebhook(body: string | Uint8Array, headers: CallbackHeaders, secret: string): WebhookEvent {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  return new Webhook(secret).verify(text, signatureHeaders(headers)) as WebhookEvent;
}

const signatureHeaders = (headers: CallbackHeaders): Record<string, string> =>
  Object.fromEntries(
    ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [name, valueOf(headers, name)]),
  );

const valueOf = (headers: CallbackHeaders, name: string): string =>
  headers instanceof Headers ? (headers.get(name) ?? '') : [headers[name] ?? ''].flat().join(',');
