export * from './browser.ts';
export { verifyWebhook, verifyWebhookByPublicKey, WebhookVerificationError } from './verify-webhook.ts';
export type { WebhookEvent, WebhookKey } from './verify-webhook.ts';
