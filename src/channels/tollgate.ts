import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { Attempt, PollResult } from '../domain/upstream.ts';
import type { CallOutcome, UpstreamCaller } from './call-upstream.ts';
import { classifySubmit, readOutcome } from './classify-outcome.ts';
import { ModelList } from './chat-call.ts';
import type { Adapter, CallOptions, MediaInput, MediaRequest, Operation, Upstream } from './channel.ts';
import { PathId, nothingMade, strangeReference, toUnsettled, unconfirmed } from './poll.ts';
import { readOpenaiError } from './openai-error.ts';
import { probeBy } from './probe.ts';

/**
 * Another Tollgate: images and video. Base URL is its origin; the credential is an API key of a project there. Its document
 * is our own (`README.md`), read on 2026-11-21. Its chat is spoken by the family `openai` with the base URL `…/api/v1`.
 *
 * Creating again with the same idempotency key answers the same task, so a lost answer is never a lost job.
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
    return classifySubmit(outcome, (json) => Job.safeParse(json).data ?? null, readOpenaiError);
  };

  return {
    submitMedia: create,
    findMedia: create,

    async pollMedia(upstream, operation, { signal }) {
      const job = Job.safeParse(operation).data;
      if (!job) return strangeReference;
      const outcome = await caller.call(upstream, {
        method: 'GET',
        path: `/api/v1/tasks/${job.task_id}`,
        headers: authorization(upstream),
        signal,
      });
      const polled = readTask(outcome);
      return polled.kind === 'ok' ? toResult(polled.value) : toUnsettled(polled);
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
      // It spares by itself what would be charged: 409 says that the task goes on.
      return unconfirmed(outcome);
    },

    probe: probeBy(caller, {
      path: '/api/v1/models',
      headers: authorization,
      shape: ModelList,
      readError: readOpenaiError,
    }),
  };
}

const authorization = (upstream: Upstream) => ({ authorization: `Bearer ${upstream.credential}` });

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

const readTask = (outcome: CallOutcome) =>
  readOutcome(outcome, (json) => Task.safeParse(json).data ?? null, readOpenaiError);

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
      return outputs.length > 0 ? { kind: 'done', outputs } : nothingMade('done without outputs');
    }
    case 'failed':
    case 'canceled': {
      // Whatever it was, it was refunded there; so the next channel may try, unless the request itself was turned down.
      const word = /^[a-z_]{1,64}$/.exec(error?.code ?? '')?.[0] ?? '';
      const detail = `the task ${status} ${word}`.trim();
      return word === 'content_policy_violation' ? { kind: 'refused', code: word, detail } : { kind: 'failed', detail };
    }
  }
}
