import type { z } from 'zod';
import type { JsonObject } from '../../../domain/json.ts';
import { taskErrorTable, type TaskStatus } from '../../../domain/tasks/task.ts';
import type { TaskView } from '../../../domain/tasks/task-view.ts';
import type { OpenaiVideo, OpenaiVideos } from '../../openapi/schemas/openai-videos.ts';

/** OpenAI's video object (https://platform.openai.com/docs/api-reference/videos/object). The id is the task's, for all routes of tasks. */
export function openaiVideo(task: TaskView): z.input<typeof OpenaiVideo> {
  const status = statusWords[task.status];
  const [output] = task.output ?? [];
  const duration = output?.duration ?? task.input?.['duration'];
  return {
    id: task.id,
    object: 'video',
    model: task.modelId,
    status,
    progress: status === 'completed' ? 100 : Math.round(task.progress ?? 0),
    created_at: task.createdAt,
    completed_at: task.completedAt,
    expires_at: output?.expires_at ?? task.expiresAt,
    prompt: typeof task.input?.['prompt'] === 'string' ? task.input['prompt'] : null,
    seconds: typeof duration === 'number' ? String(Math.round(duration)) : null,
    size: output?.width && output.height ? `${output.width}x${output.height}` : requestedSize(task.input),
    remixed_from_video_id: null,
    error: task.errorCode === null ? null : { code: task.errorCode, message: taskErrorTable[task.errorCode].message },
  };
}

const statusWords = {
  queued: 'queued',
  processing: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  canceled: 'failed',
} as const satisfies Record<TaskStatus, string>;

/** The size of the clip that was asked for, if the model has resolutions: 720p in 16:9 is 1280x720. Null before the clip of another model. */
function requestedSize(input: JsonObject | null): string | null {
  const { resolution, aspect_ratio: ratio } = input ?? {};
  const edge = typeof resolution === 'string' ? Number(/^(\d{3,4})p$/.exec(resolution)?.[1]) : NaN;
  const [across = NaN, down = NaN] = typeof ratio === 'string' ? ratio.split(':').map(Number) : [];
  const long = Math.round((edge * Math.max(across, down)) / Math.min(across, down) / 2) * 2;
  if (!Number.isFinite(long)) return null;
  return across >= down ? `${long}x${edge}` : `${edge}x${long}`;
}

/** One page of videos. */
export const openaiVideoList = (videos: readonly TaskView[], hasMore: boolean): z.input<typeof OpenaiVideos> => ({
  object: 'list',
  data: videos.map(openaiVideo),
  first_id: videos[0]?.id ?? null,
  last_id: videos.at(-1)?.id ?? null,
  has_more: hasMore,
});
