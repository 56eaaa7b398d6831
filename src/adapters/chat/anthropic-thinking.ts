import { unsentMembers, type UpstreamChat } from '../../domain/chat/chat.ts';
import type { JsonObject } from '../../domain/json.ts';
import { isEffort, thinkingBudget, type Effort } from '../../domain/chat/reasoning.ts';
import { asksForThoughts } from '../../domain/chat/thoughts.ts';
import { isNamed, noEffect } from '../../domain/chat/unsent-parameters.ts';

/** The least budget that Anthropic accepts. */
const budgetMin = 1_024;

/** What a request says about thinking, in Anthropic's fields. */
interface AnthropicThinking {
  thinking?: JsonObject;
  effort?: string;
}

/**
 * How a client's `thinking` and effort are sent to Anthropic, by the catalog's `thinking`. Newer models decide themselves how long they
 * think (`adaptive`) and refuse a budget, older ones know only a budget
 * (https://platform.claude.com/docs/en/build-with-claude/thinking, read on 2026-11-22).
 */
export function thinkingOf(request: UpstreamChat): AnthropicThinking {
  const { traits, extra, thinking } = request;
  const effort = isEffort(extra.reasoning_effort) ? extra.reasoning_effort : undefined;
  const isRequested = effort !== undefined || asksForThoughts(thinking);
  if (!traits?.thinking || (!isRequested && thinking?.mode !== 'off')) return {};
  if (effort === 'none' || thinking?.mode === 'off') {
    return { thinking: { type: 'disabled' }, ...(traits.thinking === 'adaptive' && levelOf(effort)) };
  }
  return traits.thinking === 'adaptive' ? adaptive(request, effort) : budgeted(request, effort ?? 'medium');
}

function adaptive({ toolChoice, thinking }: UpstreamChat, effort: Effort | undefined): AnthropicThinking {
  if (thinking?.mode === 'model' || isForced(toolChoice)) return levelOf(effort);
  // Without `display` the newest models return no text of their thoughts.
  return { thinking: { type: 'adaptive', display: thinking?.display ?? 'summarized' }, ...levelOf(effort) };
}

function budgeted(request: UpstreamChat, effort: Exclude<Effort, 'none'>): AnthropicThinking {
  const { thinking, maxTokens, toolChoice, messages } = request;
  // With a budget, the turn that called the tools must begin with its signed thoughts, which not every client has.
  const isToolTurn = messages.at(-1)?.role === 'tool' && !beginsWithThoughts(request);
  if (thinking?.mode === 'model' || isForced(toolChoice) || isToolTurn) return {};
  const requestedBudget = thinking?.budgetTokens;
  const budget =
    requestedBudget === undefined
      ? thinkingBudget(effort, maxTokens, budgetMin)
      : Math.min(requestedBudget, maxTokens - 1);
  if (budget === null || budget < budgetMin) return {};
  const { display } = thinking ?? {};
  return { thinking: { type: 'enabled', budget_tokens: budget, ...(display !== undefined && { display }) } };
}

/** Whether the turn that called the tools has its signed thoughts. */
function beginsWithThoughts({ messages }: UpstreamChat): boolean {
  const turn = messages.findLast(({ role }) => role === 'assistant');
  return turn?.role === 'assistant' && (turn.thoughts ?? []).some(({ kind }) => kind !== 'openai');
}

/** Anthropic refuses thinking beside a forced tool. */
const isForced = (toolChoice: UpstreamChat['toolChoice']): boolean =>
  toolChoice === 'required' || typeof toolChoice === 'object';

const levelOf = (effort: Effort | undefined): { effort?: string } =>
  effort === undefined || effort === 'none' ? {} : { effort: levels[effort] };

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
  if (thinking !== undefined && thinking.type !== 'disabled')
    return { temperature: undefined, top_p: undefined, top_k: undefined };
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
