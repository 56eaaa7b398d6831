import { z } from 'zod';
import type { PollResult } from '../domain/upstream.ts';
import { bearerAuthorization, type RequestBody, type UpstreamCaller } from './call-upstream.ts';
import { plainWord, readOutcome } from './classify-outcome.ts';
import { ModelList } from './chat-call.ts';
import type { Adapter, CallOptions, MediaRequest, StopOptions, Upstream } from './channel.ts';
import { familyCalls, onJob } from './family-calls.ts';
import { PathId, doneWith, failedJob, parsedBy, unconfirmedStop } from './poll.ts';
import { readOpenaiError as readError } from './openai-error.ts';

/**
 * Another Tollgate: images and video. The base URL is its origin, and the credential is an API key of one of its projects. The
 * documentation is our own (`docs/API.md`), read on 2026-11-21. For chat use the family `openai` with the base URL `…/api/v1`.
 *
 * A repeated create with the same idempotency key returns the same task, so a lost answer never loses a job.
 */
export function createTollgate(caller: UpstreamCaller): Adapter {
  const { call, submit, pollBy, probeBy, modelListBy } = familyCalls(caller, {
    headers: bearerAuthorization,
    readError,
  });
  const create = (upstream: Upstream, request: MediaRequest, options: CallOptions) => {
    const path = request.type === 'image' ? '/api/v1/images/generate' : '/api/v1/video/generate';
    const headers = { 'idempotency-key': request.idempotencyKey };
    return submit(upstream, { path, headers, body: toBody(request) }, parsedBy(Job), options);
  };

  return {
    submitMedia: create,
    findMedia: create,
    pollMedia: pollBy(Job, pathOf, Task, toResult),

    cancelMedia: onJob(Job, 'not_stopped', async (upstream, job, { signal }: StopOptions) => {
      const outcome = await call(upstream, { method: 'POST', path: `${pathOf(job)}/cancel`, signal });
      const answer = readOutcome(outcome, parsedBy(Task), readError);
      if (answer.kind === 'ok') return answer.value.status === 'canceled' ? 'stopped' : 'not_stopped';
      // The other gateway refuses to stop a job that it would be charged for: 409 means that the task continues.
      return unconfirmedStop(outcome);
    }),

    probe: probeBy('/api/v1/models', ModelList),
    listModels: modelListBy('/api/v1/models', ModelList, ({ data }) => ({
      names: data.map(({ id }) => id),
      next: null,
    })),
  };
}

const toBody = ({ image, referenceImages, videoUrl, audioUrl, ...request }: MediaRequest): RequestBody => ({
  ...request.parameters,
  model: request.model,
  prompt: request.prompt,
  image: image?.url,
  reference_images: referenceImages?.map(({ url }) => url),
  video_url: videoUrl?.url,
  audio_url: audioUrl?.url,
});

const Job = z.object({ task_id: PathId });
const pathOf = (job: z.infer<typeof Job>): string => `/api/v1/tasks/${job.task_id}`;

const positive = z.number().positive().optional().catch(undefined);
const Output = z.object({
  url: z.string().min(1),
  mime_type: z.string().min(1).optional().catch(undefined),
  width: positive,
  height: positive,
  duration: positive,
});
const Task = z.object({
  task_id: z.string(),
  status: z.enum(['queued', 'processing', 'succeeded', 'failed', 'canceled']),
  progress: z.number().min(0).max(100).nullish().catch(null),
  output: z.array(Output).nullish(),
  error: z.object({ code: z.string() }).nullish().catch(null),
});

function toResult({ status, progress, output, error }: z.infer<typeof Task>): PollResult {
  switch (status) {
    case 'queued':
    case 'processing':
      return { kind: 'pending', ...(progress != null && { progress: Math.round(progress) }) };
    case 'succeeded':
      return doneWith((output ?? []).map(({ mime_type: mimeType, ...others }) => ({ ...others, mimeType })));
    case 'failed':
    case 'canceled': {
      // The other gateway has refunded the task, so the next channel may try, unless the content policy refused the request.
      const word = plainWord(error?.code ?? '');
      return failedJob(`the task ${status} ${word}`.trim(), word === 'content_policy_violation');
    }
  }
}
