import { z } from 'zod';
import { timestamp, timestampOrNull } from '../../schemas/time.ts';
import { traceContents } from '../../domain/projects/trace-content.ts';
import { changed, warnings } from './changed.ts';
import { projectId } from './ids.ts';

export const projectStatuses = ['active', 'disabled'] as const;

const note = z.string().nullable().describe('What operators note about it.');

const plan = z.string().nullable().describe('The name of its plan. Null: it has the prices of the catalog.');

const alerts = {
  alert_at: z
    .array(z.string())
    .nullable()
    .describe('At which credits the project is told: numbers, or percents of its last top-up.'),
  alert_url: z.string().nullable().describe('Where `balance.low` is posted.'),
  alert_mail: z.array(z.string()).nullable(),
};

const traceContent = z
  .enum(traceContents)
  .nullable()
  .describe('How much of what its chats say traces have. Null: nothing.');

export const ProjectSchema = z
  .object({
    project_id: projectId,
    name: z.string(),
    note,
    status: z.enum(projectStatuses),
    plan,
    balance: z.int().describe('Credits that nothing holds.'),
    reserved: z.int().describe('Credits that running requests hold.'),
    overdraft: z.int().describe('How many credits below zero requests may take the balance.'),
    ...alerts,
    trace_content: traceContent,
    metadata: z.record(z.string(), z.string()).describe('What an import brought of it: remarks and names.'),
    created_at: timestamp,
  })
  .meta({ id: 'Project' });

export const ProjectSettingsSchema = z
  .object({
    project_id: projectId,
    name: z.string(),
    note,
    plan,
    overdraft: z.int().describe('How many credits below zero requests may take the balance; 0 for none.'),
    ...alerts,
    trace_content: traceContent,
    warnings,
  })
  .meta({ id: 'ProjectSettings' });

const webhookSecret = z.string().meta({ description: 'Signs the callbacks.', examples: ['whsec_…'] });

export const CreatedProject = z
  .object({ project_id: projectId, webhook_secret: webhookSecret })
  .meta({ id: 'CreatedProject' });

export const SwitchedProject = z
  .object({ project_id: projectId, status: z.enum(projectStatuses), changed })
  .meta({ id: 'SwitchedProject' });

export const ProjectSecretSchema = z
  .object({
    project_id: projectId,
    webhook_secret: webhookSecret,
    previous_secret: z.string().nullable().describe('Also signs until `previous_until`. Null if only one signs.'),
    previous_until: timestampOrNull,
  })
  .meta({ id: 'ProjectSecret' });
