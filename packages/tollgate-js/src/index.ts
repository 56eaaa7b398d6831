export { Tollgate } from './client.ts';
export type { CreateOptions, ReadOptions, TollgateOptions, WaitOptions } from './client.ts';
export { TollgateConnectionError, TollgateError } from './errors.ts';
export type { EventOptions, TaskEvent } from './task-events.ts';
export { isEnded } from './types.ts';
export type { CreateRequest, Quote, Task, TaskType } from './types.ts';
export { verifyWebhook, WebhookVerificationError } from './verify-webhook.ts';
export type { WebhookEvent } from './verify-webhook.ts';
