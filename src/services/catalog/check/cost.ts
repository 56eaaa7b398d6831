import type { CatalogEntry, UpstreamMapping } from '../../../domain/catalog/catalog.ts';
import { pricedKeys } from '../../../domain/catalog/margins.ts';
import {
  combinationsMax,
  describeCombination,
  offeredCombinations,
} from '../../../domain/tasks/offered-combinations.ts';
import { acceptedParameters } from '../../../domain/catalog/parameters.ts';
import { meets } from '../../../domain/catalog/request-condition.ts';
import { costRules, tokenRates } from '../../../domain/catalog/upstream-cost.ts';
import { checkCondition } from './condition.ts';
import type { Findings } from './findings.ts';

/** Checks that every request that a family offers has a cost, and that no rule is without a request. */
export function checkCost(entry: CatalogEntry, mapping: UpstreamMapping, path: string, findings: Findings): void {
  const at = `${path}.cost`;
  const rules = costRules(mapping.cost);
  if (entry.model.type === 'chat') {
    if (tokenRates(mapping.cost).length === 0) findings.problem(at, 'must be per_million for chat models');
    return;
  }
  if (rules.length === 0) {
    findings.problem(at, 'must be per_request, per_second or per_image for image and video models');
    return;
  }
  const isFine = rules.map(({ when = {} }, index) => checkCondition(entry, when, `${at}.${index}.when`, findings));
  if (rules.some(({ per_second: perSecond }) => perSecond !== undefined)) checkDuration(entry, at, findings);
  if (isFine.includes(false)) return;

  const combinations = offeredCombinations(entry, mapping, pricedKeys(entry, mapping));
  if (combinations === null) {
    findings.problem(at, `depends on parameters with more than ${combinationsMax} combinations of values`);
    return;
  }
  const used = combinations.map((combination) => rules.findIndex(({ when }) => meets(when, combination)));
  const first = combinations[used.indexOf(-1)];
  if (first !== undefined) {
    const count = used.filter((index) => index === -1).length;
    const others = count > 1 ? ` and for ${count - 1} more` : '';
    findings.problem(at, `has no rule for ${describeCombination(first)}${others}`);
  }
  rules.forEach((_, index) => {
    if (!used.includes(index)) findings.warn(`${at}.${index}`, 'is the cost of no request that the family offers');
  });
}

function checkDuration(entry: CatalogEntry, at: string, { problem }: Findings): void {
  const duration = acceptedParameters(entry).get('duration');
  if (duration?.default !== undefined) return;
  problem(at, 'is per_second, so duration must be a parameter with a default');
}
