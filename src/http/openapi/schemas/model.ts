import { z } from 'zod';
import { ReadEntry } from '../../../domain/catalog/catalog.ts';

/** A catalog entry, without what clients do not see. */
export const ModelSchema = ReadEntry.omit({ private: true }).meta({ id: 'Model' });

export const ModelList = z.object({ object: z.literal('list'), data: z.array(ModelSchema) }).meta({ id: 'ModelList' });
