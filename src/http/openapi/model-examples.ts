import type { CatalogEntry, Model } from '../../domain/catalog/catalog.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { MediaInputKey } from '../../domain/catalog/parameter-value.ts';
import type { Catalog, Examples } from '../description.ts';

/** The catalog's own examples of all models of a type, as request bodies. */
export const modelExamples = (catalog: Catalog, type: Model['type']): Examples =>
  Object.fromEntries(
    catalog
      .filter(({ model }) => model.type === type)
      .flatMap(({ model: { id, display_name: name, parameters } }) =>
        (parameters.examples ?? []).map(({ label, values }, index) => [
          index === 0 ? id : `${id}-${index + 1}`,
          { summary: `${name}: ${label}`, value: { model: id, ...values } },
        ]),
      ),
  );

/** One request to a model of the catalog in the words of a dialect; none if the catalog has no such model. */
export function exampleWith(
  entry: CatalogEntry | undefined,
  summary: string,
  write: (model: string) => JsonObject,
): Examples {
  if (!entry) return {};
  const { id } = entry.model;
  return { [id]: { summary, value: write(id) } };
}

/** The first model of a type that takes these inputs. */
export const firstOf = (
  catalog: Catalog,
  type: Model['type'],
  inputs: readonly MediaInputKey[] = [],
): CatalogEntry | undefined =>
  catalog.find(({ model }) => model.type === type && inputs.every((key) => model.parameters[key] === true));

/** A grey square of 64 pixels, which every model that takes pictures takes. */
export const examplePicture =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsItjRBObwwi+hcEKLNP1WgQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQELguHpmFpj8NWjwAAAABJRU5ErkJggg==';
