import { fileURLToPath } from 'node:url';
import type { CatalogEntry } from '../../../src/domain/catalog.ts';
import type { JsonObject } from '../../../src/domain/json.ts';
import { isOffered } from '../../../src/domain/model-list.ts';
import { loadCatalog } from '../../../src/commands/catalog/load-catalog.ts';
import { openapiDocument } from '../../../src/http/openapi/document.ts';
import { describedRoutes } from './described-routes.ts';

/** The offered models of the shipped catalog. */
export async function shippedModels(): Promise<CatalogEntry[]> {
  const { entries } = await loadCatalog(fileURLToPath(new URL('../../../catalog', import.meta.url)));
  return entries.filter(isOffered);
}

/**
 * The document that is committed: without a catalog, because the models of a gateway are not part of its version. It is pure JSON, as a
 * client reads it.
 */
export const committedDocument = (): JsonObject =>
  JSON.parse(JSON.stringify(openapiDocument(describedRoutes(), []))) as JsonObject;
