import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { PollResult } from '../domain/upstream.ts';
import { bearerAuthorization, type UpstreamCaller } from './call-upstream.ts';
import { isContentPolicy, plainWord, readOutcome, type ReadError } from './classify-outcome.ts';
import type { Adapter, MediaRequest, StopOptions } from './channel.ts';
import { familyCalls, onJob } from './family-calls.ts';
import { PathId, doneWith, failedJob, parsedBy, unconfirmedStop } from './poll.ts';

/**
 * Wan on Alibaba Model Studio (DashScope): video. Base URL `https://dashscope-intl.aliyuncs.com/api/v1`, or
 * `https://dashscope.aliyuncs.com/api/v1` in mainland China. A task can be seen only in the region that created it. Qwen's chat
 * models use the family `openai`.
 *
 * Read on 2026-11-22: https://www.alibabacloud.com/help/en/model-studio/wan3-0-video, …/manage-asynchronous-tasks and
 * …/error-code, and the wire format of @ai-sdk/alibaba 2.0.58 (`alibaba-video-model`, protocol `wan3`).
 *
 * DashScope cannot find a job by our key. It forgets a task and its clip after a day, and answers an unknown task with status 200.
 */
export function createDashscope(caller: UpstreamCaller): Adapter {
  const { call, get, submit, pollBy, probeBy } = familyCalls(caller, { headers: bearerAuthorization, readError });
  return {
    async submitMedia(upstream, request, options) {
      // DashScope documents no idempotency key. That header helps to find a task in logs.
      const headers = { 'x-dashscope-async': 'enable', 'idempotency-key': request.idempotencyKey };
      const path = '/services/aigc/video-generation/video-synthesis';
      return submit(upstream, { path, headers, body: toBody(request) }, parsedBy(Submitted), options);
    },

    pollMedia: pollBy(Job, pathOf, Task, toResult),

    cancelMedia: onJob(Job, 'not_stopped', async (upstream, job, options: StopOptions) => {
      // Only a task that still waits can be canceled.
      const path = `${pathOf(job)}/cancel`;
      const outcome = await call(upstream, { method: 'POST', path, signal: options.signal });
      if (readOutcome(outcome, parsedBy(CancelAnswer), readError).kind !== 'ok') return unconfirmedStop(outcome);
      const after = await get(upstream, pathOf(job), Task, options);
      if (after.kind !== 'ok' || after.value.task_status === 'PENDING') return 'unclear';
      return after.value.task_status === 'CANCELED' ? 'stopped' : 'not_stopped';
    }),

    probe: probeBy('/tasks?page_no=1&page_size=1', TaskList),
  };
}

function toBody({ model, prompt, parameters, image, referenceImages = [], videoUrl, audioUrl }: MediaRequest) {
  const { negative_prompt, ...others } = parameters;
  const media: JsonObject[] = [
    ...(image ? [{ type: 'first_frame', url: image.url }] : []),
    ...referenceImages.map(({ url }) => ({ type: 'reference_image', url })),
    ...(videoUrl ? [{ type: 'reference_video', url: videoUrl.url }] : []),
  ];
  return {
    model,
    input: {
      prompt,
      negative_prompt,
      ...(audioUrl && { audio_url: audioUrl.url }),
      ...(media.length > 0 && { media }),
    },
    parameters: others,
  };
}

const Submitted = z.object({ output: z.object({ task_id: PathId }) }).transform(({ output }) => output);
const Job = z.object({ task_id: PathId });
const pathOf = (job: z.infer<typeof Job>): string => `/tasks/${job.task_id}`;
const TaskList = z.object({ total: z.number() });
const CancelAnswer = z.object({ request_id: z.string() });
const Task = z
  .object({
    output: z.object({
      task_status: z.enum(['PENDING', 'RUNNING', 'SUSPENDED', 'SUCCEEDED', 'FAILED', 'CANCELED', 'UNKNOWN']),
      video_url: z.string().min(1).nullish(),
      code: z.string().nullish().catch(null),
    }),
    usage: z.object({ output_video_duration: z.number().positive() }).optional().catch(undefined),
  })
  .transform(({ output, usage }) => ({ ...output, duration: usage?.output_video_duration }));

function toResult({ task_status: status, video_url: url, code, duration }: z.infer<typeof Task>): PollResult {
  switch (status) {
    case 'PENDING':
    case 'RUNNING':
    case 'SUSPENDED':
      return { kind: 'pending' };
    case 'SUCCEEDED':
      return doneWith(url ? [{ url, mimeType: 'video/mp4', duration }] : []);
    case 'UNKNOWN':
      return { kind: 'missing', detail: 'the task is unknown or has expired' };
    case 'FAILED':
    case 'CANCELED': {
      const word = plainWord(code ?? '');
      const detail = `the task is ${status} ${word}`.trim();
      const isByPolicy = isContentPolicy(wordsOf(word));
      const isInvalid = !isByPolicy && /^InvalidParameter|^BadRequest|^InvalidURL/.test(word);
      return isInvalid ? { kind: 'refused', code: 'upstream_failed', detail } : failedJob(detail, isByPolicy);
    }
  }
}

/** DashScope's error code, and the common table's word for a code that the table does not have. */
const wordsOf = (code: string): string[] => [
  code,
  ...(/DataInspection|IPInfringement|Inappropriate/i.test(code) ? ['content_policy'] : []),
  ...(/Arrearage|Overdue|FreeTierOnly|Unpurchased|AllocationQuota\.Exhausted/.test(code) ? ['billing'] : []),
  ...(/ModelNotFound|ModelNotExist/i.test(code) ? ['model_not_found'] : []),
];

const readError: ReadError = (json) => {
  const error = ErrorBody.safeParse(json).data;
  return error ? wordsOf(plainWord(error.code)) : null;
};
const ErrorBody = z.object({ code: z.string(), message: z.string() });
