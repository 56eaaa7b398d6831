import { z } from 'zod';

/** Unix seconds. */
export const time = z.int().meta({ description: 'Unix seconds.', examples: [1_795_478_400] });
export const timeOrNull = time.nullable();
