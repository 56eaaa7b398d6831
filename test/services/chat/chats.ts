import { z } from 'zod';
import type { Answer, CreateOptions } from '../../support/api-client.ts';
import type { Gateway } from '../../support/gateway.ts';

export const chatRoute = '/api/v1/chat/completions';
/** Costs two credits per 1,000 input tokens and eight per 1,000 output tokens, at least one credit. */
export const chatModel = 'gpt-5-mini';

/** Settings of a gateway whose channels that fail in one test are available in the next. */
export const quickRecovery = {
  CHAT_ATTEMPT_TIMEOUT_SECONDS: '20',
  CHAT_DEADLINE_SECONDS: '60',
  IDEMPOTENT_BODY_MAX_BYTES: '1500',
  RETRIES_PER_MINUTE_MIN: '1000',
  RATE_LIMIT_REST_MAX_SECONDS: '1',
  // test/faults/failing-channels.test.ts covers the circuit breaker.
  BREAKER_FAILURES_MAX: '1000',
  BREAKER_OPEN_SECONDS: '0',
  BREAKER_PROBE_SECONDS: '0',
  ACCOUNT_REST_SECONDS: '0',
};

export interface ChatOptions extends CreateOptions {
  /** Fields of the body besides model and messages. */
  fields?: Record<string, unknown>;
}

export const chatBody = (text: string, fields: Record<string, unknown> = {}): Record<string, unknown> => ({
  model: chatModel,
  messages: [{ role: 'user', content: text }],
  ...fields,
});

/** Sends a chat of one user message, whose text can instruct the sandbox. */
export const chat = (
  gateway: Gateway,
  apiKey: string,
  text: string,
  { fields, ...options }: ChatOptions = {},
): Promise<Answer> => gateway.create(apiKey, chatRoute, chatBody(text, fields), options);

/** Makes the hold of a chat ten credits: 1,200 output tokens and less than 200 input tokens. */
export const tenCredits = { max_tokens: 1_200 };
/** Instructions for the sandbox: the usage that costs all ten credits, and half of them. */
export const usageOfTen = 'usage=200,1200';
export const usageOfFive = 'usage=100,600';

const Failure = z.object({
  error: z.object({ code: z.string(), type: z.string(), param: z.string().nullable(), message: z.string() }),
});

/** `200`, or status and error code such as `402 key_budget_exceeded`. */
export const verdictOf = ({ status, body }: Answer): string =>
  status === 200 ? '200' : `${status} ${Failure.parse(body).error.code}`;

export function countVerdicts(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) counts[verdictOf(answer)] = (counts[verdictOf(answer)] ?? 0) + 1;
  return counts;
}

export const requestIdOf = ({ headers }: Answer): string => headers.get('x-request-id') ?? '';

export const contentOf = ({ body }: Answer): string | null => Completion.parse(body).choices[0].message.content;

const Completion = z.object({
  choices: z.tuple([z.object({ message: z.object({ content: z.string().nullable() }) })]),
});

export interface ChatFacts extends Record<string, unknown> {
  state: 'held' | 'settled' | 'refunded';
  amount: number;
  settledAmount: number | null;
  inputTokens: number | null;
  outputTokens: number | null;
  usageEstimated: boolean;
}

/** The reservation of a chat; undefined if it never held credits. */
export async function chatFacts(
  { database }: Pick<Gateway, 'database'>,
  requestId: string,
): Promise<ChatFacts | undefined> {
  const [row] = await database.query<ChatFacts>(
    'test-chat-facts',
    `select state, amount, settled_amount, input_tokens, output_tokens, usage_estimated from reservation where id = $1`,
    [requestId],
  );
  return row;
}

/** The fewest tokens that may be charged for what the client of a chat received, as its entry says. */
export async function deliveredTokensOf(
  { database }: Pick<Gateway, 'database'>,
  requestId: string,
): Promise<number | null | undefined> {
  const [row] = await database.query<{ deliveredTokens: number | null }>(
    'test-delivered-tokens',
    `select delivered_tokens from ledger_entry where request_id = $1 and kind in ('settle', 'refund')`,
    [requestId],
  );
  return row?.deliveredTokens;
}

/** Why a chat was refunded, or why its charged answer is not whole, as its entry says. */
export async function endReasonOf(
  { database }: Pick<Gateway, 'database'>,
  requestId: string,
): Promise<string | null | undefined> {
  const [row] = await database.query<{ reason: string | null }>(
    'test-end-reason',
    `select reason from ledger_entry where request_id = $1 and kind in ('settle', 'refund')`,
    [requestId],
  );
  return row?.reason;
}

/** The use of a key's limits. */
export async function keyFacts(
  { database }: Gateway,
  keyId: string,
): Promise<{ spent: number; reserved: number; inFlight: number } | undefined> {
  const [row] = await database.query<{ spent: number; reserved: number; inFlight: number }>(
    'test-key-facts',
    'select spent, reserved, in_flight from api_key where id = $1',
    [keyId],
  );
  return row;
}

export const all = <T>(count: number, ask: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => ask(index)));
