import { z } from 'zod';
import { foundTypes } from '../../db/search/find-by-id.ts';

export const SearchHitSchema = z
  .object({
    type: z.enum(foundTypes),
    id: z.string().meta({ examples: ['task_01ky4m8r5t0v2x6z9b3d7f1h4k'] }),
    name: z.string().describe('Its own name, or the model or the task that it is about. May be empty.'),
    url: z.string().describe('The page of the console that shows it, without the address of the server.'),
  })
  .meta({ id: 'SearchHit' });
