import { z } from 'zod';
import { modelTypes } from '../../domain/catalog/catalog.ts';
import { chatDescriptors } from './check/chat.ts';

/** What a catalog says once for all of its models. */
export interface CatalogDefaults {
  /** Whether the answers of chat models are streamed as their providers write them. */
  stream?: boolean | undefined;
}

/**
 * An entry of a catalog file with the members that it may leave out because the specification fixes them: `object`, the unit of the
 * prices, the flags and descriptors of a chat model (§2.3), and the flat prices of a model with pricing rules (§2.2). A member of the
 * entry itself is kept, so that the checks can refuse it.
 */
export function withCatalogDefaults(item: unknown, { stream = false }: CatalogDefaults = {}): unknown {
  const outline = Outline.safeParse(item);
  if (!outline.success) return item;
  const { type, pricing = {}, parameters = {}, ...others } = outline.data;
  const isChat = type === 'chat';
  return {
    object: 'model',
    type,
    ...others,
    pricing: isChat ? { ...chatPricing, ...pricing } : withMediaPrices(pricing, parameters),
    parameters: isChat
      ? { ...chatFlags, stream, ...parameters, fields: withDescriptors(parameters['fields']) }
      : parameters,
  };
}

const Members = z.record(z.string(), z.unknown());
const Outline = z.looseObject({
  type: z.enum(modelTypes),
  pricing: Members.optional(),
  parameters: Members.optional(),
});

const chatPricing = { unit: 'tokens', credits_per_request: 1, min_credits_per_request: 1 };
const chatFlags = { messages: true, temperature: true, max_tokens: true };
const labels: Readonly<Record<string, string>> = {
  temperature: 'Temperature',
  max_tokens: 'Longest answer in tokens',
};

/** Puts the fixed descriptors that the entry lacks before its own. */
function withDescriptors(fields: unknown): unknown {
  const own = z.array(z.looseObject({ key: z.string() })).safeParse(fields ?? []);
  if (!own.success) return fields;
  const missing = Object.entries(chatDescriptors).filter(([key]) => !own.data.some((field) => field.key === key));
  const added = missing.map(([key, descriptor]) => ({ key, label: labels[key], ...descriptor }));
  return [...added, ...own.data];
}

/** Adds the flat price and the minimum: those of the cheapest rule, or without rules the price of the entry. */
function withMediaPrices(pricing: Record<string, unknown>, parameters: Record<string, unknown>) {
  const rules = z
    .array(z.looseObject({ credits: z.number() }))
    .min(1)
    .safeParse(parameters['pricingRules']);
  const price = rules.success ? Math.min(...rules.data.map(({ credits }) => credits)) : pricing['credits_per_request'];
  return {
    unit: 'request',
    credits_per_request: price,
    credits_per_1k_input_tokens: 0,
    credits_per_1k_output_tokens: 0,
    min_credits_per_request: price,
    ...pricing,
  };
}
