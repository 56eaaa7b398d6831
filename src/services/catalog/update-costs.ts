import { isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';
import type { ComparedMapping, ComparedPrice } from '../../domain/catalog/price-comparison.ts';
import { readCatalog, yamlOptions, type CatalogText } from './load-catalog.ts';
import { applyEdits, modelNodes, nodeOf, setMembers, type TextEdit } from './price-edits.ts';

/** The texts of a catalog with new costs. */
export interface UpdatedCosts {
  texts: readonly CatalogText[];
  /** The mappings whose every different cost was updated, as `model family`. */
  updated: ReadonlySet<string>;
}

export const mappingId = ({ model, family }: Pick<ComparedMapping, 'model' | 'family'>): string => `${model} ${family}`;

/**
 * Sets the costs that differ from a price list to the listed ones, and where and when they were read (`verified`). A mapping that says why it
 * differs keeps its cost. So does one whose prices the list has for other limits of input, or for which parameters it does not say. Throws
 * `CatalogError` if the catalog would be invalid.
 */
export function updateCosts(
  texts: readonly CatalogText[],
  { mappings, list, on }: { mappings: readonly ComparedMapping[]; list: string; on: string },
): UpdatedCosts {
  const differing = mappings.filter(({ status }) => status === 'differs');
  const updated = new Set<string>();
  const edited = texts.map(({ file, text }) => {
    const items = modelNodes(parseDocument(text, yamlOptions).contents);
    const edits = differing.flatMap((mapping) => {
      const item = items.find((each) => each.get('id') === mapping.model);
      const own = item && mappingNode(item, mapping.family);
      const costs = own ? costEdits(text, own, mapping.prices) : null;
      if (!own || costs === null) return [];
      updated.add(mappingId(mapping));
      const source = `${list}${mapping.source === undefined ? '' : `, from ${mapping.source}`}`;
      return [...costs, ...setMembers(text, own, { verified: { source, on } })];
    });
    return { file, text: applyEdits(text, edits) };
  });
  readCatalog(edited);
  return { texts: edited, updated };
}

function mappingNode(item: YAMLMap, family: string): YAMLMap | undefined {
  let node: ReturnType<typeof nodeOf> = item;
  for (const key of ['private', 'upstream', family]) node = isMap(node) ? nodeOf(node, key) : undefined;
  return isMap(node) ? node : undefined;
}

/** Null if a cost that differs has no single place in the catalog. */
function costEdits(text: string, mapping: YAMLMap, prices: readonly ComparedPrice[]): TextEdit[] | null {
  const edits: TextEdit[] = [];
  for (const { differs, listed, rate } of prices) {
    if (!differs) continue;
    const cost = nodeOf(mapping, 'cost');
    const node = rate.kind === 'token' ? tierOf(cost, rate.above) : onlyRule(cost, rate.member);
    if (node === undefined) return null;
    edits.push(...setMembers(text, node, { [rate.member]: Math.round(listed) }));
  }
  return edits;
}

/** The prices of inputs above a limit; those of all other inputs for 0. */
function tierOf(cost: ReturnType<typeof nodeOf>, above: number): YAMLMap | undefined {
  const tiers = isMap(cost) ? nodeOf(cost, 'per_million') : undefined;
  const all = isMap(tiers) ? [tiers] : isSeq(tiers) ? tiers.items.filter(isMap) : [];
  return all.find((tier) => (tier.get('above_input_tokens') ?? 0) === above);
}

/** The cost of a mapping whose requests all cost the same, if it is in this unit. */
function onlyRule(cost: ReturnType<typeof nodeOf>, member: string): YAMLMap | undefined {
  const rules = isSeq(cost) ? cost.items.filter(isMap) : isMap(cost) ? [cost] : [];
  const [rule] = rules;
  return rules.length === 1 && rule?.has(member) === true ? rule : undefined;
}
