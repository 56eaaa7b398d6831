import { dearestRates, longInputFrom } from '../../../../src/domain/catalog/chat-prices.ts';
import { modelMargins } from '../../../../src/domain/catalog/margins.ts';
import { costedRequests, type CostedRequest } from '../../../../src/domain/catalog/media-prices.ts';
import { tokenClasses, tokenClassTable, type TokenClass } from '../../../../src/domain/catalog/token-classes.ts';
import { conditionsOf, decidingRule } from '../../../../src/domain/ledger/pricing.ts';
import type { CatalogEntry, Channel } from '../../api/admin-types.ts';
import { creditValue, number, words } from '../../ui/format.ts';
import { entryOfRules } from './entry-of-rules.ts';

/** One price of a model, and what its request costs where it is dearest. */
export interface PriceField {
  label: string;
  /** Where it stands in the entry. */
  path: readonly (string | number)[];
  /** Undefined where the price is that of another field. */
  credits: number | undefined;
  /** What counts while `credits` is undefined. */
  inherited: number | null;
  least: number;
  /** Millionths of a dollar; null if nothing is known. */
  cost: number | null;
  family: string | null;
}

/** The families by which these channels serve a model now; all of its families if none does. */
export function servingFamilies(entry: CatalogEntry, channels: readonly Channel[]): string[] {
  const { groups, upstream } = entry.private;
  const serving = channels.filter(
    (channel) => channel.enabled && channel.groups.some((group) => groups.includes(group)),
  );
  const families = Object.keys(upstream);
  const served = families.filter((family) => serving.some(({ adapter }) => adapter === family));
  return served.length > 0 ? served : families;
}

/** The entry as if it were sold at these families alone. */
const atFamilies = (entry: CatalogEntry, families: readonly string[]): CatalogEntry => ({
  ...entry,
  private: {
    ...entry.private,
    upstream: Object.fromEntries(
      Object.entries(entry.private.upstream).filter(([family]) => families.includes(family)),
    ),
  },
});

/** The smallest margin of any request of a model at one family, as a share of the price; null if it is free or unknown. */
export function worstShareAt(entry: CatalogEntry, family: string): number | null {
  const { margins } = modelMargins(entryOfRules(atFamilies(entry, [family])), creditValue());
  const shares = margins
    .filter(({ price, request }) => price > 0 && request !== 'minimum')
    .map(({ margin, price }) => margin / price);
  return shares.length === 0 ? null : Math.min(...shares);
}

/** Every price of a model, with its cost at the dearest of these families. */
export function priceFields(entry: CatalogEntry, families: readonly string[]): PriceField[] {
  const dear = atFamilies(entry, families);
  try {
    return entry.type === 'chat' ? chatFields(entry, dear) : mediaFields(entry, dear);
  } catch {
    // JSON that the person is still writing may lack what the costs are computed from. The check says what is wrong.
    return [];
  }
}

function chatFields({ pricing }: CatalogEntry, dear: CatalogEntry): PriceField[] {
  const tiers = [
    { path: ['pricing'], prices: pricing, input: 'usual', where: '' },
    ...(pricing.long_input
      ? [{ path: ['pricing', 'long_input'], prices: pricing.long_input, input: 'long', where: ', long input' } as const]
      : []),
  ] as const;
  const rules = entryOfRules(dear);
  const fields = tiers.flatMap(({ path, prices, input, where }) => {
    const rates = dearestRates(rules, input === 'long' && longInputFrom(rules) !== undefined ? 'long' : 'usual');
    return tokenClasses.map((tokens): PriceField => {
      const { plain } = tokenClassTable[tokens];
      const { cost, family } = rates[tokens];
      const usual = input === 'long' ? pricing[memberOf(tokens)] : undefined;
      const inherited =
        plain === null ? (usual ?? null) : (usual ?? prices[memberOf(plain)] ?? pricing[memberOf(plain)] ?? null);
      return {
        label: `${tokenClassTable[tokens].label}${where}`,
        path: [...path, memberOf(tokens)],
        credits: prices[memberOf(tokens)],
        inherited,
        least: plain === null ? 1 : 0,
        cost: cost / 1_000,
        family: family === '' ? null : family,
      };
    });
  });
  return [...fields, { ...minimum, credits: pricing.min_credits_per_request }];
}

const minimum: Omit<PriceField, 'credits'> = {
  label: 'Least price of a chat',
  path: ['pricing', 'min_credits_per_request'],
  inherited: null,
  least: 1,
  cost: null,
  family: null,
};

const memberOf = (tokens: TokenClass) => `credits_per_1k_${tokens}_tokens` as const;

function mediaFields({ pricing, parameters }: CatalogEntry, dear: CatalogEntry): PriceField[] {
  const rules = parameters.pricingRules ?? [];
  const keys = rules.flatMap(({ match }) => conditionsOf(match).map(({ key }) => key));
  const requests = costedRequests(entryOfRules(dear), keys) ?? [];
  const dearest = (of: readonly CostedRequest[]) => {
    const [most] = of.toSorted((one, other) => other.cost - one.cost);
    return { inherited: null, least: 1, cost: most?.cost ?? null, family: most?.family ?? null };
  };
  if (rules.length === 0)
    return [
      {
        label: 'A request',
        path: ['pricing', 'credits_per_request'],
        credits: pricing.credits_per_request,
        ...dearest(requests),
      },
    ];
  return rules.map((rule, index) => ({
    label: conditionsOf(rule.match)
      .map(({ key, value }) => conditionText(key, value))
      .join(', '),
    path: ['parameters', 'pricingRules', index, 'credits'],
    credits: rule.credits,
    ...dearest(requests.filter(({ request }) => decidingRule(rules, request) === rule)),
  }));
}

/** What a price or a cost depends on: `Img size 2k`, for an input `With image`, for a chat `Cached input, above 272,000 tokens of input`. */
export const conditionsText = (combination: Readonly<Record<string, unknown>>): string =>
  Object.entries(combination)
    .map(([key, value]) => conditionText(key, value))
    .join(', ');

function conditionText(key: string, value: unknown): string {
  if (key === 'tokens') return tokenClassTable[value as TokenClass].label;
  if (typeof value === 'boolean') return `${value ? 'With' : 'Without'} ${words(key).toLowerCase()}`;
  const shown = typeof value === 'number' ? number(value) : String(value);
  return key === 'above_input_tokens' ? `above ${shown} tokens of input` : `${words(key)} ${shown}`;
}

/** The entry with a price; undefined removes it. The flat prices of a media model follow its rules. */
export function withPrice(entry: CatalogEntry, path: PriceField['path'], credits: number | undefined): CatalogEntry {
  const next = withValue(entry, path, credits) as CatalogEntry;
  if (next.type === 'chat') return next;
  const rules = next.parameters.pricingRules ?? [];
  const lowest = rules.length > 0 ? Math.min(...rules.map((rule) => rule.credits)) : next.pricing.credits_per_request;
  return { ...next, pricing: { ...next.pricing, credits_per_request: lowest, min_credits_per_request: lowest } };
}

function withValue(target: unknown, [first, ...rest]: PriceField['path'], value: unknown): unknown {
  if (first === undefined) return value;
  if (Array.isArray(target))
    return target.map((item: unknown, index) => (index === first ? withValue(item, rest, value) : item));
  const { [first]: present, ...others } = (target ?? {}) as Record<string | number, unknown>;
  const changed = withValue(present, rest, value);
  return changed === undefined ? others : { ...others, [first]: changed };
}
