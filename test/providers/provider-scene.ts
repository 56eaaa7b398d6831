import { createParser } from 'eventsource-parser';
import type { JsonObject } from '../../src/domain/json.ts';
import type { Ask, DialectClient } from '../dialects/dialect-client.ts';
import { objectAt, parsed } from '../dialects/json-at.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { startScriptedProvider, type ScriptedProvider } from './scripted-provider.ts';

/** A gateway all of whose channels lead to one scripted provider. */
export interface ProviderScene {
  gateway: Gateway;
  apiKey: string;
  provider: ScriptedProvider;
}

/** Starts one without a worker. A channel that fails in one test is available in the next. */
export async function startProviderScene(): Promise<ProviderScene & { stop(): Promise<void> }> {
  const provider = await startScriptedProvider();
  const gateway = await startGateway({
    workers: 0,
    sandbox: false,
    env: {
      RETRIES_PER_MINUTE_MIN: '1000',
      BREAKER_FAILURES_MAX: '1000',
      BREAKER_OPEN_SECONDS: '0',
      BREAKER_PROBE_SECONDS: '0',
    },
  });
  await gateway.database.query('test-lead', 'update channel set base_url = $1, enabled = (name like $2)', [
    provider.url,
    'sandbox-a%',
  ]);
  const { apiKey } = await gateway.project({ credits: 10_000_000 });
  // The API server may still have the channels of its start.
  await eventually(async () => {
    const body = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'ready' }] };
    return (await gateway.create(apiKey, '/v1/chat/completions', body)).status === 200;
  });
  return {
    gateway,
    apiKey,
    provider,
    async stop() {
      await gateway.stop();
      await provider.close();
    },
  };
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
