import { ensureChannel } from '../packages/dev-stack/src/ensure-channel.ts';
import { testConfig } from '../test/support/test-config.ts';
import { createSealer } from '../src/platform/crypto/seal.ts';
import type { Gateway } from '../test/support/gateway.ts';
import type { Part } from './start-part.ts';

/** The model and the messages that every benchmark sends. */
export const chatMessages = {
  model: 'gpt-5-mini',
  messages: [
    { role: 'system', content: 'You are a poet who works at a toll gate.' },
    { role: 'user', content: 'Write a haiku about a toll gate. Do not explain it.' },
  ],
};

/** The chat of the benchmarks that do not stream. */
export const chatBody = JSON.stringify({ ...chatMessages, max_tokens: 256, temperature: 0.7 });

/** The headers of the n-th chat. The keys take turns. */
export const chatHeaders = (keys: readonly string[], n: number): Record<string, string> => ({
  'content-type': 'application/json',
  authorization: `Bearer ${keys[n % keys.length]}`,
});

/** Adds a channel to the mock upstream, which all chats take first. */
export async function addChatChannel(gateway: Gateway, upstream: Part): Promise<void> {
  await ensureChannel(
    { db: gateway.database, sealer: createSealer(testConfig(gateway.env).secrets.masterKeys) },
    {
      name: 'mock',
      adapter: 'openai',
      baseUrl: `${upstream.url}/v1`,
      credential: 'bench',
      groups: ['chat'],
      priority: 0,
      weight: 1,
      actor: 'bench',
    },
  );
}

/** Keys with every feature that costs time: a rate limit, a budget and an account of their own. No limit is ever reached. */
export async function makeKeys(gateway: Gateway, count: number): Promise<string[]> {
  const keys: string[] = [];
  for (let n = 0; n < count; n++)
    keys.push((await gateway.project({ credits: 1_000_000_000, budget: 500_000_000, rpm: 1_000_000 })).apiKey);
  return keys;
}
