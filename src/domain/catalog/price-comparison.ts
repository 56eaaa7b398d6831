import type { CatalogEntry, UpstreamMapping } from './catalog.ts';
import type { JsonObject } from '../json.ts';
import { pricedKeys } from './margins.ts';
import { offeredCombinations } from '../tasks/offered-combinations.ts';
import { acceptedParameters } from './parameters.ts';
import type { TokenClass } from './token-classes.ts';
import { mediaCost, everyRate, ratesFor, tokenRates } from './upstream-cost.ts';
import { upstreamModel } from './upstream-parameters.ts';

/** A price list in LiteLLM's format: by model, amounts in USD for one token, image or second, among other facts. */
export type PriceList = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export interface ComparedPrice {
  /** What is priced, such as `1,000,000 input tokens` or `1 second`. */
  item: string;
  /** Micro-USD. */
  ours: number;
  /** Micro-USD. */
  listed: number;
  differs: boolean;
  /** Where the cost stands in the mapping: a class of tokens above a limit of input (0: the first prices), or the price of a unit. */
  rate: { kind: 'token'; above: number; member: TokenClass } | { kind: 'unit'; member: 'per_image' | 'per_second' };
}

export interface ComparedMapping {
  model: string;
  family: string;
  /** The key in the list, or null if the list does not have the model. */
  key: string | null;
  /** `explained`: it differs, and the mapping says why (`price_differs`). */
  status: 'equal' | 'differs' | 'explained' | 'unknown' | 'not_comparable';
  why?: string;
  /** Where the list has it from. */
  source?: string;
  prices: ComparedPrice[];
}

/**
 * Compares the cost of every mapping with a price list, except those of retired models. A media mapping is compared by
 * the one of its prices that is nearest.
 */
export const comparePrices = (entries: readonly CatalogEntry[], list: PriceList): ComparedMapping[] =>
  entries
    .filter((entry) => entry.private.retired === undefined)
    .flatMap((entry) =>
      Object.entries(entry.private.upstream).map(([family, mapping]): ComparedMapping => {
        const request = usualRequest(entry);
        const key = keyIn(list, entry, family, mapping, request);
        const listed = key === null ? undefined : list[key];
        const source = listed?.['source'];
        const about = { model: entry.model.id, family, key, ...(typeof source === 'string' && { source }) };
        if (listed === undefined) return { ...about, status: 'unknown', prices: [] };
        const prices = entry.model.type === 'chat' ? chatPairs(mapping, listed) : mediaPairs(entry, mapping, listed);
        if (prices.length === 0) return { ...about, status: 'not_comparable', prices };
        if (!prices.some(({ differs }) => differs)) return { ...about, status: 'equal', prices };
        const why = mapping.price_differs;
        return why === undefined
          ? { ...about, status: 'differs', prices }
          : { ...about, status: 'explained', why, prices };
      }),
    );

/** LiteLLM's names of our adapter families, where they differ. */
const listedFamilies: Readonly<Record<string, string>> = { fal: 'fal_ai' };

/** The list has a model under its provider's name with or without the provider. `price_key` replaces the guess. */
function keyIn(
  list: PriceList,
  { model }: CatalogEntry,
  family: string,
  mapping: UpstreamMapping,
  request: JsonObject,
): string | null {
  const names = new Set([upstreamModel(mapping, request), mapping.model]);
  const guesses = [...names].flatMap((name) => [
    `${listedFamilies[family] ?? family}/${name}`,
    `${model.owned_by}/${name}`,
    name,
  ]);
  const keys = mapping.price_key === undefined ? guesses : [mapping.price_key];
  return keys.find((key) => Object.hasOwn(list, key)) ?? null;
}

const usualRequest = (entry: CatalogEntry): JsonObject =>
  Object.fromEntries(
    [...acceptedParameters(entry)].flatMap(([key, accepted]) =>
      accepted.default === undefined ? [] : [[key, accepted.default]],
    ),
  );

/** The list's fields of a token price. */
const tokenFields: readonly { field: string; member: TokenClass; words: string }[] = [
  { field: 'input_cost_per_token', member: 'input', words: 'input tokens' },
  { field: 'output_cost_per_token', member: 'output', words: 'output tokens' },
  { field: 'cache_read_input_token_cost', member: 'cached_input', words: 'cached input tokens' },
  { field: 'cache_creation_input_token_cost', member: 'cache_write', words: 'input tokens written to the cache' },
  {
    field: 'cache_creation_input_token_cost_above_1hr',
    member: 'cache_write_1h',
    words: 'input tokens written to the cache for an hour',
  },
  { field: 'output_cost_per_reasoning_token', member: 'reasoning', words: 'reasoning tokens' },
];

function chatPairs({ cost }: UpstreamMapping, listed: PriceList[string]): ComparedPrice[] {
  const ownLimits = tokenRates(cost).map(({ above_input_tokens: above }) => above ?? 0);
  const listedLimits = Object.keys(listed).flatMap((name) => {
    const thousands = /^input_cost_per_token_above_(\d+)k_tokens$/.exec(name)?.[1];
    return thousands === undefined ? [] : [Number(thousands) * 1_000];
  });
  const limits = [...new Set([0, ...ownLimits, ...listedLimits])].sort((a, b) => a - b);
  return limits.flatMap((above) => {
    const rates = ratesFor(cost, above + 1);
    // The list gives a limit in thousands, and for the highest that is not above ours.
    const within = listedLimits.filter((limit) => limit <= above);
    const suffix = within.length === 0 ? '' : `_above_${Math.max(...within) / 1_000}k_tokens`;
    return tokenFields.flatMap(({ field, member, words }) => {
      const price = amountIn(listed, `${field}${suffix}`) ?? amountIn(listed, field);
      // Zero there says that the provider has no such price, as the counts of its answers have no such tokens.
      if (price === null || rates === undefined || (price === 0 && field.startsWith('cache_creation'))) return [];
      const where = above === 0 ? '' : `, input above ${above}`;
      const rate = { kind: 'token', above, member } as const;
      return [compared({ item: `1,000,000 ${words}${where}`, rate }, everyRate(rates)[member], price * 1e12)];
    });
  });
}

/** The list has one price of a model and does not say for which parameters, so it is compared with the nearest of ours. */
function mediaPairs(entry: CatalogEntry, mapping: UpstreamMapping, listed: PriceList[string]): ComparedPrice[] {
  const perImage = amountIn(listed, 'output_cost_per_image');
  const perSecond = amountIn(listed, 'output_cost_per_second') ?? amountIn(listed, 'output_cost_per_video_per_second');
  const price = perImage ?? perSecond;
  if (price === null) return [];
  const unit =
    perImage === null
      ? { item: '1 second', key: 'duration', rate: { kind: 'unit', member: 'per_second' } as const }
      : { item: '1 image', key: 'n', rate: { kind: 'unit', member: 'per_image' } as const };
  const combinations = offeredCombinations(entry, mapping, [...pricedKeys(entry, mapping), unit.key]) ?? [];
  return combinations
    .map((combination) => ({
      combination,
      count: Number(combination[unit.key] ?? (unit.key === 'n' ? 1 : NaN)),
    }))
    .filter(({ count }) => count > 0)
    .map(({ combination, count }) =>
      compared({ item: unit.item, rate: unit.rate }, mediaCost(mapping.cost, combination) / count, price * 1e6),
    )
    .sort((one, other) => Math.abs(one.ours - one.listed) - Math.abs(other.ours - other.listed))
    .slice(0, 1);
}

/** Prices are written with few digits, and the list converts some from other units. */
const differenceMax = 0.01;

const compared = (about: Pick<ComparedPrice, 'item' | 'rate'>, ours: number, listed: number): ComparedPrice => ({
  ...about,
  ours,
  // Without the rounding error of 2.5e-07 * 1e12.
  listed: Number(listed.toPrecision(12)),
  differs: Math.abs(ours - listed) > differenceMax * listed,
});

function amountIn(listed: PriceList[string], field: string): number | null {
  const value = listed[field];
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}
