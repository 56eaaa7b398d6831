import type { CatalogEntry } from '../catalog/catalog.ts';
import { coversPattern, namesModel, readModelPattern } from './model-pattern.ts';
import type { PlanRule } from './plan.ts';
import { planRuleOf, pricesOfUnit } from './price-under-plan.ts';

/** A rule that decides no price, by its number from 1 on, and why, as a sentence. */
export interface UnusedRule {
  rule: number;
  reason: 'earlier_rule' | 'no_model' | 'no_price';
  message: string;
}

/** The rules of a plan that can never decide, or that decide nothing in this catalog. */
export const unusedRules = (rules: readonly PlanRule[], entries: readonly CatalogEntry[]): UnusedRule[] =>
  rules.flatMap((_rule, index) => whyUnused(rules, index, entries) ?? []);

function whyUnused(
  rules: readonly PlanRule[],
  index: number,
  entries: readonly CatalogEntry[],
): UnusedRule | undefined {
  const rule = rules[index];
  if (rule === undefined) return undefined;
  const unused = (reason: UnusedRule['reason'], message: string) => ({ rule: index + 1, reason, message });
  const name = `Rule ${index + 1} (${rule.models})`;
  const earlier = rules.slice(0, index);
  const covering = earlier.findIndex(({ models }) => coversPattern(models, rule.models));
  if (covering >= 0)
    return unused(
      'earlier_rule',
      `${name} can never match: rule ${covering + 1} (${earlier[covering]?.models}) matches all of it first.`,
    );
  const named = entries.filter(({ model }) => namesModel(rule.models, model));
  if (named.length === 0)
    return unused('no_model', `${name} matches no model of the catalog.${hint(rule.models, entries)}`);
  const left = named.filter(({ model }) => planRuleOf(rules, model) === rule);
  if (left.length === 0) {
    const takers = earlier.flatMap((each, at) =>
      named.some(({ model }) => namesModel(each.models, model)) ? [at + 1] : [],
    );
    return unused(
      'earlier_rule',
      `${name} can never match: the rules before it (${takers.join(', ')}) match all of its models first.`,
    );
  }
  const changesNone =
    'prices' in rule &&
    left.every(({ model }) => Object.keys(pricesOfUnit(model.pricing.unit, rule.prices)).length === 0);
  return changesNone ? unused('no_price', `${name} has no price that its models use.`) : undefined;
}

/** A word that names no model may be meant as a group or a vendor. */
function hint(models: string, entries: readonly CatalogEntry[]): string {
  const { kind, glob } = readModelPattern(models);
  if (kind !== 'id') return '';
  const prefix = (['group', 'vendor'] as const).find((word) =>
    entries.some(({ model }) => namesModel(`${word}:${glob}`, model)),
  );
  return prefix === undefined ? '' : ` Write ${prefix}:${glob} for the ${prefix}.`;
}
