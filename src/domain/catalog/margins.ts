import type { CatalogEntry, UpstreamMapping } from './catalog.ts';
import type { TokenRates, UpstreamCost } from './cost-schema.ts';
import type { JsonObject } from '../json.ts';
import { isOffered } from './model-list.ts';
import { offeredCombinations } from '../tasks/offered-combinations.ts';
import { conditionsOf, mediaCredits } from '../ledger/pricing.ts';
import { isOutputClass, tokenClasses, type TokenClass } from './token-classes.ts';
import { classPrices, type TieredPrices } from './token-prices.ts';
import { costRules, everyRate, mediaCost, ratesFor, tokenRates } from './upstream-cost.ts';

/** What the operator earns with one request at one family, or with 1,000 tokens of a chat. Amounts are in micro-USD. */
export interface Margin {
  /** By cost, or by price where all cost the same, among all requests of the same `unit`. `minimum`: a chat so short that its client pays the minimum. */
  request: 'cheapest' | 'dearest' | 'minimum';
  unit: 'request' | '1,000 input tokens' | '1,000 output tokens';
  /** Null for the minimum of a chat, which no family decides. */
  family: string | null;
  /** The parameters of a media request that its price and its cost depend on. For a chat, the kind of token. */
  combination: JsonObject;
  credits: number;
  price: number;
  cost: number;
  margin: number;
}

export interface ModelMargins {
  margins: Margin[];
  /** For each family and unit, the request that loses most, unless the catalog says why it may. */
  losses: Margin[];
}

/**
 * The margins of a model's cheapest and dearest request over all mappings that offer it, and its losses, with a credit worth
 * `creditValue` micro-USD. The entry must have been checked by the loader. A model that is not on offer has no losses.
 */
export function modelMargins(entry: CatalogEntry, creditValue: number): ModelMargins {
  const isChat = entry.model.type === 'chat';
  const families = Object.entries(entry.private.upstream).map(([family, mapping]) => ({
    mapping,
    all: (isChat ? chatMargins : mediaMargins)(entry, family, mapping, creditValue),
  }));
  const all = families.flatMap((each) => each.all);
  const margins = units.flatMap((unit) => cheapestAndDearest(all.filter((each) => each.unit === unit)));
  if (isChat) margins.push(minimumOf(entry, creditValue));
  const mayLose = entry.private.loss_ok !== undefined || !isOffered(entry);
  const losses = families
    .filter(({ mapping }) => !mayLose && mapping.loss_ok === undefined)
    .flatMap((each) => units.flatMap((unit) => worstOf(each.all, unit)))
    .filter(({ margin }) => margin < 0);
  return { margins, losses };
}

const units = ['request', '1,000 input tokens', '1,000 output tokens'] as const;

/** The parameters and inputs that the price or the cost of a media request depends on. */
export const pricedKeys = ({ model }: CatalogEntry, { cost }: Pick<UpstreamMapping, 'cost'>): string[] => [
  ...(model.parameters.pricingRules ?? []).flatMap(({ match }) => conditionsOf(match).map(({ key }) => key)),
  ...costKeys(cost),
];

/** The parameters and inputs that the cost of a media request depends on. */
export const costKeys = (cost: UpstreamCost): string[] =>
  costRules(cost).flatMap(({ when, per_second: perSecond, per_image: perImage }) => [
    ...Object.keys(when ?? {}),
    ...(perSecond === undefined ? [] : ['duration']),
    ...(perImage === undefined ? [] : ['n']),
  ]);

function mediaMargins(entry: CatalogEntry, family: string, mapping: UpstreamMapping, creditValue: number): Margin[] {
  const combinations = offeredCombinations(entry, mapping, pricedKeys(entry, mapping)) ?? [];
  return combinations.map((combination) => {
    const price = priceOf(mediaCredits(entry.model, combination), creditValue);
    return marginOf({
      unit: 'request',
      family,
      combination,
      ...price,
      cost: mediaCost(mapping.cost, combination),
    });
  });
}

function chatMargins(entry: CatalogEntry, family: string, mapping: UpstreamMapping, creditValue: number): Margin[] {
  const { pricing } = entry.model;
  const context = entry.private.context_tokens ?? Infinity;
  const tiers = new Set([
    ...tokenRates(mapping.cost).map(({ above_input_tokens: above }) => above),
    ...(pricing.long_input ? [pricing.long_input.above_tokens] : []),
  ]);
  return [...tiers]
    .filter((above = 0) => above < context)
    .flatMap((above) => {
      const inputTokens = above === undefined ? 0 : above + 1;
      const rates = ratesFor(mapping.cost, inputTokens);
      if (rates === undefined) return [];
      const prices = classPrices(pricing, inputTokens);
      return classesOf(pricing, rates).map((tokens) => {
        return marginOf({
          unit: isOutputClass(tokens) ? '1,000 output tokens' : '1,000 input tokens',
          family,
          combination: { tokens, ...(above !== undefined && { above_input_tokens: above }) },
          ...priceOf(prices[`credits_per_1k_${tokens}_tokens`], creditValue),
          cost: Math.ceil(everyRate(rates)[tokens] / 1_000),
        });
      });
    });
}

/** The classes of tokens with a price or a cost of their own. */
const classesOf = (pricing: TieredPrices, rates: TokenRates): TokenClass[] =>
  tokenClasses.filter((tokens) => {
    const member = `credits_per_1k_${tokens}_tokens` as const;
    return rates[tokens] !== undefined || pricing[member] !== undefined || pricing.long_input?.[member] !== undefined;
  });

const minimumOf = ({ model: { pricing } }: CatalogEntry, creditValue: number): Margin => ({
  ...marginOf({
    unit: 'request',
    family: null,
    combination: {},
    ...priceOf(pricing.min_credits_per_request, creditValue),
    cost: 0,
  }),
  request: 'minimum',
});

const priceOf = (credits: number, creditValue: number) => ({ credits, price: credits * creditValue });

const marginOf = (about: Omit<Margin, 'request' | 'margin'>): Margin => ({
  request: 'dearest',
  ...about,
  margin: about.price - about.cost,
});

/** By cost: of those that cost the same, the one that earns least. Where all cost the same, their prices tell them apart. */
function cheapestAndDearest(all: readonly Margin[]): Margin[] {
  const sorted = all.toSorted((a, b) => a.cost - b.cost || a.price - b.price);
  const [first, last] = [sorted[0], sorted.at(-1)];
  const dearest = sorted.find(
    ({ cost, price }) => cost === last?.cost && (cost !== first?.cost || price === last.price),
  );
  return first && dearest
    ? [
        { ...first, request: 'cheapest' },
        { ...dearest, request: 'dearest' },
      ]
    : [];
}

/** The request of this unit that earns least, if there is one. */
const worstOf = (all: readonly Margin[], unit: Margin['unit']): Margin[] =>
  all
    .filter((each) => each.unit === unit)
    .sort((a, b) => a.margin - b.margin)
    .slice(0, 1);
