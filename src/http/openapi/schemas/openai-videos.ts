import { z } from 'zod';
import { timestamp } from '../../../schemas/time.ts';

export const OpenaiVideo = z
  .object({
    id: z.string(),
    object: z.literal('video'),
    model: z.string(),
    status: z.enum(['queued', 'in_progress', 'completed', 'failed']),
    progress: z.int().min(0).max(100),
    created_at: timestamp,
    completed_at: timestamp.nullable(),
    expires_at: timestamp.nullable(),
    prompt: z.string().nullable(),
    seconds: z.string().describe('`0` while the length is not known.'),
    size: z.string().describe('Before the clip is made: the size that was asked for, as far as the model has sizes.'),
    remixed_from_video_id: z.null(),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    url: z.url().optional().describe('Of a completed video: the signed address of its clip.'),
    video_url: z.url().optional().describe('The same, for programs that look for it there.'),
  })
  .meta({ id: 'OpenaiVideo' });

export const OpenaiVideos = z
  .object({
    object: z.literal('list'),
    data: z.array(OpenaiVideo),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  })
  .meta({ id: 'OpenaiVideos' });

export const DeletedVideo = z
  .object({ id: z.string(), object: z.literal('video.deleted'), deleted: z.literal(true) })
  .meta({ id: 'DeletedVideo' });
