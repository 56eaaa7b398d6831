import { z } from 'zod';

/** Unix seconds. */
export const timestamp = z.int().meta({ description: 'Unix seconds.', examples: [1_795_478_400] });
export const timestampOrNull = timestamp.nullable();
