import { createParser } from 'eventsource-parser';
import type { JsonObject } from '../../src/domain/json.ts';
import type { Ask, DialectClient } from '../dialects/dialect-client.ts';
import { objectAt, parsed } from '../dialects/json-at.ts';
import type { Gateway } from '../support/gateway.ts';
import type { ScriptedProvider } from './scripted-provider.ts';

/** A gateway all of whose channels lead to one scripted provider. */
export interface ProviderScene {
  gateway: Gateway;
  apiKey: string;
  provider: ScriptedProvider;
}

export interface Answered {
  status: number;
  headers: Headers;
  /** The answer, or the error. Of a stream: what a client puts together from its events. */
  json: JsonObject;
  text: string;
}

/** Sends one chat in a dialect, whole or streamed. */
export async function send(
  { gateway, apiKey }: ProviderScene,
  client: DialectClient,
  ask: Ask,
  { more = {}, headers = {}, path }: { more?: object; headers?: Record<string, string>; path?: string } = {},
): Promise<Answered> {
  const response = await fetch(`${gateway.baseUrl}${path ?? client.path(ask)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...client.body(ask), ...more }),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await response.text();
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const json = isStream ? client.join(eventsIn(text)) : objectAt(parsed(text));
  return { status: response.status, headers: response.headers, json, text };
}

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
