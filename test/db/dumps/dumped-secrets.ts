import type { JsonObject } from '../../../src/domain/json.ts';

/** What clients and operators know of the database in a dump, and what a test needs to find in it. Written beside the dump as JSON. */
export interface DumpedSecrets {
  projectId: string;
  webhookSecret: string;
  previousWebhookSecret: string;
  channelCredential: string;
  /** Keys of the project, under the pepper of `quickSettings`, as everything sealed is under its master key. */
  apiKey: string;
  rotatedApiKey: string;
  revokedApiKey: string;
  adminToken: string;
  /** A create that is answered again with the same task, and a chat that is answered again with the same text. */
  replays: { task: DumpedReplay & { taskId: string }; chat: DumpedReplay & { answer: unknown } };
  /** Tasks that had not ended. */
  runningTasks: Record<'open' | 'queued' | 'submitting' | 'submitted' | 'parked' | 'cancelRefused', string>;
}

/** A request with an Idempotency-Key that was answered before the dump. */
export interface DumpedReplay {
  path: string;
  idempotencyKey: string;
  body: JsonObject;
}
