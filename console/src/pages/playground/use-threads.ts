import { useEffect, useState } from 'react';
import { eventData, type ChatChunk } from '../../api/chat-stream.ts';
import { read } from '../../api/admin.ts';
import type { ClientApi } from '../../api/playground.ts';
import { newIdempotencyKey } from '../../api/request.ts';
import { credits, milliseconds } from '../../ui/format.ts';

export interface Message {
  role: 'user' | 'assistant';
  content: string;
  thoughts: string;
  /** `data:` addresses of the pictures of a question. */
  pictures: string[];
  /** What the answer cost and took, once it is complete. */
  note: string;
  /** Of the answer. */
  requestId: string | null;
  /** The channel that answered. */
  channel: string | null;
}

/** A conversation with one model. */
export interface Thread {
  messages: Message[];
  error: unknown;
  /** The body that was sent last. */
  sent: object | null;
}

export const chatPath = '/api/v1/chat/completions';
const streamed = { stream: true, stream_options: { include_usage: true } };
const empty: Thread = { messages: [], error: null, sent: null };

export const question = (content: string, pictures: string[] = []): Message => ({
  role: 'user',
  content,
  thoughts: '',
  pictures,
  note: '',
  requestId: null,
  channel: null,
});

/** The body of a chat with these messages, as every SDK of OpenAI sends it. */
export type BodyOf = (model: string, history: readonly Message[]) => object;

/** Conversations side by side, one for each place. `ask` sends a question to all of them and says whether any was answered. */
export function useThreads(api: ClientApi, bodyOf: BodyOf) {
  const [threads, setThreads] = useState<Thread[]>([]);
  const [running, setRunning] = useState<AbortController | null>(null);
  useEffect(() => () => running?.abort(), [running]);
  const threadAt = (threadIndex: number): Thread => threads[threadIndex] ?? empty;

  const change = (threadIndex: number, changed: (thread: Thread) => Thread): void =>
    setThreads((all) => {
      const others = [...all];
      for (let index = all.length; index <= threadIndex; index++) others[index] = empty;
      others[threadIndex] = changed(others[threadIndex] ?? empty);
      return others;
    });

  const askOne = async (
    threadIndex: number,
    model: string,
    userMessage: Message,
    signal: AbortSignal,
  ): Promise<boolean> => {
    const history = [...threadAt(threadIndex).messages, userMessage];
    const sent = { ...bodyOf(model, history), ...streamed };
    change(threadIndex, () => ({ messages: [...history, { ...question(''), role: 'assistant' }], error: null, sent }));
    const extend = (extended: (answer: Message) => Message): void =>
      change(threadIndex, (thread) => ({
        ...thread,
        messages: thread.messages.map((message, index) =>
          index === thread.messages.length - 1 ? extended(message) : message,
        ),
      }));
    try {
      await readAnswer(api, { body: sent, signal, extend });
      return true;
    } catch (error) {
      // An answer that never began leaves the conversation as it was, to be asked again.
      change(threadIndex, ({ messages, ...thread }) => ({
        ...thread,
        error: signal.aborted ? null : error,
        messages: messages.at(-1)?.content === '' ? messages.slice(0, -2) : messages,
      }));
      return signal.aborted;
    }
  };

  const ask = async (models: readonly string[], userMessage: Message): Promise<boolean> => {
    const controller = new AbortController();
    setRunning(controller);
    const answered = await Promise.all(
      models.map((model, threadIndex) => askOne(threadIndex, model, userMessage, controller.signal)),
    );
    setRunning(null);
    return answered.some(Boolean);
  };
  return { threadAt, ask, stop: () => running?.abort(), isRunning: running !== null, clear: () => setThreads([]) };
}

/** Reads a streamed answer into the last message. Throws what the gateway or the stream reports. */
async function readAnswer(
  api: ClientApi,
  {
    body,
    signal,
    extend,
  }: { body: object; signal: AbortSignal; extend: (change: (answer: Message) => Message) => void },
): Promise<void> {
  const startedAt = performance.now();
  const headers = { 'idempotency-key': newIdempotencyKey() };
  const response = await api.send(chatPath, { method: 'POST', body, headers, signal });
  const requestId = response.headers.get('x-request-id');
  let tokens: number | undefined;
  let paid: number | undefined;
  for await (const data of eventData(response)) {
    const { choices = [], usage, tollgate, error } = data as ChatChunk;
    if (error) throw new Error(error.message);
    const { content, reasoning_content: thoughts } = choices[0]?.delta ?? {};
    if (content || thoughts)
      extend((answer) => ({
        ...answer,
        content: answer.content + (content ?? ''),
        thoughts: answer.thoughts + (thoughts ?? ''),
      }));
    tokens = usage?.completion_tokens ?? tokens;
    paid = tollgate?.credits ?? paid;
  }
  const facts = [
    paid !== undefined && credits(paid),
    tokens !== undefined && `${tokens} tokens`,
    milliseconds(performance.now() - startedAt),
  ];
  extend((answer) => ({ ...answer, requestId, note: facts.filter(Boolean).join(' · ') }));
  if (requestId === null) return;
  const channel = await channelOf(requestId);
  extend((answer) => ({ ...answer, channel }));
}

/** The channel that answered a chat, which only operators see; null if it cannot be read. */
const channelOf = (requestId: string): Promise<string | null> =>
  read('/chats/{id}', { id: requestId })
    .then(({ attempts_detail: calls }) => calls.findLast(({ outcome }) => outcome === 'ok')?.channel ?? null)
    .catch(() => null);
