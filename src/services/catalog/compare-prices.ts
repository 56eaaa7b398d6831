import { createReadStream } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { z } from 'zod';
import { comparePrices, type ComparedMapping } from '../../domain/catalog/price-comparison.ts';
import { OperatorError } from '../operator-error.ts';
import { loadCatalog } from './load-catalog.ts';

/**
 * Compares the costs of a catalog with LiteLLM's `model_prices_and_context_window.json`. Throws `CatalogError` for an invalid catalog,
 * `OperatorError` for a file that is not such a list, or the file system's own error.
 */
export async function compareWithPriceList({
  catalog,
  prices,
}: {
  catalog: string;
  prices: string;
}): Promise<ComparedMapping[]> {
  const { entries } = await loadCatalog(catalog);
  const content = await buffer(createReadStream(prices, { end: pricesBytesMax }));
  if (content.length > pricesBytesMax) throw new OperatorError(`${prices} has more than ${pricesBytesMax} bytes.`);
  const list = PriceFile.safeParse(content.toString('utf8'));
  if (!list.success) throw new OperatorError(`${prices} is not a JSON object with the prices of each model.`);
  return comparePrices(entries, list.data);
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
