import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import type { Gateway } from '../../support/gateway.ts';
import { eventually } from '../../support/eventually.ts';
import { chatRoute } from './chats.ts';

/** A chat model of each family whose adapter streams. */
export const streamedModels = {
  openai: 'gpt-5-mini',
  responses: 'gpt-6-luna',
  anthropic: 'claude-sonnet-4.5',
  gemini: 'gemini-2.5-flash',
};

const Chunk = z.object({
  choices: z.array(
    z.object({
      delta: z.object({
        role: z.string().optional(),
        content: z.string().nullish(),
        reasoning_content: z.string().nullish(),
        tool_calls: z
          .array(
            z.object({
              index: z.number(),
              id: z.string().optional(),
              function: z.object({ name: z.string().optional(), arguments: z.string() }),
            }),
          )
          .optional(),
      }),
      finish_reason: z.string().nullable(),
    }),
  ),
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }).nullish(),
  tollgate: z.object({ credits: z.number(), attempts: z.number() }).optional(),
  error: z.object({ code: z.string(), type: z.string() }).optional(),
});
export type Chunk = z.infer<typeof Chunk>;

export interface Streamed {
  status: number;
  headers: Headers;
  requestId: string;
  chunks: Chunk[];
  /** Whether `[DONE]` came. */
  isDone: boolean;
  text: string;
  reasoning: string;
  finish: string | null;
  error: string | null;
  cost: { credits: number; attempts: number } | null;
}

export interface StreamOptions {
  /** Fields of the body besides model and messages. */
  fields?: Record<string, unknown>;
  headers?: Record<string, string>;
  baseUrl?: string;
  /** Leaves as soon as this is true of what came so far. */
  leaveWhen?: (soFar: Streamed) => boolean;
  signal?: AbortSignal;
  /** How long it may take; 90 by default. */
  secondsMax?: number;
}

/** Sends a streamed chat and reads it to its end. A connection that breaks off leaves what came before it. */
export async function stream(
  gateway: Pick<Gateway, 'baseUrl'>,
  apiKey: string,
  { model = 'gpt-5-mini', text }: { model?: string; text: string },
  { fields, headers, baseUrl, leaveWhen, signal, secondsMax = 90 }: StreamOptions = {},
): Promise<Streamed> {
  const leaving = new AbortController();
  const answer = await fetch(`${baseUrl ?? gateway.baseUrl}${chatRoute}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: text }], stream: true, ...fields }),
    signal: AbortSignal.any([leaving.signal, AbortSignal.timeout(secondsMax * 1_000), ...(signal ? [signal] : [])]),
  });
  const streamed: Streamed = {
    status: answer.status,
    headers: answer.headers,
    requestId: answer.headers.get('x-request-id') ?? '',
    chunks: [],
    isDone: false,
    text: '',
    reasoning: '',
    finish: null,
    error: null,
    cost: null,
  };
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) {
    const refusal = z.object({ error: z.object({ code: z.string() }) }).parse(await answer.json());
    return { ...streamed, error: refusal.error.code };
  }
  const parser = createParser({ onEvent: ({ data }) => add(streamed, data) });
  try {
    for await (const piece of (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      parser.feed(piece);
      if (leaveWhen?.(streamed)) leaving.abort();
    }
  } catch {
    // It broke off, or this reader left.
  }
  return streamed;
}

/** Streams from each family at the same time, and calls `strike` once all answers have begun. Resolves when all have ended. */
export async function streamFromEach(
  gateway: Gateway,
  apiKey: string,
  textOf: (model: string) => string,
  strike: () => Promise<unknown>,
  options: Omit<StreamOptions, 'leaveWhen'> = {},
): Promise<Streamed[]> {
  const models = Object.values(streamedModels);
  const begun = new Set<string>();
  let struck: Promise<unknown> | undefined;
  const streams = models.map((model) => {
    const leaveWhen = ({ text }: Streamed): boolean => {
      if (text !== '') begun.add(model);
      if (begun.size === models.length) struck ??= strike();
      return false;
    };
    return stream(gateway, apiKey, { model, text: textOf(model) }, { ...options, leaveWhen });
  });
  const streamed = await Promise.all(streams);
  await struck;
  return streamed;
}

function add(streamed: Streamed, data: string): void {
  if (data === '[DONE]') {
    streamed.isDone = true;
    return;
  }
  const chunk = Chunk.parse(JSON.parse(data));
  streamed.chunks.push(chunk);
  const [choice] = chunk.choices;
  streamed.text += choice?.delta.content ?? '';
  streamed.reasoning += choice?.delta.reasoning_content ?? '';
  streamed.finish = choice?.finish_reason ?? streamed.finish;
  streamed.cost = chunk.tollgate ?? streamed.cost;
  streamed.error = chunk.error?.code ?? streamed.error;
}

/** Makes models stream, as one line of a catalog does, and waits until every API knows it. */
export async function letModelsStream(
  gateway: Gateway,
  apiKey: string,
  models = Object.values(streamedModels),
): Promise<void> {
  await gateway.database.query(
    'test-let-stream',
    `update model set entry = jsonb_set(entry, '{parameters,stream}', 'true') where id = any ($1)`,
    [models],
  );
  for (const baseUrl of gateway.baseUrls) {
    await eventually(async () => {
      const { body } = await gateway.get(apiKey, '/api/v1/models', { baseUrl });
      const List = z.object({
        data: z.array(z.object({ id: z.string(), parameters: z.object({ stream: z.boolean().optional() }) })),
      });
      return List.parse(body).data.filter(({ parameters }) => parameters.stream === true).length >= models.length;
    });
  }
}

/** The sandbox's streamed calls whose prompt has this text. */
export async function streamHits(
  { sandboxUrl }: Pick<Gateway, 'sandboxUrl'>,
  text: string,
): Promise<{ channel: string; sent?: number; left_at?: string }[]> {
  const answer = await fetch(`${sandboxUrl}/_sandbox/hits?contains=${encodeURIComponent(text)}&kind=chat`);
  return z
    .array(z.object({ channel: z.string(), sent: z.number().optional(), left_at: z.string().optional() }))
    .parse(await answer.json());
}
