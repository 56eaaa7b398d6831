import { randomBytes } from 'node:crypto';

/** A new callback secret: 32 random bytes in the form of Standard Webhooks. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/** Binds a sealed callback secret to its project's row, so that it cannot be decrypted from another row. */
export const callbackSecretContext = (projectId: string) => `project|callback_secret|${projectId}` as const;
