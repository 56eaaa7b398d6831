import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import { queryAnyText, queryNumber, type QueryOf } from '../request/query.ts';

const bounds = { max: 1_000 };

/** How clients of Google ask for a page of a list. */
export const geminiPages = {
  pageSize: queryNumber('The most models; 50 if absent.', bounds),
  pageToken: queryAnyText('The `nextPageToken` of the page before.'),
};

/** What Anthropic's SDKs send with their `beta` methods. */
export const beta = queryAnyText('Anthropic: has no effect.');

/** How the clients of all vendors do. */
export const vendorPages = {
  limit: queryNumber('The most models. All if absent.', bounds),
  user: queryAnyText('OpenAI: has no effect. LibreChat sends it.'),
  beta,
  after_id: queryAnyText('Anthropic: the `last_id` of the page before.'),
  before_id: queryAnyText('Anthropic: the `first_id` of the page after.'),
  pageSize: queryNumber('Google: the most models; 50 if absent.', bounds),
  pageToken: queryAnyText('Google: the `nextPageToken` of the page before.'),
};
export type ModelQuery = Partial<QueryOf<typeof vendorPages>>;

/** How one dialect shows models. */
export interface ModelForm<List extends object = object, One extends object = object> {
  /** Tells the forms apart. */
  name: string;
  /** The query parameters of the list. */
  query: readonly (keyof ModelQuery)[];
  /** Whether clients of this dialect can use the model. */
  shows(entry: CatalogEntry): boolean;
  /** The list, or the page of it that was asked for. `entries` are in the order of the catalog. */
  list(entries: readonly CatalogEntry[], query: ModelQuery): List;
  one(entry: CatalogEntry): One;
}
