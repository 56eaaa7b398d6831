import type { CatalogEntry } from '../../domain/catalog/catalog.ts';

/** What the client asks of a list: the values of its query. */
export interface ListQuery {
  /** The value of a query parameter. Undefined if it is absent or empty. */
  value(param: string): string | undefined;
  /** A whole number from 1 to `max`. Throws `invalid_value` for any other value. */
  limit(param: string, bounds: { fallback: number; max: number }): number;
}

/** How one dialect shows models. */
export interface ModelForm {
  /** Tells the forms apart. */
  name: string;
  /** The query parameters of the list. */
  query: readonly string[];
  /** Whether clients of this dialect can use the model. */
  shows(entry: CatalogEntry): boolean;
  /** The list, or the page of it that was asked for. The models are in the order of the catalog. */
  list(entries: readonly CatalogEntry[], query: ListQuery): object;
  one(entry: CatalogEntry): object;
}
