import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { Attempt, PollResult } from '../domain/upstream.ts';
import { bearerAuthorization as authorization, type CallOutcome, type UpstreamCaller } from './call-upstream.ts';
import { classifySubmit, readOutcome } from './classify-outcome.ts';
import { ModelList } from './chat-call.ts';
import type { Adapter, CallOptions, MediaInput, MediaRequest, Operation, Upstream } from './channel.ts';
import { PathId, failedPoll, noOutputs, parsedBy, unconfirmedStop, unreadableReference } from './poll.ts';
import { readOpenaiError } from './openai-error.ts';
import { probeBy } from './probe.ts';

/**
 * Another Tollgate: images and video. The base URL is its origin, and the credential is an API key of one of its projects. The
 * documentation is our own (`docs/API.md`), read on 2026-11-21. For chat use the family `openai` with the base URL `…/api/v1`.
 *
 * A repeated create with the same idempotency key returns the same task, so a lost answer never loses a job.
 */
export function createTollgate(caller: UpstreamCaller): Adapter {
  const create = async (
    upstream: Upstream,
    request: MediaRequest,
    { signal }: CallOptions,
  ): Promise<Attempt<Operation>> => {
    const outcome = await caller.call(upstream, {
      method: 'POST',
      path: request.type === 'image' ? '/api/v1/images/generate' : '/api/v1/video/generate',
      headers: { ...authorization(upstream), 'idempotency-key': request.idempotencyKey },
      body: toBody(request),
      signal,
    });
    return classifySubmit(outcome, parsedBy(Job), readOpenaiError);
  };

  return {
    submitMedia: create,
    findMedia: create,

    async pollMedia(upstream, operation, { signal }) {
      const job = Job.safeParse(operation).data;
      if (!job) return unreadableReference;
      const outcome = await caller.call(upstream, {
        method: 'GET',
        path: `/api/v1/tasks/${job.task_id}`,
        headers: authorization(upstream),
        signal,
      });
      const poll = readTask(outcome);
      return poll.kind === 'ok' ? toResult(poll.value) : failedPoll(poll);
    },

    async cancelMedia(upstream, operation, { signal }) {
      const job = Job.safeParse(operation).data;
      if (!job) return 'not_stopped';
      const outcome = await caller.call(upstream, {
        method: 'POST',
        path: `/api/v1/tasks/${job.task_id}/cancel`,
        headers: authorization(upstream),
        signal,
      });
      const answer = readTask(outcome);
      if (answer.kind === 'ok') return answer.value.status === 'canceled' ? 'stopped' : 'not_stopped';
      // The other gateway refuses to stop a job that it would be charged for: 409 means that the task continues.
      return unconfirmedStop(outcome);
    },

    probe: probeBy(caller, {
      path: '/api/v1/models',
      headers: authorization,
      shape: ModelList,
      readError: readOpenaiError,
    }),
  };
}

const toBody = (request: MediaRequest): JsonObject => ({
  ...request.parameters,
  model: request.model,
  prompt: request.prompt,
  ...(request.image && { image: request.image.url }),
  ...(request.referenceImages && { reference_images: request.referenceImages.map(({ url }: MediaInput) => url) }),
  ...(request.videoUrl && { video_url: request.videoUrl.url }),
  ...(request.audioUrl && { audio_url: request.audioUrl.url }),
});

const Job = z.object({ task_id: PathId });
const positive = z.number().positive().nullish().catch(null);
const Task = z.object({
  task_id: z.string(),
  status: z.enum(['queued', 'processing', 'succeeded', 'failed', 'canceled']),
  progress: z.number().min(0).max(100).nullish().catch(null),
  output: z
    .array(
      z.object({
        url: z.string().min(1),
        mime_type: z.string().nullish().catch(null),
        width: positive,
        height: positive,
        duration: positive,
      }),
    )
    .nullish(),
  error: z.object({ code: z.string() }).nullish().catch(null),
});

const readTask = (outcome: CallOutcome) => readOutcome(outcome, parsedBy(Task), readOpenaiError);

function toResult({ status, progress, output, error }: z.infer<typeof Task>): PollResult {
  switch (status) {
    case 'queued':
    case 'processing':
      return { kind: 'pending', ...(progress != null && { progress: Math.round(progress) }) };
    case 'succeeded': {
      const outputs = (output ?? []).map(({ url, mime_type: mimeType, width, height, duration }) => ({
        url,
        ...(mimeType && { mimeType }),
        ...(width && { width }),
        ...(height && { height }),
        ...(duration && { duration }),
      }));
      return outputs.length > 0 ? { kind: 'done', outputs } : noOutputs();
    }
    case 'failed':
    case 'canceled': {
      // The other gateway has refunded the task, so the next channel may try, unless the content policy refused the request.
      const word = /^[a-z_]{1,64}$/.exec(error?.code ?? '')?.[0] ?? '';
      const detail = `the task ${status} ${word}`.trim();
      return word === 'content_policy_violation' ? { kind: 'refused', code: word, detail } : { kind: 'failed', detail };
    }
  }
}
