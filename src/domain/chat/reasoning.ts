import { efforts, type ModelPrivate } from '../catalog/catalog.ts';
import type { ChatReply, ChatRequest } from './chat.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { asksForThoughts, type Thinking } from './thoughts.ts';

export type Effort = (typeof efforts)[number];

export const isEffort = (value: JsonValue | undefined): value is Effort => efforts.some((effort) => effort === value);

/** The effort that the client asks for: `none` also where it switches thoughts off. It may be a word that is no `Effort`. */
export const wantedEffort = ({ thinking, extra }: Pick<ChatRequest, 'thinking' | 'extra'>): JsonValue | undefined =>
  thinking?.mode === 'off' ? 'none' : extra.reasoning_effort;

/** The warning for a client that wants no thoughts from a model that always thinks. `instead` is what the model was asked for. */
export const alwaysThinks = (instead: string): string => `This model always thinks. It was asked for ${instead}.`;

/** The effort of `supported` that is nearest to the given one, the lower of two; undefined if none is known. */
export function nearestEffort<Supported extends Effort>(
  effort: Effort,
  supported: readonly Supported[],
): Supported | undefined {
  const distance = (one: Effort): number => Math.abs(efforts.indexOf(one) - efforts.indexOf(effort));
  return supported.reduce<Supported | undefined>(
    (best, one) => (best === undefined || distance(one) < distance(best) ? one : best),
    undefined,
  );
}

/**
 * The tokens for the thoughts of a model that takes a budget: what LiteLLM 1.109 sends for Anthropic. At most half of the answer, so
 * that text is left. Null if that is less than `min` and the model cannot think.
 */
export function thinkingBudget(effort: Exclude<Effort, 'none'>, maxTokens: number, min: number): number | null {
  const budget = Math.min(Math.max(budgets[effort], min), Math.floor(maxTokens / 2));
  return budget < min ? null : budget;
}

const budgets = { minimal: 128, low: 1_024, medium: 2_048, high: 4_096, xhigh: 8_192, max: 16_384 } as const;

/** The effort that is nearest to a budget of tokens, for models that take no budget. No higher than what all models know. */
export const effortOfBudget = (tokens: number): Effort =>
  tokens <= budgets.low ? 'low' : tokens <= budgets.medium ? 'medium' : 'high';

/**
 * Gemini's `thinkingConfig` in the words that all families translate: an effort, and whether the thoughts are shown
 * (https://ai.google.dev/gemini-api/docs/thinking, read 2026-11-26). A budget of -1 lets the model decide.
 */
export function fromThinkingConfig({ thinkingLevel: level, thinkingBudget: budget, includeThoughts }: JsonObject): {
  effort?: Effort;
  thinking?: Thinking;
} {
  const word = typeof level === 'string' ? level.toLowerCase() : undefined;
  const effort = isEffort(word)
    ? word
    : typeof budget === 'number' && budget >= 0
      ? budget === 0
        ? 'none'
        : effortOfBudget(budget)
      : undefined;
  if (effort === 'none') return { effort, thinking: { mode: 'off' } };
  return {
    ...(effort !== undefined && { effort }),
    ...(includeThoughts === true && { thinking: { mode: 'adaptive', display: 'summarized' } }),
  };
}

/**
 * The request with a length that leaves room for the thoughts of its model, if the client names none. A length that the client names
 * stands, because it bounds what the client pays (docs/DECISIONS.md, record 29).
 */
export const withThinkingLength = (request: ChatRequest, limits: ModelPrivate['max_tokens']): ChatRequest =>
  limits && request.isDefaultLength ? { ...request, maxTokens: limits.default } : request;

/** Whether a model thinks before it answers this request: always, as its entry says, or because the request asks for it. */
export function thinksFirst({ extra, gemini, thinking }: ChatRequest, limits: ModelPrivate['max_tokens']): boolean {
  const effort = extra.reasoning_effort;
  const config = gemini?.thinkingConfig;
  return (
    limits !== undefined ||
    asksForThoughts(thinking) ||
    (isEffort(effort) && effort !== 'none') ||
    (config !== undefined && config.thinkingBudget !== 0)
  );
}

/**
 * An answer that has tokens and no text: the model spent them on its thoughts. It was cut, whatever the provider calls it, and a
 * client that reads only the text must learn why there is none. `least`: the tokens that leave room for text, if the client allowed
 * fewer. Null for any other answer.
 */
export function thoughtOnly(reply: ChatReply, least?: number): { reply: ChatReply; warning: string } | null {
  const { content, refusal, toolCalls, usage, reasoning, finishReason } = reply;
  const isSilent = !content && !refusal && toolCalls.length === 0 && (usage?.outputTokens ?? 0) > 0;
  const hasThought = reasoning !== undefined || (usage?.reasoningTokens ?? 0) > 0;
  const isCut = finishReason === 'length' || (finishReason === 'stop' && hasThought);
  if (!isSilent || !isCut) return null;
  const enough = least === undefined ? 'more' : `at least ${least}`;
  const warning = `The model spent its tokens on thoughts and wrote no text. Allow ${enough} max_tokens, or ask for a lower reasoning_effort.`;
  return { reply: { ...reply, finishReason: 'length' }, warning };
}
