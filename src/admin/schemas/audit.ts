import { z } from 'zod';
import { timestamp } from '../../schemas/time.ts';

const members = z.record(z.string(), z.unknown());

export const AuditEntry = z
  .object({
    id: z.int(),
    at: timestamp,
    actor: z.string(),
    action: z.string().meta({ examples: ['keys.revoke'] }),
    subject: z.string().describe('What was changed: a project, key, channel, task or token.'),
    before: members
      .nullable()
      .describe('What changed, as it was. Null for a creation, and for a look at a secret or a content.'),
    after: members.nullable().describe('The same as it is now. Null for a look.'),
    detail: members.describe('What else is worth knowing, such as the reference of a payment.'),
  })
  .meta({ id: 'AuditEntry' });
