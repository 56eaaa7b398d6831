import type { JsonValue } from './json.ts';

/** OpenAI's levels of `reasoning_effort`, which the other families translate. */
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof efforts)[number];

export const isEffort = (value: JsonValue | undefined): value is Effort => efforts.some((effort) => effort === value);

/**
 * The tokens for the thoughts of a model that takes a budget: what LiteLLM 1.109 sends for Anthropic. At most half of the answer, so
 * that text is left. Null if that is less than `min` and the model cannot think.
 */
export function thinkingBudget(effort: Exclude<Effort, 'none'>, maxTokens: number, min: number): number | null {
  const budget = Math.min(Math.max(budgets[effort], min), Math.floor(maxTokens / 2));
  return budget < min ? null : budget;
}

const budgets = { minimal: 128, low: 1_024, medium: 2_048, high: 4_096, xhigh: 8_192, max: 16_384 } as const;
