import { z } from 'zod';
import { time } from '../../answers/time.ts';

export const AuditEntry = z
  .object({
    id: z.int(),
    at: time,
    actor: z.string(),
    action: z.string().meta({ examples: ['keys.revoke'] }),
    subject: z.string().describe('What was changed: a project, key, channel, task or token.'),
    detail: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'AuditEntry' });
