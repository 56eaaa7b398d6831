import { z } from 'zod';
import { TaskFailure } from '../../../schemas/task.ts';

// The answers of the former platform, whose clients read them (spec §4.6).

const status = z.enum(['pending', 'processing', 'completed', 'failed']);

const state = { status, progress: z.number().nullable() };
const end = { error: TaskFailure.nullable(), canceled: z.literal(true).optional() };

export const LegacyCreated = z
  .object({
    success: z.literal(true),
    task_id: z.string(),
    id: z.string(),
    status,
    data: z.object({ task_id: z.string(), status }),
  })
  .meta({ id: 'LegacyCreated' });

export const LegacyResult = z
  .object({
    success: z.literal(true),
    id: z.string(),
    task_id: z.string(),
    ...state,
    results: z.array(z.object({ url: z.string() })),
    ...end,
  })
  .meta({ id: 'LegacyResult' });

export const LegacyVideoStatus = z
  .object({
    success: z.literal(true),
    data: z.object({ task_id: z.string(), ...state, url: z.string().nullable(), urls: z.array(z.string()), ...end }),
  })
  .meta({ id: 'LegacyVideoStatus' });

export const LegacyWorkflowStatus = z
  .object({ success: z.literal(true), uuid: z.string(), ...state, images: z.array(z.string()), ...end })
  .meta({ id: 'LegacyWorkflowStatus' });
