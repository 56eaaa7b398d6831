import type { CatalogEntry } from '../../../domain/catalog/catalog.ts';
import { acceptedParameters, listValues } from '../../../domain/catalog/parameters.ts';
import { valuesMax } from '../catalog-file-entry.ts';
import { quoted, type Findings } from './findings.ts';

/** Checks that an image or video model has prices per request and no member of chat models. */
export function checkMedia(entry: CatalogEntry, findings: Findings): void {
  const { problem } = findings;
  const { pricing, parameters } = entry.model;
  if (pricing.unit !== 'request') problem('pricing.unit', 'must be request for image and video models');
  if (pricing.credits_per_1k_input_tokens !== 0 || pricing.credits_per_1k_output_tokens !== 0) {
    problem('pricing', 'token prices must be 0 when the unit is request');
  }
  if (parameters.prompt !== true)
    problem('parameters.prompt', 'must be true, because every media request has a prompt');
  for (const flagKey of ['messages', 'stream', 'temperature', 'max_tokens'] as const) {
    if (parameters[flagKey] === true) problem(`parameters.${flagKey}`, 'belongs to chat models');
  }
  if ((parameters.reference_images === true) !== entry.private.reference_images_max > 0) {
    problem('private.reference_images_max', 'must be at least 1 if and only if reference_images is true');
  }
  checkPricingRules(entry, findings);
}

/** Checks that every accepted value has exactly one price, and that the flat prices equal the lowest rule. */
function checkPricingRules(entry: CatalogEntry, { problem, warn }: Findings): void {
  const { pricing, parameters } = entry.model;
  const rules = parameters.pricingRules ?? [];
  const [first] = rules;
  if (first === undefined) {
    if (pricing.min_credits_per_request > pricing.credits_per_request) {
      problem('pricing.min_credits_per_request', 'must not be above credits_per_request');
    }
    return;
  }
  const path = 'parameters.pricingRules';
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
  for (const value of values) {
    const count = rules.filter(({ match }) => match.value === value).length;
    if (count !== 1) problem(path, `must have exactly one rule for ${ruleKey} ${JSON.stringify(value)}, not ${count}`);
  }
  const unused = rules.map(({ match }) => match.value).filter((value) => !values.includes(value));
  if (unused.length > 0) warn(path, `${ruleKey} ${quoted(unused)} has a price but is not accepted`);
  const lowest = Math.min(...rules.map(({ credits }) => credits));
  for (const member of ['credits_per_request', 'min_credits_per_request'] as const) {
    if (pricing[member] !== lowest) problem(`pricing.${member}`, `must equal the lowest rule, ${lowest}`);
  }
}
