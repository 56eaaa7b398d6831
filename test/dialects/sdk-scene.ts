import { createParser } from 'eventsource-parser';
import type { JsonObject } from '../../src/domain/json.ts';
import type { Hit } from '../../packages/sandbox/src/hits.ts';
import type { Gateway } from '../support/gateway.ts';
import { objectAt, parsed } from './json-at.ts';

/** What the tests of the client libraries share with the suite. */
export interface SdkScene {
  gateway: Gateway;
  apiKey: string;
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
