import { z } from 'zod';
import { timestamp } from '../../../schemas/time.ts';

export const OpenaiImages = z
  .object({
    created: timestamp,
    data: z.array(z.object({ b64_json: z.string() }).or(z.object({ url: z.string() }))),
    size: z.string().optional(),
    output_format: z.string().optional(),
  })
  .meta({ id: 'OpenaiImages' });
