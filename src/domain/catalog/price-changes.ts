import { conditionsOf, decidingRule, mediaCredits } from '../ledger/pricing.ts';
import { describeCombination } from '../tasks/offered-combinations.ts';
import type { CatalogEntry } from './catalog.ts';
import type { PricingRule } from './price-schema.ts';
import { dearestRates, longInputFrom } from './chat-prices.ts';
import { costedRequests, type CostedRequest } from './media-prices.ts';
import { tokenClasses } from './token-classes.ts';
import { classPrices } from './token-prices.ts';

/** One price of a model before and after it was repriced, in credits. */
export interface PriceChange {
  model: string;
  /** What is priced: a class of 1,000 tokens, a request, or the shortest chat. */
  item: string;
  /** Where it is dearest; null for the minimum of a chat, which no family decides. */
  family: string | null;
  /** Micro-USD at that family. For 1,000 tokens it may have a fraction. */
  cost: number;
  before: number;
  after: number;
}

/** Every price of a repriced model, with what the same request was sold for before. */
export const priceChanges = (before: CatalogEntry, after: CatalogEntry): PriceChange[] =>
  after.model.type === 'chat' ? chatChanges(before, after) : mediaChanges(before, after);

function chatChanges(before: CatalogEntry, after: CatalogEntry): PriceChange[] {
  const above = longInputFrom(after);
  const tiers = [
    { inputTokens: 0, rates: dearestRates(after, 'usual'), where: '' },
    ...(above === undefined
      ? []
      : [{ inputTokens: above + 1, rates: dearestRates(after, 'long'), where: `, input above ${above}` }]),
  ];
  const tokens = tiers.flatMap(({ inputTokens, rates, where }) => {
    const [were, are] = [classPrices(before.model.pricing, inputTokens), classPrices(after.model.pricing, inputTokens)];
    const hasOwn = (member: keyof typeof are): boolean =>
      [before, after].some(
        ({ model: { pricing } }) => pricing[member] !== undefined || Boolean(pricing.long_input?.[member]),
      );
    return tokenClasses.flatMap((each): PriceChange[] => {
      const member = `credits_per_1k_${each}_tokens` as const;
      if (!hasOwn(member)) return [];
      const { cost, family } = rates[each];
      const item = `1,000 ${each.replaceAll('_', ' ')} tokens${where}`;
      return [{ model: after.model.id, item, family, cost: cost / 1_000, before: were[member], after: are[member] }];
    });
  });
  const minimum = ({ model }: CatalogEntry): number => model.pricing.min_credits_per_request;
  const about = { model: after.model.id, item: 'the shortest chat', family: null, cost: 0 };
  return [...tokens, { ...about, before: minimum(before), after: minimum(after) }];
}

function mediaChanges(before: CatalogEntry, after: CatalogEntry): PriceChange[] {
  const rules = after.model.parameters.pricingRules ?? [];
  const former = before.model.parameters.pricingRules ?? [];
  const keys = [...rules, ...former].flatMap(({ match }) => conditionsOf(match).map(({ key }) => key));
  const requests = costedRequests(after, keys) ?? [];
  const change = (item: string, own: readonly CostedRequest[]): PriceChange[] =>
    own
      .toSorted((one, other) => other.cost - one.cost)
      .slice(0, 1)
      .map(({ request, cost, family }) => ({
        model: after.model.id,
        item,
        family,
        cost,
        before: mediaCredits(before.model, request),
        after: mediaCredits(after.model, request),
      }));
  if (rules.length === 0) return change('1 request', requests);
  return rules.flatMap((rule) =>
    change(
      describeRule(rule),
      requests.filter(({ request }) => decidingRule(rules, request) === rule),
    ),
  );
}

const describeRule = ({ match }: PricingRule): string =>
  conditionsOf(match)
    .map(({ key, value }) => describeCombination({ [key]: value }))
    .join(', ');
