import { valuesMax, type CatalogEntry } from '../../../domain/catalog/catalog.ts';
import type { PricingRule } from '../../../domain/catalog/price-schema.ts';
import { acceptedParameters, listValues } from '../../../domain/catalog/parameters.ts';
import type { ParameterValue } from '../../../domain/catalog/parameter-value.ts';
import { conditionsOf, decidingRule } from '../../../domain/ledger/pricing.ts';
import {
  combinationsMax,
  describeCombination,
  offeredCombinations,
} from '../../../domain/tasks/offered-combinations.ts';
import { checkCondition } from './condition.ts';
import { quotedList, refuseDuplicates, type Findings } from './findings.ts';

const path = 'parameters.pricingRules';

/** Checks that every accepted combination has a price, no value two of them, and that the flat prices equal the lowest rule. */
export function checkPricingRules(entry: CatalogEntry, findings: Findings): void {
  const { problem, warn } = findings;
  const { pricing, parameters } = entry.model;
  const rules = parameters.pricingRules ?? [];
  const [first] = rules;
  if (first === undefined) {
    if (pricing.min_credits_per_request > pricing.credits_per_request) {
      problem('pricing.min_credits_per_request', 'must not be above credits_per_request');
    }
    return;
  }
  const ruleKey = first.match.key;
  if (rules.some(({ match }) => match.key !== ruleKey)) {
    problem(path, 'must all match on one key');
    return;
  }
  const taken = acceptedParameters(entry).get(ruleKey);
  const values = taken === undefined ? undefined : listValues(taken, valuesMax);
  if (taken === undefined || values === undefined) {
    problem(
      path,
      `match on ${ruleKey}, which must have a top-level array or a descriptor with at most ${valuesMax} values`,
    );
    return;
  }
  if (taken.default === undefined) {
    problem(
      path,
      `match on ${ruleKey}, so its descriptor must have a default, because a request without ${ruleKey} needs a price`,
    );
  }
  if (!checkFurtherConditions(entry, rules, findings)) return;
  for (const value of values) checkValue(entry, value, rules, findings);
  const unused = new Set(rules.map(({ match }) => match.value).filter((value) => !values.includes(value)));
  if (unused.size > 0) warn(path, `${ruleKey} ${quotedList([...unused])} has a price but is not accepted`);
  const lowest = Math.min(...rules.map(({ credits }) => credits));
  for (const member of ['credits_per_request', 'min_credits_per_request'] as const) {
    if (pricing[member] !== lowest) problem(`pricing.${member}`, `must equal the lowest rule, ${lowest}`);
  }
}

/** Checks that the conditions beside the first one ask only for what the model accepts; false if they do not. */
function checkFurtherConditions(entry: CatalogEntry, rules: readonly PricingRule[], findings: Findings): boolean {
  return rules
    .map(({ match }, index) => {
      const at = `${path}.${index}.match.all`;
      const keys = [match.key, ...(match.all ?? []).map(({ key }) => key)];
      refuseDuplicates(keys, at, findings);
      const further = Object.fromEntries((match.all ?? []).map(({ key, value }) => [key, value]));
      return new Set(keys).size === keys.length && checkCondition(entry, further, at, findings);
    })
    .every(Boolean);
}

/** A value has one rule of its own, or rules with further conditions that cover every combination. */
function checkValue(
  entry: CatalogEntry,
  value: ParameterValue,
  rules: readonly PricingRule[],
  { problem, warn }: Findings,
): void {
  const ofValue = rules.filter(({ match }) => match.value === value);
  const own = ofValue.filter(({ match }) => match.all === undefined);
  const key = rules[0]?.match.key ?? '';
  const [plain] = own;
  if (own.length > 1 || ofValue.length === 0)
    problem(path, `must have exactly one rule for ${key} ${JSON.stringify(value)}, not ${own.length}`);
  for (const { match, credits } of ofValue) {
    if (plain && credits > plain.credits)
      warn(path, `${describeRule(match)} costs ${credits} credits, more than the ${plain.credits} of ${key} alone`);
  }
  if (plain || ofValue.length === 0) return;
  const keys = ofValue.flatMap(({ match }) => (match.all ?? []).map((condition) => condition.key));
  const combinations = offeredCombinations(entry, { only: { [key]: [value] } }, [key, ...keys]);
  const uncovered = combinations?.find((combination) => decidingRule(ofValue, combination) === undefined);
  if (combinations === null)
    problem(path, `depend on parameters with more than ${combinationsMax} combinations of values`);
  else if (uncovered) problem(path, `must have a rule for ${describeCombination(uncovered)}`);
}

const describeRule = (match: PricingRule['match']): string =>
  conditionsOf(match)
    .map(({ key, value }) => `${key} ${JSON.stringify(value)}`)
    .join(', ');
