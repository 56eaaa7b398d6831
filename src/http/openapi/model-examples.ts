import type { Model } from '../../domain/catalog.ts';
import type { Catalog, Examples } from './operation.ts';

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
