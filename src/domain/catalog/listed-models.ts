import type { CatalogEntry, UpstreamMapping } from './catalog.ts';
import { isOffered } from './model-list.ts';

/** One model of the catalog at the family of a channel that serves it. */
export interface ServedMapping {
  entry: CatalogEntry;
  mapping: UpstreamMapping;
}

/** The mappings of the offered models that a channel of this family and these groups serves. */
export const servedMappings = (
  entries: readonly CatalogEntry[],
  { adapter, groups }: { adapter: string; groups: readonly string[] },
): ServedMapping[] =>
  entries.flatMap((entry) => {
    const mapping = entry.private.upstream[adapter];
    const isServed = isOffered(entry) && entry.private.groups.some((group) => groups.includes(group));
    return mapping && isServed ? [{ entry, mapping }] : [];
  });

/** Every name under which a mapping may request its model, without the paths that depend on the inputs. */
export function upstreamNames({ model, model_by: modelBy }: Pick<UpstreamMapping, 'model' | 'model_by'>): string[] {
  return [...new Set([model, ...Object.values(modelBy?.values ?? {})])];
}

/**
 * The names of a mapping that a provider's list lacks. Providers accept more names than they list: an alias for a dated name
 * (`claude-x` for `claude-x-20261001`), an alias that ends in `latest`, also of a name without a date or version (xAI's `grok-x-latest` for `grok-x`),
 * and a listed name with a variant after a colon.
 */
export const unlistedNames = (
  mapping: Pick<UpstreamMapping, 'model' | 'model_by'>,
  listed: ReadonlySet<string>,
): string[] => upstreamNames(mapping).filter((name) => !isListed(name, listed));

function isListed(name: string, listed: ReadonlySet<string>): boolean {
  if (listed.has(name)) return true;
  const plain = name.replace(/:[^:]*$/, '');
  if (listed.has(plain)) return true;
  const isLatest = plain.endsWith('-latest');
  const model = isLatest ? plain.slice(0, -'-latest'.length) : plain;
  const isVersion = (rest: string): boolean => (isLatest ? /^(?:-|$)/.test(rest) : datePattern.test(rest));
  return [...listed].some((one) => one.startsWith(model) && isVersion(one.slice(model.length)));
}

/** As OpenAI, Anthropic and xAI write the date of a version. */
const datePattern = /^-(?:\d{4}|\d{6}|\d{8}|\d{4}-\d{2}-\d{2})$/;
