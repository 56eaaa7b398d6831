import type { CatalogEntry } from '../../../domain/catalog/catalog.ts';
import { classPriceMembers } from '../../../domain/catalog/token-prices.ts';
import type { Findings } from './findings.ts';
import { checkPricingRules } from './pricing-rules.ts';

/** Checks that an image or video model has prices per request and no member of chat models. */
export function checkMedia(entry: CatalogEntry, findings: Findings): void {
  const { problem } = findings;
  const { pricing, parameters } = entry.model;
  if (pricing.unit !== 'request') problem('pricing.unit', 'must be request for image and video models');
  if (pricing.credits_per_1k_input_tokens !== 0 || pricing.credits_per_1k_output_tokens !== 0) {
    problem('pricing', 'token prices must be 0 when the unit is request');
  }
  for (const member of [...classPriceMembers, 'long_input'] as const) {
    if (pricing[member] !== undefined) problem(`pricing.${member}`, 'belongs to chat models');
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
