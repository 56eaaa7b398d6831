import type { JsonObject } from '../json.ts';
import { offeredCombinations } from '../tasks/offered-combinations.ts';
import type { CatalogEntry } from './catalog.ts';
import type { PricingRule } from './price-schema.ts';
import { costKeys } from './margins.ts';
import type { ParameterValue } from './parameter-value.ts';
import { acceptedParameters, listValues } from './parameters.ts';
import { priceFor, type PricePolicy } from './price-policy.ts';
import { isInputKey, meets } from './request-condition.ts';
import { mediaCost } from './upstream-cost.ts';

/** A combination of parameters and inputs that a model offers, and what it costs at the family where it is dearest. */
export interface CostedRequest {
  request: JsonObject;
  /** Micro-USD. */
  cost: number;
  family: string;
}

/** The prices of an image or video model: one for all requests, or the rules. */
export type MediaPrices = { credits: number; rules: [] } | { credits: null; rules: PricingRule[] };

/**
 * The prices of an image or video model from its costs. Each value of `img_size` or `duration` has a rule with the price of its dearest request, and
 * further rules for requests that cost much less. A model without such a parameter has the price of its dearest request. Null if the model has
 * more combinations than can be priced.
 */
export function mediaPrices(entry: CatalogEntry, policy: PricePolicy): MediaPrices | null {
  const key = ruleKey(entry);
  const requests = costedRequests(entry, key === undefined ? [] : [key]);
  if (requests === null || requests.length === 0) return null;
  const priced = requests.map(({ request, cost }) => ({ request, credits: atLeast(policy, cost) }));
  const values = key === undefined ? [] : valuesOf(entry, key);
  const rules = values.flatMap((value) => rulesOfValue(entry, { key: key ?? 'duration', value }, priced));
  return rules.length > 0 ? { credits: null, rules } : { credits: highest(priced), rules: [] };
}

/** What a condition can ask of a parameter or an input. */
function valuesOf(entry: CatalogEntry, key: string): ParameterValue[] {
  if (isInputKey(key)) return [true, false];
  const accepted = acceptedParameters(entry).get(key);
  return (accepted && listValues(accepted)) ?? [];
}

const highest = (requests: readonly PricedRequest[]): number => Math.max(...requests.map(({ credits }) => credits));

const atLeast = (policy: PricePolicy, cost: number): number => Math.max(policy.minimum, priceFor(cost, policy));

/**
 * Every combination of what the costs of a model depend on, and of `keys`, with its cost at the family where it is dearest. Null if there are too many.
 */
export function costedRequests(entry: CatalogEntry, keys: readonly string[] = []): CostedRequest[] | null {
  const mappings = Object.entries(entry.private.upstream);
  const all = [...keys, ...mappings.flatMap(([, { cost }]) => costKeys(cost))];
  const dearest = new Map<string, CostedRequest>();
  for (const [family, mapping] of mappings) {
    const combinations = offeredCombinations(entry, mapping, all);
    if (combinations === null) return null;
    for (const request of combinations) {
      const cost = mediaCost(mapping.cost, request);
      const id = JSON.stringify(Object.entries(request).sort(([a], [b]) => (a < b ? -1 : 1)));
      if (cost > (dearest.get(id)?.cost ?? -1)) dearest.set(id, { request, cost, family });
    }
  }
  return [...dearest.values()];
}

/** The parameter that the rules match first: the one that they match now, else one that the costs depend on. */
function ruleKey(entry: CatalogEntry): 'img_size' | 'duration' | undefined {
  const current = entry.model.parameters.pricingRules?.[0]?.match.key;
  const keys = Object.values(entry.private.upstream).flatMap(({ cost }) => costKeys(cost));
  const accepted = acceptedParameters(entry);
  return [
    ...(current ? [current] : []),
    ...(['duration', 'img_size'] as const).filter((key) => keys.includes(key)),
  ].find((key) => {
    const parameter = accepted.get(key);
    return parameter?.default !== undefined && listValues(parameter) !== undefined;
  });
}

interface PricedRequest {
  request: JsonObject;
  credits: number;
}
type Condition = { key: string; value: ParameterValue };

/** The rules of one value: one with the highest price, and below it those of cheaper requests. */
function rulesOfValue(
  entry: CatalogEntry,
  { key, value }: { key: 'img_size' | 'duration'; value: ParameterValue },
  priced: readonly PricedRequest[],
): PricingRule[] {
  const requests = priced.filter(({ request }) => request[key] === value);
  if (requests.length === 0 || typeof value === 'boolean') return [];
  const further = [...new Set(requests.flatMap(({ request }) => Object.keys(request)))].filter((each) => each !== key);
  const choices = further
    .map((each) => [each, valuesOf(entry, each)] as const)
    .filter(([, values]) => values.length > 1);
  const most = highest(requests);
  return [
    { match: { key, value }, credits: most },
    ...cheaperRules(requests, most, new Map(choices)).map(({ conditions, credits }): PricingRule => ({
      match: { key, value, all: conditions },
      credits,
    })),
  ];
}

/** Prices that are this much apart at most count as one, so that a model has few rules. */
const spreadMax = 1.2;

/** So many parameters are tried at each level, so that a model with many is priced soon enough. */
const dividersMax = 4;

interface CheaperRule {
  conditions: Condition[];
  credits: number;
}

/**
 * The fewest rules by which no request is sold for more than `spreadMax` times its own price. Each parameter that divides the requests has rules for its values, and
 * the next parameter divides those further, so that of the rules that a request meets one has the most conditions.
 */
function cheaperRules(
  requests: readonly PricedRequest[],
  inherited: number,
  choices: ReadonlyMap<string, readonly ParameterValue[]>,
): CheaperRule[] {
  const lowest = Math.min(...requests.map(({ credits }) => credits));
  if (inherited <= lowest * spreadMax) return [];
  let best: CheaperRule[] | undefined;
  for (const [key, values] of [...choices].slice(0, dividersMax)) {
    const left = new Map([...choices].filter(([other]) => other !== key));
    const rules = values.flatMap((value): CheaperRule[] => {
      const condition = { key, value };
      const met = requests.filter(({ request }) => meets({ [key]: value }, request));
      if (met.length === 0) return [];
      const own = highest(met);
      const isCheaper = own < inherited;
      const deeper = cheaperRules(met, isCheaper ? own : inherited, left);
      return [
        ...(isCheaper && inherited > Math.min(...met.map(({ credits }) => credits)) * spreadMax
          ? [{ conditions: [condition], credits: own }]
          : []),
        ...deeper.map(({ conditions, credits }) => ({ conditions: [condition, ...conditions], credits })),
      ];
    });
    if (rules.length > 0 && (best === undefined || rules.length < best.length)) best = rules;
  }
  return best ?? [];
}
