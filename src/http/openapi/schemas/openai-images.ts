import { z } from 'zod';
import { time } from '../../../schemas/time.ts';

export const OpenaiImages = z
  .object({
    created: time,
    data: z.array(z.object({ b64_json: z.string() }).or(z.object({ url: z.string() }))),
    size: z.string().optional(),
    output_format: z.string().optional(),
  })
  .meta({ id: 'OpenaiImages' });
