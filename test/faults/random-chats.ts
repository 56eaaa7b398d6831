import fc from 'fast-check';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { completion, ownError, reply, type ChatUpstream } from '../support/chat-upstream.ts';
import type { Answer } from '../support/api-client.ts';

/** The keys of the clients, each near one limit: its account's balance, its budget, its rate, its requests in flight. */
export const keyNames = ['scarce', 'budgeted', 'rated', 'narrow'] as const;
export type KeyName = (typeof keyNames)[number];

/** What one client asks, which API server it asks, and what the upstream does. */
export interface RandomChat {
  key: KeyName;
  isIdempotent: boolean;
  maxTokens: number;
  /** The output tokens that the upstream reports. They may cost more than the hold. */
  outputTokens: number;
  latencyMs: number;
  upstream: 'answers' | 'fails_once' | 'breaks_off' | 'refuses';
  apiIndex: number;
}

const often = <T>(weight: number, value: T) => ({ weight, arbitrary: fc.constant(value) });

const anyChat: fc.Arbitrary<RandomChat> = fc.record({
  key: fc.constantFrom(...keyNames),
  isIdempotent: fc.boolean(),
  maxTokens: fc.constantFrom(100, 400, 700, 1_200),
  outputTokens: fc.integer({ min: 1, max: 1_400 }),
  latencyMs: fc.oneof(
    { weight: 2, arbitrary: fc.integer({ min: 10, max: 100 }) },
    { weight: 1, arbitrary: fc.integer({ min: 300, max: 1_200 }) },
  ),
  upstream: fc.oneof(
    often(7, 'answers' as const),
    often(1, 'fails_once' as const),
    often(1, 'breaks_off' as const),
    often(1, 'refuses' as const),
  ),
  apiIndex: fc.nat({ max: 2 }),
});

/** The chats of each client, and the kills: the places that die together, once so many more requests have ended. */
export const anyRun = fc.noBias(
  fc.record({
    clients: fc.array(fc.array(anyChat, { minLength: 40, maxLength: 40 }), { minLength: 12, maxLength: 12 }),
    kills: fc.array(
      fc.record({
        apiIndexes: fc.subarray([0, 1, 2], { minLength: 1, maxLength: 2 }),
        afterTries: fc.integer({ min: 50, max: 80 }),
      }),
      { minLength: 3, maxLength: 3 },
    ),
  }),
);

/** A chat with the text that only this chat has, which is also its Idempotency-Key. */
export interface SentChat extends RandomChat {
  text: string;
}

/** One request of a client. Times are in milliseconds. */
export interface Try {
  chat: SentChat;
  sentAt: number;
  answeredAt: number;
  /** Null if the connection broke. */
  answer: Answer | null;
}

const ChatBody = z.object({ messages: z.tuple([z.object({ content: z.string() })]) });

/** What the upstream has seen of the chats. */
export interface ServedChats {
  /** The ids of the requests that called it, by the text of the chat. */
  called: Map<string, Set<string>>;
  /** The chats that it has not answered yet. */
  open: Set<SentChat>;
}

/** Lets the upstream do what the chats say. */
export function serveChats(upstream: ChatUpstream, chatOf: (text: string) => SentChat): ServedChats {
  const open = new Set<SentChat>();
  const requestIds = new Map<string, Set<string>>();
  const calls = new Map<string, number>();
  upstream.serve((request, response, body) => {
    const [{ content: text }] = ChatBody.parse(JSON.parse(body)).messages;
    const chat = chatOf(text);
    const requestId = String(request.headers['x-request-id']);
    requestIds.set(text, (requestIds.get(text) ?? new Set()).add(requestId));
    calls.set(requestId, (calls.get(requestId) ?? 0) + 1);
    open.add(chat);
    response.once('close', () => open.delete(chat));
    void sleep(chat.latencyMs).then(() => {
      open.delete(chat);
      if (chat.upstream === 'refuses') return ownError(400, 'content_filter')(request, response, body);
      if (chat.upstream === 'breaks_off') return response.destroy();
      if (chat.upstream === 'fails_once' && calls.get(requestId) === 1)
        return ownError(503, 'down')(request, response, body);
      const message = { role: 'assistant', content: `Answer to ${text}` };
      const usage = { prompt_tokens: 10, completion_tokens: chat.outputTokens, total_tokens: chat.outputTokens + 10 };
      reply(response, 200, { ...completion, choices: [{ index: 0, finish_reason: 'stop', message }], usage });
    });
  });
  return { called: requestIds, open };
}

/**
 * What the accounts and the budgets must say, from the purchases and from the answers alone: a balance is what was bought, less
 * what the answers say that they cost. Throws if an answer costs more than there can be.
 */
export class SerialModel {
  readonly #bought = new Map<string, number>();
  readonly #charged = new Map<string, number>();
  readonly #spent = new Map<string, number>();

  /** Called before the purchase, because a chat may spend the credits as soon as they are bought. */
  buy(projectId: string, credits: number): void {
    this.#bought.set(projectId, this.#of(this.#bought, projectId) + credits);
  }

  charge({ projectId, keyId, budget = Infinity }: ModelKey, credits: number): void {
    this.#charged.set(projectId, this.#of(this.#charged, projectId) + credits);
    this.#spent.set(keyId, this.spent(keyId) + credits);
    if (this.balance(projectId) < 0)
      throw new Error(`The answers cost ${-this.balance(projectId)} more than was bought`);
    if (this.spent(keyId) > budget) throw new Error(`The answers cost ${this.spent(keyId)} of a budget of ${budget}`);
  }

  balance = (projectId: string): number => this.#of(this.#bought, projectId) - this.#of(this.#charged, projectId);
  spent = (keyId: string): number => this.#of(this.#spent, keyId);
  #of = (sums: Map<string, number>, id: string): number => sums.get(id) ?? 0;
}

export interface ModelKey {
  projectId: string;
  keyId: string;
  budget?: number;
}

/** One row of the ledger. Times are in microseconds of the database's clock. */
export interface Entry {
  projectId: string;
  keyId: string | null;
  requestId: string | null;
  kind: 'topup' | 'settle' | 'refund' | 'adjust' | 'deduct' | 'expiry';
  credits: number;
  held: number | null;
  beganAt: number | null;
  endedAt: number;
}

interface Change {
  at: number;
  by: number;
}

/** The highest sum of the changes at any time. A request that ends makes room for one that begins in the same microsecond. */
export function highest(changes: readonly Change[]): number {
  let sum = 0;
  let max = 0;
  for (const { by } of changes.toSorted((a, b) => a.at - b.at || a.by - b.by)) max = Math.max(max, (sum += by));
  return max;
}

/** What the requests took of a budget or an account: what they hold while they run, and then what they cost. */
export const takingsOf = (entries: readonly Entry[]): Change[] =>
  entries.flatMap(({ beganAt, endedAt, held, credits }) =>
    beganAt === null || held === null
      ? [{ at: endedAt, by: -credits }]
      : [
          { at: beganAt, by: held },
          { at: endedAt, by: -credits - held },
        ],
  );

/** The requests that ran: one more at each start, one less at each end. */
export const runningOf = (entries: readonly Entry[]): Change[] =>
  entries.flatMap(({ beganAt, endedAt }) =>
    beganAt === null
      ? []
      : [
          { at: beganAt, by: 1 },
          { at: endedAt, by: -1 },
        ],
  );

/** The most spans that lie as a whole within `length`. */
export function mostWithin(length: number, spans: readonly { from: number; to: number }[]): number {
  return Math.max(
    0,
    ...spans.map(({ from: start }) => spans.filter(({ from, to }) => from >= start && to <= start + length).length),
  );
}
