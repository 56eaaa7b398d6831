import { isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';
import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import { chatPrices } from '../../domain/catalog/chat-prices.ts';
import { mediaPrices } from '../../domain/catalog/media-prices.ts';
import { PriceTooHigh, type PricePolicy } from '../../domain/catalog/price-policy.ts';
import { classPriceMembers, tokenPriceMembers } from '../../domain/catalog/token-prices.ts';
import { OperatorError } from '../operator-error.ts';
import { readCatalog, yamlOptions, type CatalogText } from './load-catalog.ts';
import {
  applyEdits,
  hasMember,
  modelNodes,
  nodeOf,
  prependMember,
  removeMembers,
  setMembers,
  setRules,
  type TextEdit,
} from './price-edits.ts';

/** A catalog before and after it was repriced. */
export interface Repriced {
  before: readonly CatalogEntry[];
  after: readonly CatalogEntry[];
  /** The texts of its files, in the order in which they were given. */
  texts: readonly CatalogText[];
}

/**
 * Writes the prices of a catalog from its costs: those of the family where a class of tokens or a combination of parameters is dearest, times
 * the markup. Everything else in the texts stays as it is, byte for byte. Throws `CatalogError` for an invalid catalog, and `OperatorError` for
 * a price that a catalog may not have and for a model that has too many combinations.
 */
export function repriceCatalog(texts: readonly CatalogText[], policy: PricePolicy): Repriced {
  const { entries } = readCatalog(texts);
  const byId = new Map(entries.map((entry) => [entry.model.id, entry]));
  const repriced = texts.map(({ file, text }) => ({
    file,
    text: applyEdits(
      text,
      modelNodes(parseDocument(text, yamlOptions).contents).flatMap((item) => editsOf(text, item, byId, policy)),
    ),
  }));
  return { before: entries, after: readCatalog(repriced).entries, texts: repriced };
}

function editsOf(
  text: string,
  item: YAMLMap,
  entries: ReadonlyMap<string, CatalogEntry>,
  policy: PricePolicy,
): TextEdit[] {
  const entry = entries.get(String(item.get('id')));
  if (entry === undefined) return [];
  try {
    return entry.model.type === 'chat' ? chatEdits(text, item, entry, policy) : mediaEdits(text, item, entry, policy);
  } catch (error) {
    if (error instanceof PriceTooHigh) throw new OperatorError(`${entry.model.id}: ${error.message}`);
    throw error;
  }
}

function chatEdits(text: string, item: YAMLMap, entry: CatalogEntry, policy: PricePolicy): TextEdit[] {
  const pricing = nodeOf(item, 'pricing');
  if (!isMap(pricing)) return [];
  const { min_credits_per_request: minimum, ...tokens } = chatPrices(entry, policy);
  // An entry that does not say its minimum has the lowest that there is.
  const says = hasMember(pricing, 'min_credits_per_request') || minimum !== 1;
  const members = { ...tokens, ...(says && { min_credits_per_request: minimum }) };
  const former = [...classPriceMembers, 'long_input'].filter((member) => !Object.hasOwn(members, member));
  const long = nodeOf(pricing, 'long_input');
  const formerOfLong = tokenPriceMembers.filter((member) => members.long_input?.[member] === undefined);
  return [
    ...setMembers(text, pricing, members),
    ...removeMembers(text, pricing, former),
    ...(isMap(long) && members.long_input ? removeMembers(text, long, formerOfLong) : []),
  ];
}

function mediaEdits(text: string, item: YAMLMap, entry: CatalogEntry, policy: PricePolicy): TextEdit[] {
  const prices = mediaPrices(entry, policy);
  if (prices === null)
    throw new OperatorError(`${entry.model.id} has no requests, or too many combinations of parameters, to be priced.`);
  const pricing = nodeOf(item, 'pricing');
  const parameters = nodeOf(item, 'parameters');
  if (!isMap(parameters)) return [];
  const rules = nodeOf(parameters, 'pricingRules');
  const kept = (entry.model.parameters.pricingRules ?? []).filter(
    ({ match }) => !prices.rules.some((rule) => rule.match.value === match.value),
  );
  const lowest = prices.credits ?? Math.min(...[...prices.rules, ...kept].map(({ credits }) => credits));
  const flat = ['credits_per_request', 'min_credits_per_request'].filter(
    (member) => isMap(pricing) && hasMember(pricing, member),
  );
  return [
    ...(isMap(pricing) ? setMembers(text, pricing, Object.fromEntries(flat.map((member) => [member, lowest]))) : []),
    ...(isSeq(rules) ? setRules(text, rules, prices.rules) : []),
    ...(rules === undefined && prices.rules.length > 0
      ? [prependMember(text, parameters, 'pricingRules', prices.rules)]
      : []),
  ];
}
