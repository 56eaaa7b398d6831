import type { z } from 'zod';
import type { Deps } from '../../../deps.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { taskErrorTable, type TaskStatus } from '../../../domain/tasks/task.ts';
import type { TaskView } from '../../../domain/tasks/task-view.ts';
import type { OpenaiVideo, OpenaiVideos } from '../../openapi/schemas/openai-videos.ts';

/**
 * OpenAI's video object (https://platform.openai.com/docs/api-reference/videos/object). The id is the task's, for all routes of tasks.
 * Programs that are made for other gateways read the clip at `url` or `video_url`.
 */
export function openaiVideo({ urls }: Pick<Deps, 'urls'>, task: TaskView): z.input<typeof OpenaiVideo> {
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
    seconds: String(typeof duration === 'number' ? Math.round(duration) : 0),
    size: output?.width && output.height ? `${output.width}x${output.height}` : requestedSize(task.input),
    remixed_from_video_id: null,
    error: task.errorCode === null ? null : { code: task.errorCode, message: taskErrorTable[task.errorCode].message },
    ...(output && signedAt(urls.sign(output.file_id, output.expires_at))),
  };
}

const signedAt = (url: string) => ({ url, video_url: url });

const statusWords = {
  queued: 'queued',
  processing: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  canceled: 'failed',
} as const satisfies Record<TaskStatus, string>;

/** The size of the clip that was asked for: 720p in 16:9 is 1280x720, which also stands for what the request does not say. */
function requestedSize(input: JsonObject | null): string {
  const numbersOf = (field: string, form: RegExp): number[] =>
    (form.exec(JSON.stringify(input?.[field]) ?? '') ?? []).slice(1).map(Number);
  const [edge = 720] = numbersOf('resolution', /^"(\d{3,4})p"$/);
  const [across = 16, down = 9] = numbersOf('aspect_ratio', /^"([\d.]+):([\d.]+)"$/);
  const long = Math.round((edge * Math.max(across, down)) / Math.min(across, down) / 2) * 2;
  return across >= down ? `${long}x${edge}` : `${edge}x${long}`;
}

/** One page of videos. */
export const openaiVideoList = (
  deps: Pick<Deps, 'urls'>,
  videos: readonly TaskView[],
  hasMore: boolean,
): z.input<typeof OpenaiVideos> => ({
  object: 'list',
  data: videos.map((video) => openaiVideo(deps, video)),
  first_id: videos[0]?.id ?? null,
  last_id: videos.at(-1)?.id ?? null,
  has_more: hasMore,
});
