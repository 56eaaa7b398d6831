import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { PollResult } from '../domain/upstream.ts';
import type { UpstreamCaller } from './call-upstream.ts';
import { plainWord, type ReadError } from './classify-outcome.ts';
import type { Adapter, MediaRequest, StopOptions, Upstream } from './channel.ts';
import { familyCalls, onJob } from './family-calls.ts';
import { PathId, doneWith, failedJob, parsedBy, unconfirmedStop } from './poll.ts';

/**
 * Runway: images and video. Base URL `https://api.dev.runwayml.com/v1`.
 *
 * Read on 2026-11-22: https://docs.dev.runwayml.com/errors/task-failures/, …/errors/errors/ and the types of @runwayml/sdk 4.20.1
 * (`text-to-video`, `image-to-video`, `video-to-video`, `text-to-image`, `tasks`, `organization`).
 *
 * Runway cannot find a job by our key. Right after the submit a task can be unknown for some seconds.
 */
export function createRunway(caller: UpstreamCaller): Adapter {
  const { call, get, submit, pollBy, probeBy } = familyCalls(caller, { headers: runwayHeaders, readError });
  return {
    async submitMedia(upstream, request, options) {
      // Runway documents no idempotency key. The header helps to find a task in logs.
      const headers = { 'idempotency-key': request.idempotencyKey };
      const { path, body } = toCall(request);
      return submit(upstream, { path, headers, body }, parsedBy(Submitted), options);
    },

    pollMedia: pollBy(Job, pathOf, Task, toResult),

    cancelMedia: onJob(Job, 'not_stopped', async (upstream, job, options: StopOptions) => {
      // DELETE stops a task that waits or runs, but it deletes the record and the results of an ended one.
      const before = await get(upstream, pathOf(job), Task, options);
      if (before.kind !== 'ok') return 'not_stopped';
      if (before.value.status === 'CANCELLED') return 'stopped';
      const mayStop = isWaiting(before.value) || (options.running === 'stop' && before.value.status === 'RUNNING');
      if (!mayStop) return 'not_stopped';
      const outcome = await call(upstream, { method: 'DELETE', path: pathOf(job), signal: options.signal });
      const isAccepted = outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300;
      if (!isAccepted) return unconfirmedStop(outcome);
      // The task may have ended before the DELETE, and then its record is deleted.
      const after = await get(upstream, pathOf(job), Task, options);
      return after.kind === 'ok' && after.value.status === 'CANCELLED' ? 'stopped' : 'unclear';
    }),

    probe: probeBy('/organization', Organization),
  };
}

const runwayHeaders = ({ credential }: Upstream) => ({
  authorization: `Bearer ${credential}`,
  // The only version that the SDK knows.
  'x-runway-version': '2024-11-06',
});

/** Each kind of input has an endpoint with its own field names. */
function toCall(request: MediaRequest): { path: string; body: JsonObject } {
  const { type, image, referenceImages = [], videoUrl } = request;
  const body = { ...request.parameters, model: request.model, promptText: request.prompt };
  const references = [...(type === 'image' && image ? [image] : []), ...referenceImages].map(({ url: uri }) => ({
    uri,
  }));
  if (type === 'image') {
    return { path: '/text_to_image', body: { ...body, ...(references.length > 0 && { referenceImages: references }) } };
  }
  if (videoUrl) {
    // A picture guides the edit from the first second on.
    const keyframes = references.map((reference) => ({ ...reference, seconds: 0 }));
    const edited = { ...body, videoUri: videoUrl.url };
    return { path: '/video_to_video', body: { ...edited, ...(keyframes.length > 0 && { keyframes }) } };
  }
  if (image) return { path: '/image_to_video', body: { ...body, promptImage: image.url } };
  return { path: '/text_to_video', body: { ...body, ...(references.length > 0 && { references }) } };
}

const Organization = z.object({ creditBalance: z.number() });
const Submitted = z.object({ id: PathId }).transform(({ id }) => ({ task_id: id }));
const Job = z.object({ task_id: PathId });
const pathOf = (job: z.infer<typeof Job>): string => `/tasks/${job.task_id}`;
const Task = z.object({
  status: z.enum(['PENDING', 'THROTTLED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED']),
  /** From 0 to 1. */
  progress: z.number().nullish().catch(null),
  output: z.array(z.string().min(1)).nullish(),
  failureCode: z.string().nullish().catch(null),
});
type Task = z.infer<typeof Task>;

const isWaiting = ({ status }: Task): boolean => status === 'PENDING' || status === 'THROTTLED';

function toResult({ status, progress, output, failureCode }: Task): PollResult {
  switch (status) {
    case 'PENDING':
    case 'THROTTLED':
      return { kind: 'pending' };
    case 'RUNNING':
      return { kind: 'pending', progress: Math.min(Math.max(Math.round((progress ?? 0) * 100), 0), 100) };
    case 'SUCCEEDED':
      return doneWith((output ?? []).map((url) => ({ url })));
    case 'FAILED':
    case 'CANCELLED': {
      const word = plainWord(failureCode ?? '');
      const detail = `the task is ${status} ${word}`.trim();
      // `ASSET.INVALID`: an input has a wrong format, size or length.
      if (/^ASSET\./.test(word)) return { kind: 'refused', code: 'upstream_failed', detail };
      return failedJob(detail, /\bSAFETY\b/.test(word));
    }
  }
}

/** The reason is prose: "You do not have enough credits to run this task." */
const readError: ReadError = (json) => {
  const error = ErrorBody.safeParse(json).data?.error;
  if (error === undefined) return null;
  return [
    ...(/enough credits/i.test(error) ? ['insufficient_credits'] : []),
    ...(/content moderation|safety/i.test(error) ? ['content_policy'] : []),
    ...(/model (variant )?.{0,100}not (available|found)/i.test(error) ? ['model_not_found'] : []),
  ];
};
const ErrorBody = z.object({ error: z.string() });
