import { unsentMembers, type UpstreamChat } from '../domain/chat.ts';
import type { JsonObject } from '../domain/json.ts';
import { isEffort, thinkingBudget, type Effort } from '../domain/reasoning.ts';
import { isNamed, noEffect } from '../domain/unsent-parameters.ts';

/** The least budget that Anthropic accepts. */
const budgetMin = 1_024;

/**
 * How a request's `reasoning_effort` is sent to Anthropic, by the catalog's `thinking`. Newer models decide themselves how long they
 * think (`adaptive`) and refuse a budget, older ones know only a budget
 * (https://platform.claude.com/docs/en/build-with-claude/thinking, read on 2026-11-22).
 */
export function thinkingOf({ extra, traits, maxTokens, messages, toolChoice }: UpstreamChat): {
  thinking?: JsonObject;
  effort?: string;
} {
  const effort = extra.reasoning_effort;
  if (!traits?.thinking || !isEffort(effort)) return {};
  if (effort === 'none') return { thinking: { type: 'disabled' } };
  // Anthropic refuses thinking beside a forced tool.
  const isForced = toolChoice === 'required' || typeof toolChoice === 'object';
  if (traits.thinking === 'adaptive') {
    // Without `display` the newest models return no text of their thoughts.
    const thinking = isForced ? undefined : { type: 'adaptive', display: 'summarized' };
    return { ...(thinking && { thinking }), effort: levels[effort] };
  }
  // With a budget, the turn that called the tools must begin with its signed thoughts, which a client of ours does not have.
  const isToolTurn = messages.at(-1)?.role === 'tool';
  const budget = isForced || isToolTurn ? null : thinkingBudget(effort, maxTokens, budgetMin);
  return budget === null ? {} : { thinking: { type: 'enabled', budget_tokens: budget } };
}

const levels = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
} satisfies Record<Exclude<Effort, 'none'>, string>;

const temperatureMax = 1;

/** Members that are undefined are not sent. */
type Sampling = Partial<Record<'temperature' | 'top_p' | 'top_k', number | undefined>>;

/** The sampling parameters. Anthropic refuses `temperature` beside `top_p`, and both while the model thinks. */
export function sampling({ temperature, topP, topK }: UpstreamChat, thinking: JsonObject | undefined): Sampling {
  if (thinking !== undefined && thinking.type !== 'disabled') return {};
  return {
    temperature: temperature === undefined ? undefined : Math.min(temperature, temperatureMax),
    top_p: temperature === undefined ? topP : undefined,
    top_k: topK,
  };
}

/** What a client should know about its sampling parameters, in sentences. */
export function samplingWarnings(request: UpstreamChat): string[] {
  const sent = sampling(request, thinkingOf(request).thinking);
  const named = (['temperature', 'top_p', 'top_k'] as const).filter((key) => isNamed(request, unsentMembers[key]));
  const dropped = noEffect(named.filter((key) => sent[key] === undefined));
  const isLimited = sent.temperature !== undefined && sent.temperature !== request.temperature;
  return [
    ...(dropped === null ? [] : [dropped]),
    ...(isLimited ? [`temperature was sent as ${temperatureMax}, the highest that this model takes.`] : []),
  ];
}
