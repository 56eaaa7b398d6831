import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { request } from 'undici';
import { z } from 'zod';
import { OperatorError } from '../../services/operator-error.ts';
import { plainMessage } from '../../domain/plain-message.ts';
import { pause } from '../../platform/pause.ts';
import { readRetryAfter } from '../../platform/retry-after.ts';

interface EventSource {
  url: string;
  apiKey: string;
  signal: AbortSignal;
  /** Told why a connection failed, before the next one is tried. */
  onTrouble: (reason: string) => void;
}

/** The gateway writes at least a comment every 15 s. */
const SILENCE_MS = 45_000;
const RECONNECT_MS = 1_000;
const TROUBLE_MS = 3_000;

/** A refusal that would come again. */
class Refused extends OperatorError {}

/**
 * The events of a stream, over as many connections as it takes, until `signal` fires. Each connection begins after the last event that the caller
 * has finished. Throws `OperatorError` if the server refuses the request.
 */
export async function* followEvents(source: EventSource): AsyncGenerator<EventSourceMessage, void, undefined> {
  const { signal, onTrouble } = source;
  let lastId = '';
  while (!signal.aborted) {
    let waitMs = RECONNECT_MS;
    try {
      for await (const event of eventsOf(source, lastId)) {
        yield event;
        lastId = event.id ?? lastId;
      }
    } catch (error) {
      if (error instanceof Refused) throw error;
      if (signal.aborted) return;
      onTrouble(plainMessage(error));
      waitMs = error instanceof Unavailable ? error.waitMs : TROUBLE_MS;
    }
    await pause(waitMs, signal);
  }
}

/** An answer after which the same request may succeed. */
class Unavailable extends Error {
  readonly waitMs: number;

  constructor(message: string, waitMs: number) {
    super(message);
    this.waitMs = waitMs;
  }
}

/** The events of one connection. */
async function* eventsOf({ url, apiKey, signal }: EventSource, lastId: string): AsyncGenerator<EventSourceMessage> {
  const { statusCode, headers, body } = await request(url, {
    headers: { authorization: `Bearer ${apiKey}`, ...(lastId !== '' && { 'last-event-id': lastId }) },
    signal,
    headersTimeout: SILENCE_MS,
    bodyTimeout: SILENCE_MS,
  });
  if (statusCode !== 200) {
    const message = `${url} answered ${statusCode}: ${messageOf(await body.text())}`;
    if (statusCode !== 429 && statusCode < 500) throw new Refused(message);
    const seconds = readRetryAfter(String(headers['retry-after'] ?? ''), Date.now());
    throw new Unavailable(message, seconds === null ? TROUBLE_MS : seconds * 1_000);
  }
  const received: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => received.push(event) });
  const decoder = new TextDecoder();
  for await (const chunk of body as AsyncIterable<Buffer>) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* received.splice(0);
  }
}

const Refusal = z.object({ error: z.object({ message: z.string() }) });

function messageOf(text: string): string {
  try {
    return Refusal.parse(JSON.parse(text)).error.message;
  } catch {
    return text.slice(0, 200);
  }
}
