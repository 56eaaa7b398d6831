import type { IncomingMessage } from 'node:http';

/** The vendors whose SDKs share addresses under `/v1`. */
export const vendors = ['openai', 'anthropic', 'gemini'] as const;
export type Vendor = (typeof vendors)[number];

/** Whose SDK sends a request, by the headers that only that SDK must send. OpenAI's has none, so every other client is taken for it. */
export function vendorOf({ headers }: Pick<IncomingMessage, 'headers'>): Vendor {
  if (headers['anthropic-version'] !== undefined) return 'anthropic';
  if (headers['x-goog-api-key'] !== undefined || headers['x-goog-api-client'] !== undefined) return 'gemini';
  return 'openai';
}
