import { z } from 'zod';
import { CatalogFileEntry, ModelParameters } from '../../../commands/catalog/catalog-file-entry.ts';

/** A catalog entry, without what clients do not see. */
export const Model = CatalogFileEntry.omit({ private: true })
  .extend({
    parameters: ModelParameters.extend({
      examples: z.array(z.object({ label: z.string(), values: z.record(z.string(), z.unknown()) })).optional(),
    }),
  })
  .meta({ id: 'Model' });

export const ModelList = z.object({ object: z.literal('list'), data: z.array(Model) }).meta({ id: 'ModelList' });
