import type { CatalogEntry as EntryOfRules } from '../../../../src/domain/catalog/catalog.ts';
import type { CatalogEntry } from '../../api/admin-types.ts';

/** An entry as the rules of prices read it, which the API answers with other types of the same members. */
export const entryOfRules = ({ private: hidden, ...model }: CatalogEntry): EntryOfRules =>
  ({ model, private: hidden }) as unknown as EntryOfRules;
