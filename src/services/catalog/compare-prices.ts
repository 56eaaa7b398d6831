import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { z } from 'zod';
import { comparePrices, type ComparedMapping } from '../../domain/catalog/price-comparison.ts';
import { OperatorError } from '../operator-error.ts';
import { readCatalog, readCatalogFiles } from './load-catalog.ts';
import { replaceFiles } from './reprice-files.ts';
import { updateCosts } from './update-costs.ts';

export interface PriceComparison {
  mappings: ComparedMapping[];
  /** The mappings whose costs are as listed now, as `mappingId` names them. Empty unless costs are to be updated. */
  updated: ReadonlySet<string>;
  /** The files that were changed. */
  files: string[];
}

/**
 * Compares the costs of a catalog with LiteLLM's `model_prices_and_context_window.json`. With `on`, the day of today, it sets those that differ
 * to the listed ones, each with its evidence and that day. Throws `CatalogError` for an invalid catalog, `OperatorError` for a file that is not
 * such a list, or the file system's own error; then no file has changed.
 */
export async function compareWithPriceList({
  catalog,
  prices,
  on = null,
}: {
  catalog: string;
  prices: string;
  on?: string | null;
}): Promise<PriceComparison> {
  const texts = await readCatalogFiles(catalog);
  const { entries } = readCatalog(texts);
  const content = await buffer(createReadStream(prices, { end: pricesBytesMax }));
  if (content.length > pricesBytesMax) throw new OperatorError(`${prices} has more than ${pricesBytesMax} bytes.`);
  const list = PriceFile.safeParse(content.toString('utf8'));
  if (!list.success) throw new OperatorError(`${prices} is not a JSON object with the prices of each model.`);
  const mappings = comparePrices(entries, list.data);
  if (on === null) return { mappings, updated: new Set(), files: [] };
  const edited = updateCosts(texts, { mappings, list: `LiteLLM's ${basename(prices)}`, on });
  const changed = edited.texts.filter(({ text }, index) => text !== texts[index]?.text);
  await replaceFiles(changed);
  return { mappings, updated: edited.updated, files: changed.flatMap(({ file }) => file ?? []) };
}

/** The list had 1.7 MB in November 2026. */
const pricesBytesMax = 20_000_000;

const PriceFile = z
  .string()
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      context.addIssue('is not JSON');
      return z.NEVER;
    }
  })
  .pipe(z.record(z.string(), z.record(z.string(), z.unknown())));
