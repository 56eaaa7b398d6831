import { fileURLToPath } from 'node:url';
import type { CatalogEntry } from '../../../src/domain/catalog/catalog.ts';
import type { JsonObject } from '../../../src/domain/json.ts';
import { isOffered } from '../../../src/domain/catalog/model-list.ts';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import { adminDocument } from '../../../src/http/admin/admin-document.ts';
import { openapiDocument } from '../../../src/http/openapi/openapi-document.ts';
import { defaultConfig, describedAdminRoutes, describedRoutes } from './described-routes.ts';

/** The offered models of the shipped catalog. */
export async function shippedModels(): Promise<CatalogEntry[]> {
  const { entries } = await loadCatalog(fileURLToPath(new URL('../../../catalog', import.meta.url)));
  return entries.filter(isOffered);
}

/**
 * The documents that are committed, by the name of their files. That of the clients is without a catalog, because the models of a gateway are
 * not part of its version, and with the default settings. They are pure JSON, as a client reads them.
 */
export const committedDocuments = (): { openapi: JsonObject; 'admin-openapi': JsonObject } =>
  JSON.parse(
    JSON.stringify({
      openapi: openapiDocument(describedRoutes(), [], defaultConfig.tasks),
      'admin-openapi': adminDocument(describedAdminRoutes()),
    }),
  ) as ReturnType<typeof committedDocuments>;

export const documentNames = ['openapi', 'admin-openapi'] as const;

/** The document that later versions must not break: that of the last release. */
export const lastVersionOf = (name: (typeof documentNames)[number]): URL =>
  new URL(`last-version.${name}.json`, import.meta.url);
