import { unsentMembers, withThoughts, type UpstreamChat } from '../../domain/chat/chat.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { alwaysThinks, isEffort, thinkingBudget, wantedEffort, type Effort } from '../../domain/chat/reasoning.ts';
import { asksForThoughts } from '../../domain/chat/thoughts.ts';
import { isExplicit, noEffect } from '../../domain/chat/unsent-parameters.ts';
import { mustCallTool } from '../../domain/chat/vendor-rules.ts';
import { fieldsIn, textIn } from './event-fields.ts';
import { anthropicFormats, formatWarnings } from './instructed-format.ts';

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
  const { traits, thinking } = request;
  if (!traits?.thinking) return {};
  const effort = effortOf(request);
  if (wantedEffort(request) === 'none') return switchedOff(traits, effort);
  if (effort === undefined && !asksForThoughts(thinking)) return {};
  return traits.thinking === 'adaptive' ? adaptive(request, effort) : budgeted(request, effort ?? 'medium');
}

/** Undefined also for `none`, which is no effort of Anthropic's. */
function effortOf({ extra: { reasoning_effort: effort } }: UpstreamChat): ThinkingEffort | undefined {
  return isEffort(effort) && effort !== 'none' ? effort : undefined;
}
type ThinkingEffort = Exclude<Effort, 'none'>;

/**
 * The models that decide themselves differ in how they are told not to think (catalog: `thinking_off`), and take no effort above `high` with that
 * (https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5 and …/sonnet-5-5/whats-new-sonnet-5-5, read on 2026-11-27).
 */
function switchedOff(
  { thinking, thinking_off: word }: NonNullable<UpstreamChat['traits']>,
  effort: ThinkingEffort | undefined,
): AnthropicThinking {
  if (thinking !== 'adaptive') return { thinking: { type: 'disabled' } };
  if (word === 'never') return levelOf(effort ?? 'low');
  return {
    thinking: { type: word ?? 'disabled' },
    ...levelOf(effort === 'xhigh' || effort === 'max' ? 'high' : effort),
  };
}

function adaptive(request: UpstreamChat, effort: ThinkingEffort | undefined): AnthropicThinking {
  const { thinking } = request;
  // Not every model thinks beside a forced tool.
  if (thinking?.mode === 'model' || mustCallTool(request)) return levelOf(effort);
  // Without `display` the newest models return no text of their thoughts.
  return { thinking: { type: 'adaptive', display: thinking?.display ?? 'summarized' }, ...levelOf(effort) };
}

function budgeted(request: UpstreamChat, effort: ThinkingEffort): AnthropicThinking {
  const { thinking, maxTokens, messages } = request;
  const isBegun = messages.at(-1)?.role === 'assistant' || lacksItsThoughts(messages);
  if (thinking?.mode === 'model' || mustCallTool(request) || isBegun) return {};
  const requestedBudget = thinking?.budgetTokens;
  const budget =
    requestedBudget === undefined
      ? thinkingBudget(effort, maxTokens, budgetMin)
      : Math.min(requestedBudget, maxTokens - 1);
  if (budget === null || budget < budgetMin) return {};
  const { display } = thinking ?? {};
  return { thinking: { type: 'enabled', budget_tokens: budget, ...(display !== undefined && { display }) } };
}

/**
 * Whether the model goes on with a turn in which it called tools and of which no signed thoughts came back: with a budget Anthropic refuses that, and
 * not every client has them. Only an answer without calls ends a turn, so a text beside a result is a part of it. Not each call has thoughts.
 */
function lacksItsThoughts(messages: UpstreamChat['messages']): boolean {
  const turn = messages.slice(
    messages.findLastIndex((each) => each.role === 'assistant' && !each.toolCalls.length) + 1,
  );
  const hasThoughts = turn.some(
    (each) => each.role === 'assistant' && each.thoughts?.some(({ kind }) => kind !== 'openai'),
  );
  return !hasThoughts && turn.some(({ role }) => role === 'tool');
}

/**
 * The request, without the thoughts of earlier turns and without edits of thoughts if the model does not think. Anthropic refuses both then
 * (BerriAI/litellm#18926; "`clear_thinking_20251015` strategy requires `thinking` to be enabled", anthropics/claude-code#11533).
 */
export function withAllowedThoughts(request: UpstreamChat, thinking: JsonObject | undefined): UpstreamChat {
  const mayThink = thinking === undefined ? request.traits?.thinking === 'adaptive' : thinking.type !== 'disabled';
  if (mayThink) return request;
  const { messages, vendor } = withThoughts(request, { isReasoningKept: false, kinds: [] });
  return { ...request, messages, ...(vendor && { vendor: { ...vendor, fields: withoutThoughtEdits(vendor.fields) } }) };
}

function withoutThoughtEdits({ context_management: management, ...fields }: JsonObject): JsonObject {
  if (!isObject(management) || !Array.isArray(management.edits)) return fields;
  const edits = management.edits.filter((edit) => !textIn(fieldsIn(edit)?.type)?.startsWith('clear_thinking_'));
  return edits.length === 0 ? fields : { ...fields, context_management: { ...management, edits } };
}

/** Anthropic has no `minimal`. */
const levelOf = (effort: ThinkingEffort | undefined): { effort?: string } =>
  effort === undefined ? {} : { effort: effort === 'minimal' ? 'low' : effort };

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

/** What a client should know about thoughts and sampling parameters that it gets otherwise than it asked, in sentences. */
export function anthropicWarnings(request: UpstreamChat): string[] {
  const { thinking, effort } = thinkingOf(request);
  const sent = sampling(request, thinking);
  const named = (['temperature', 'top_p', 'top_k'] as const).filter((key) => isExplicit(request, unsentMembers[key]));
  const dropped = noEffect(named.filter((key) => sent[key] === undefined));
  const isLimited = sent.temperature !== undefined && sent.temperature !== request.temperature;
  const isUnstoppable = request.traits?.thinking_off === 'never' && wantedEffort(request) === 'none';
  return [
    ...(isUnstoppable && effort !== undefined ? [alwaysThinks(`the effort ${effort}`)] : []),
    ...(dropped === null ? [] : [dropped]),
    ...(isLimited ? [`temperature was sent as ${temperatureMax}, the highest that this model takes.`] : []),
    ...formatWarnings(anthropicFormats, request),
  ];
}
