import { z } from 'zod';
import { timestamp } from '../../../schemas/time.ts';

/** A stored upload. */
export const UploadedFile = z
  .object({
    id: z.string().describe('`file_…`. Use it as an input of a task.'),
    object: z.literal('file'),
    url: z.string().describe('A signed URL, which needs no key. It is valid until `expires_at`.'),
    mime_type: z.string(),
    bytes: z.int(),
    width: z.int(),
    height: z.int(),
    sha256: z.string(),
    created_at: timestamp,
    expires_at: timestamp,
  })
  .meta({ id: 'UploadedFile' });

/** The bytes of a file. */
export const Bytes = z.string().meta({ format: 'binary' });
