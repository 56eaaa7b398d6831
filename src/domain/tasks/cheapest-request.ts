import { hasCapability, type CatalogEntry, type UpstreamMapping } from '../catalog/catalog.ts';
import type { ChatRequest } from '../chat/chat.ts';
import { chatHold } from '../chat/chat-hold.ts';
import type { JsonObject } from '../json.ts';
import { pricedKeys } from '../catalog/margins.ts';
import { offeredCombinations } from './offered-combinations.ts';
import { resolveMediaRequest } from '../catalog/parameters.ts';
import { isInputKey } from '../catalog/request-condition.ts';
import { chatCost, mediaCost } from '../catalog/upstream-cost.ts';

/** The request that costs the operator least at one family, with the most that it can cost in micro-USD. */
export type CheapestRequest =
  | { kind: 'chat'; request: ChatRequest; costMax: number }
  | { kind: 'media'; input: JsonObject; costMax: number }
  /** No request can be made without an input of the operator. */
  | { kind: 'none'; why: string };

/** The cheapest request that shows whether a mapping works: the shortest chat, one picture or the shortest clip, from text alone. */
export const cheapestRequest = (entry: CatalogEntry, mapping: UpstreamMapping): CheapestRequest =>
  entry.model.type === 'chat' ? cheapestChat(entry, mapping) : cheapestMedia(entry, mapping);

/** Below this OpenAI's Responses API refuses a request. */
const outputTokensMin = 16;

function cheapestChat(entry: CatalogEntry, mapping: UpstreamMapping): CheapestRequest {
  const request: ChatRequest = {
    model: entry.model.id,
    messages: [{ role: 'user', content: 'Reply with the word ok.' }],
    tools: [],
    maxTokens: Math.max(outputTokensMin, entry.private.max_tokens?.min ?? 0),
    extra: {},
  };
  const { inputTokens: input, outputTokens: output } = chatHold(request, 0);
  const costOf = (reasoning: number) => chatCost(mapping.cost, { input, output, reasoning });
  return { kind: 'chat', request, costMax: Math.max(costOf(0), costOf(output)) };
}

const prompt = 'A red circle on a white background.';

function cheapestMedia(entry: CatalogEntry, mapping: UpstreamMapping): CheapestRequest {
  const { parameters } = entry.model;
  if (parameters.video_url === true && !hasCapability(entry.model, 'text-to-video')) {
    return { kind: 'none', why: 'the model needs a clip as its input' };
  }
  const combinations = offeredCombinations(entry, mapping, pricedKeys(entry, mapping)) ?? [];
  const [cheapest] = combinations
    .filter((combination) => !Object.keys(combination).some(isInputKey))
    .map((combination) => ({ combination, cost: mediaCost(mapping.cost, combination) }))
    .sort((one, other) => one.cost - other.cost);
  if (!cheapest) return { kind: 'none', why: 'the model needs an input' };
  // What the price does not depend on may still be limited at this family (`only`).
  const offered = Object.entries(mapping.only ?? {}).flatMap(([key, [first]]) =>
    first === undefined ? [] : [[key, first]],
  );
  const { input } = resolveMediaRequest(entry, {
    prompt,
    ...(Object.fromEntries(offered) as JsonObject),
    ...cheapest.combination,
  });
  return { kind: 'media', input, costMax: mediaCost(mapping.cost, input) };
}
