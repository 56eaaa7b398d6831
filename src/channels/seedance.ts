import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { PollResult } from '../domain/upstream.ts';
import { bearerAuthorization, type UpstreamCaller } from './call-upstream.ts';
import { isContentPolicy, plainWord, type ReadError } from './classify-outcome.ts';
import type { Adapter, MediaInput, MediaRequest, StopOptions } from './channel.ts';
import { familyCalls, onJob } from './family-calls.ts';
import { PathId, doneWith, failedJob, parsedBy, unconfirmedStop } from './poll.ts';

/**
 * Seedance on BytePlus ModelArk, base URL `https://ark.ap-southeast.bytepluses.com/api/v3`, or on Volcengine Ark, base URL
 * `https://ark.cn-beijing.volces.com/api/v3`. Video only.
 *
 * Read on 2026-11-21: https://docs.byteplus.com/en/docs/ModelArk/1520757 (create), …/1521309 (retrieve), …/1521675 (list),
 * …/1521720 (cancel or delete) and …/1299023 (error codes).
 *
 * Seedance 2: the fields of @ai-sdk/bytedance 1.0.29, read on 2026-11-22. BytePlus sells it as `dreamina-seedance-2-0-260128`,
 * Volcengine as `doubao-seedance-2-0-260128`.
 *
 * Ark cannot find a job by our key. The URL of a result is valid for a day.
 */
export function createSeedance(caller: UpstreamCaller): Adapter {
  const { call, get, submit, pollBy, probeBy } = familyCalls(caller, { headers: bearerAuthorization, readError });
  return {
    async submitMedia(upstream, request, options) {
      // Ark ignores this header. It helps to find a task in logs.
      const headers = { 'idempotency-key': request.idempotencyKey };
      const body = { ...request.parameters, model: request.model, content: toContent(request) };
      return submit(upstream, { path: tasksPath, headers, body }, parsedBy(Submitted), options);
    },

    pollMedia: pollBy(Job, pathOf, Task, toResult),

    cancelMedia: onJob(Job, 'not_stopped', async (upstream, job, options: StopOptions) => {
      // DELETE cancels a queued task, but it deletes the record and the result of a finished one.
      const before = await get(upstream, pathOf(job), Task, options);
      if (before.kind !== 'ok') return 'not_stopped';
      if (before.value.status !== 'queued') return before.value.status === 'cancelled' ? 'stopped' : 'not_stopped';
      const outcome = await call(upstream, { method: 'DELETE', path: pathOf(job), signal: options.signal });
      const isAccepted = outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300;
      if (!isAccepted) return unconfirmedStop(outcome);
      // The task may have finished before the DELETE, and then its record is deleted.
      const after = await get(upstream, pathOf(job), Task, options);
      if (after.kind !== 'ok' || after.value.status === 'queued') return 'unclear';
      return after.value.status === 'cancelled' ? 'stopped' : 'not_stopped';
    }),

    probe: probeBy(`${tasksPath}?page_num=1&page_size=1`, TaskList),
  };
}

const tasksPath = '/contents/generations/tasks';

function toContent(request: MediaRequest): JsonObject[] {
  const part = (type: 'image_url' | 'video_url' | 'audio_url', input: MediaInput, role: string): JsonObject => ({
    type,
    [type]: { url: input.url },
    role,
  });
  return [
    { type: 'text', text: request.prompt },
    ...(request.image ? [part('image_url', request.image, 'first_frame')] : []),
    ...(request.referenceImages ?? []).map((image) => part('image_url', image, 'reference_image')),
    ...(request.videoUrl ? [part('video_url', request.videoUrl, 'reference_video')] : []),
    ...(request.audioUrl ? [part('audio_url', request.audioUrl, 'reference_audio')] : []),
  ];
}

const Submitted = z.object({ id: PathId }).transform(({ id }) => ({ task_id: id }));
const Job = z.object({ task_id: PathId });
const pathOf = (job: z.infer<typeof Job>): string => `${tasksPath}/${job.task_id}`;
const TaskList = z.object({ items: z.array(z.unknown()).nullish(), total: z.number() });
const Task = z.object({
  id: z.string(),
  status: z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired']),
  content: z.object({ video_url: z.string().min(1).nullish() }).nullish(),
  error: z.object({ code: z.string() }).optional().catch(undefined),
  duration: z.number().positive().optional().catch(undefined),
});

function toResult({ status, content, error, duration }: z.infer<typeof Task>): PollResult {
  switch (status) {
    case 'queued':
    case 'running':
      return { kind: 'pending' };
    case 'succeeded':
      return doneWith(content?.video_url ? [{ url: content.video_url, mimeType: 'video/mp4', duration }] : []);
    case 'failed':
    case 'cancelled':
    case 'expired': {
      const word = plainWord(error?.code ?? '');
      const detail = `the task ${status} ${word}`.trim();
      const isByPolicy = isContentPolicy(wordsOf(word));
      // The request itself is invalid: an image of the wrong size, or two parameters that exclude each other.
      const isInvalid = !isByPolicy && /^(InvalidParameter|MissingParameter)/.test(word);
      return isInvalid ? { kind: 'refused', code: 'upstream_failed', detail } : failedJob(detail, isByPolicy);
    }
  }
}

/** Ark's error code, and the common table's word for a code that the table does not have. */
const wordsOf = (code: string): string[] => [
  code,
  ...(/RiskDetection|SensitiveContent|PolicyViolation/.test(code) ? ['content_policy'] : []),
  ...(/AccountOverdue|QuotaExceeded|SetLimitExceeded/.test(code) ? ['quota_exceeded'] : []),
  ...(/ModelNotOpen|^InvalidEndpoint|UnsupportedModel/.test(code) ? ['model_not_found'] : []),
];

const readError: ReadError = (json) => {
  const error = ErrorBody.safeParse(json).data?.error;
  return error ? wordsOf(error.code) : null;
};
const ErrorBody = z.object({ error: z.object({ code: z.string(), message: z.string() }) });
