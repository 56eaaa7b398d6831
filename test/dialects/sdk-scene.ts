import { createParser } from 'eventsource-parser';
import type { JsonObject } from '../../src/domain/json.ts';
import type { Hit } from '../../packages/sandbox/src/hits.ts';
import { letModelsStream } from '../services/chat/streams.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { objectAt, parsed } from './json-at.ts';
import { families } from './matrix.ts';

/** A gateway whose models of all families stream, and a key. */
export interface SdkScene {
  gateway: Gateway;
  apiKey: string;
}

/** Starts one without a worker. `stop` throws if the books do not add up. */
export async function startSdkScene(): Promise<SdkScene & { stop(): Promise<void> }> {
  const gateway = await startGateway({ workers: 0 });
  const { apiKey } = await gateway.project({ credits: 100_000 });
  await letModelsStream(gateway, apiKey, Object.values(families));
  return {
    gateway,
    apiKey,
    async stop() {
      const report = await gateway.verifyLedger();
      await gateway.stop();
      if (!report.ok) throw new Error(`The books do not add up: ${JSON.stringify(report)}`);
    },
  };
}

/** Two prompts of one conversation. The sandbox answers each with thoughts and a call, and its result with text. */
export const weatherPrompts = ['Oslo', 'Rome'].map(
  (city) => `weather in ${city}? [[thoughts=20 tool=weather args={"city":"${city}"}]]`,
);

/** The events of a stream, without the mark of its end that is no JSON. */
export function eventsIn(text: string): JsonObject[] {
  const events: JsonObject[] = [];
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data !== '[DONE]') events.push(objectAt(parsed(data)));
    },
  });
  parser.feed(text);
  return events;
}

/** What the sandbox noted of the chats whose prompt contains a text, oldest first. */
export async function hitsOf({ sandboxUrl }: Gateway, prompt: string): Promise<Partial<Hit>[]> {
  const response = await fetch(`${sandboxUrl}/_sandbox/hits?contains=${encodeURIComponent(prompt)}&kind=chat`);
  return (await response.json()) as Partial<Hit>[];
}
