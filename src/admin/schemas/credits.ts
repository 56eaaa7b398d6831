import { z } from 'zod';
import { timestamp } from '../../schemas/time.ts';
import { projectId, taskId } from './ids.ts';

export const CreditsSchema = z
  .object({
    project_id: projectId,
    balance: z.int().describe('Credits that nothing holds. Negative after a deduction or within an overdraft.'),
    reserved: z.int().describe('Credits that running requests hold.'),
  })
  .meta({ id: 'Credits' });

export const AccountSchema = CreditsSchema.extend({
  expiring: z
    .array(z.object({ credits: z.int(), expires_at: timestamp }))
    .describe('What is left of the credits that expire, the first end first. They are part of the balance.'),
}).meta({ id: 'Account' });

export const AdjustedCredits = z
  .object({
    task_id: taskId.describe('The task, or the request of a chat.'),
    project_id: projectId,
    given: z.int().describe('The credits that this request gave back. 0 if it was repeated.'),
    charged: z.int(),
    given_in_all: z.int(),
    balance: z.int(),
  })
  .meta({ id: 'AdjustedCredits' });
