import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import { priceMax } from '../../domain/catalog/price-schema.ts';
import type { PlanRule } from '../../domain/plans/plan.ts';
import { pricesAboveMax } from '../../domain/plans/price-under-plan.ts';
import { OperatorError } from '../operator-error.ts';

/** Throws `OperatorError` if a price of the catalog is above the largest under these rules, which `subject` names in the message. */
export function demandBoundedPrices(
  subject: string,
  entries: readonly CatalogEntry[],
  rules: readonly PlanRule[],
): void {
  const [above] = pricesAboveMax(entries, rules);
  if (above === undefined) return;
  const { model, price } = above;
  throw new OperatorError(
    `Under ${subject} a price of ${model} is ${price} credits. A price has at most ${priceMax}. Nothing was changed.`,
  );
}
