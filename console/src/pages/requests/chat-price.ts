import type { CatalogEntry } from '../../../../src/domain/catalog/catalog.ts';
import { tokenClasses, tokensByClass, type TokenClass } from '../../../../src/domain/catalog/token-classes.ts';
import { classPrices, priceMemberOf } from '../../../../src/domain/catalog/token-prices.ts';
import { chatCredits, costDetails, type ChatPricing } from '../../../../src/domain/ledger/pricing.ts';
import { entryUnderPlan } from '../../../../src/domain/plans/price-under-plan.ts';
import type { PlanRule } from '../../../../src/domain/plans/plan.ts';
import type { AuditEntry, ChatTimeline } from '../../api/admin-types.ts';

export interface PriceLine {
  of: TokenClass | 'minimum';
  tokens: number | null;
  /** For 1,000 tokens. */
  price: number | null;
  /** The two classes of what is written to the cache share theirs, which the first of them has. */
  credits: number | null;
}

interface ChargedChat {
  chat: Pick<ChatTimeline, 'model' | 'credits'> & Tokens;
  /** As the catalog has it now. */
  entry: CatalogEntry;
  /** Every change of the catalog since the chat began. */
  changes: readonly Pick<AuditEntry, 'id' | 'before' | 'detail'>[];
  /** Of the plan that the project had then. */
  rules: readonly PlanRule[];
}

type Tokens = Pick<
  ChatTimeline,
  | 'input_tokens'
  | 'output_tokens'
  | 'cached_input_tokens'
  | 'cache_write_tokens'
  | 'cache_write_1h_tokens'
  | 'reasoning_tokens'
>;

/**
 * What a chat was charged by class of tokens, at the prices of its time: those of the present catalog without what the audit log says was changed
 * since. Null if they do not explain the charge to the credit, so that no wrong price is ever shown.
 */
export function priceOfChat({ chat, entry, changes, rules }: ChargedChat): PriceLine[] | null {
  const { input_tokens: input, output_tokens: output } = chat;
  const { charged, reserved } = chat.credits;
  const pricing = pricingBefore(chat.model, entry.model.pricing, changes);
  if (input === null || output === null || charged === 0 || pricing === null) return null;
  const underPlan = entryUnderPlan({ ...entry, model: { ...entry.model, pricing } as CatalogEntry['model'] }, rules)
    .model.pricing;
  const usage = {
    input,
    output,
    cached: chat.cached_input_tokens ?? 0,
    cacheWrite: chat.cache_write_tokens ?? 0,
    cacheWrite1h: chat.cache_write_1h_tokens ?? 0,
    reasoning: chat.reasoning_tokens ?? 0,
  };
  // A charge never exceeds its hold.
  if (Math.min(chatCredits(underPlan, usage), reserved) !== charged) return null;
  return linesOf(underPlan, usage, charged);
}

function linesOf(pricing: ChatPricing, usage: Parameters<typeof chatCredits>[1], charged: number): PriceLine[] {
  const { minimum, ...details } = costDetails(pricing, usage, charged);
  const tokens = tokensByClass(usage);
  const prices = classPrices(pricing, usage.input);
  const lines = tokenClasses.flatMap((of): PriceLine[] => {
    if (tokens[of] === 0n) return [];
    const isShared = of === 'cache_write_1h' && tokens.cache_write > 0n;
    const credits = isShared ? null : details[of === 'cache_write_1h' ? 'cache_write' : of];
    return [{ of, tokens: Number(tokens[of]), price: prices[priceMemberOf(of)], credits }];
  });
  return minimum === undefined ? lines : [...lines, { of: 'minimum', tokens: null, price: null, credits: minimum }];
}

/** The prices of a model before these changes of the catalog. Null if the log does not have all of them. */
function pricingBefore(model: string, present: ChatPricing, changes: ChargedChat['changes']): ChatPricing | null {
  let pricing: Record<string, unknown> = structuredClone({ ...present });
  for (const { before, detail } of [...changes].sort((a, b) => b.id - a.id)) {
    if (detail['members_omitted'] !== undefined) return null;
    for (const [name, value] of Object.entries(before ?? {})) {
      // The whole model was added or removed.
      if (name === model && value === null) return null;
      if (name === model) pricing = structuredClone((value as { pricing: Record<string, unknown> }).pricing);
      if (name.startsWith(`${model} pricing.`)) put(pricing, name.slice(model.length + 9).split('.'), value);
    }
  }
  return pricing as unknown as ChatPricing;
}

function put(within: Record<string, unknown>, [name = '', ...inner]: string[], value: unknown): void {
  if (inner.length === 0) {
    if (value === null) delete within[name];
    else within[name] = value;
    return;
  }
  within[name] ??= {};
  put(within[name] as Record<string, unknown>, inner, value);
}
