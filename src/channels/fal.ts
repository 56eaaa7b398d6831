import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { Attempt, PollResult, UpstreamOutput } from '../domain/upstream.ts';
import type { Adapter, MediaRequest, Operation, Upstream } from './channel.ts';
import type { UpstreamCaller } from './call-upstream.ts';
import { classifySubmit, readOutcome, type ProviderError, type ReadError } from './classify-outcome.ts';
import { namedInputs } from './named-inputs.ts';
import { PathId, toUnsettled, unconfirmed, type Trouble } from './poll.ts';

/**
 * fal's queue: images and video. Base URL `https://queue.fal.run`.
 *
 * Read on 2026-11-21: https://fal.ai/docs/api-reference/inference-api (queue: submit, status, result, cancel) and
 * https://fal.ai/docs/documentation/model-apis/errors and …/request-errors.
 *
 * COMPLETED does not mean success: the error is in the result. fal has no lookup by a key of ours, so `findMedia` is absent.
 */
export function createFal(caller: UpstreamCaller): Adapter {
  return {
    async submitMedia(upstream, request, { signal }) {
      const outcome = await caller.call(upstream, {
        method: 'POST',
        path: `/${segments(request.model).join('/')}`,
        // fal documents no idempotency key. It is sent for the day it does, and for whoever searches fal's logs for a task.
        headers: { ...authorization(upstream), 'idempotency-key': request.idempotencyKey },
        body: toInput(request),
        signal,
      });
      return classifySubmit(outcome, (json) => toOperation(json, request.model), readError);
    },

    async pollMedia(upstream, operation, { signal }) {
      const job = Job.safeParse(operation);
      if (!job.success) return { kind: 'missing', detail: 'the saved reference cannot be read' };
      const read = (path: string) =>
        caller.call(upstream, {
          method: 'GET',
          path: `${jobPath(job.data)}${path}`,
          headers: authorization(upstream),
          signal,
        });

      const status = readOutcome(await read('/status'), (json) => Status.safeParse(json).data ?? null, readError);
      if (status.kind === 'trouble') return toUnsettled(status);
      if (status.value.status !== 'COMPLETED') return { kind: 'pending' };
      const saidError = Boolean(status.value.error ?? status.value.error_type);
      const result = readOutcome(await read(''), (json) => Result.safeParse(json).data ?? null, readError);
      return result.kind === 'ok' ? toDone(result.value, saidError) : toFailure(result, saidError);
    },

    async cancelMedia(upstream, operation, { signal, running }) {
      const job = Job.safeParse(operation);
      if (!job.success) return 'not_stopped';
      const call = (method: 'GET' | 'PUT', path: string) =>
        caller.call(upstream, {
          method,
          path: `${jobPath(job.data)}${path}`,
          headers: authorization(upstream),
          signal,
        });
      if (running === 'spare') {
        const polled = readOutcome(
          await call('GET', '/status'),
          (json) => Status.safeParse(json).data ?? null,
          readError,
        );
        if (polled.kind !== 'ok' || polled.value.status !== 'IN_QUEUE') return 'not_stopped';
      }
      // 200 OK: taken out of the queue, it never runs. 202 CANCELLATION_REQUESTED only says that the runner was asked, and
      // "the model app decides how to stop": it may still finish and be billed. 400: it was already complete.
      const outcome = await call('PUT', '/cancel');
      const answer = readOutcome(outcome, (json) => CancelAnswer.safeParse(json).data ?? null, readError);
      return answer.kind === 'ok' && answer.status === 200 ? 'stopped' : unconfirmed(outcome);
    },

    async probe(upstream, { signal }): Promise<Attempt<true>> {
      // The queue has no free list of models. The status of a request that cannot exist is free, needs the key, and a
      // 404 in fal's own words says that fal is there.
      const outcome = await caller.call(upstream, {
        method: 'GET',
        path: `${jobPath({ app: 'fal-ai/flux', request_id: '00000000-0000-0000-0000-000000000000' })}/status`,
        headers: authorization(upstream),
        signal,
      });
      if (
        outcome.kind === 'answered' &&
        outcome.status === 404 &&
        'json' in outcome.body &&
        readError(outcome.body.json)
      ) {
        return { kind: 'ok', value: true };
      }
      return classifySubmit(outcome, (json): true | null => (Status.safeParse(json).success ? true : null), readError);
    },
  };
}

const authorization = (upstream: Upstream) => ({ authorization: `Key ${upstream.credential}` });

/**
 * Image models with several pictures read one list; video models keep the first frame apart from the references. Models of
 * other habits say so in the catalog.
 */
function toInput(request: MediaRequest): JsonObject {
  const hasReferences = (request.referenceImages ?? []).length > 0;
  const usualNames = {
    image: request.type === 'image' && hasReferences ? 'image_urls' : 'image_url',
    reference_images: request.type === 'image' ? 'image_urls' : 'reference_image_urls',
    video_url: 'video_url',
    audio_url: 'audio_url',
  };
  return { ...request.parameters, prompt: request.prompt, ...namedInputs(request, usualNames) };
}

const Submitted = z.object({ request_id: PathId });
const Job = z.object({ app: z.string(), request_id: PathId });
const Status = z.object({
  status: z.enum(['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED']),
  error: z.unknown().optional(),
  error_type: z.string().nullish(),
});
const CancelAnswer = z.object({ status: z.literal('OK') });

const Media = z.object({
  url: z.string().min(1),
  content_type: z.string().nullish(),
  width: z.number().positive().nullish(),
  height: z.number().positive().nullish(),
  duration: z.number().positive().nullish(),
});
const Result = z.object({
  images: z.array(Media).nullish(),
  image: Media.nullish(),
  videos: z.array(Media).nullish(),
  video: Media.nullish(),
  /** One flag for each picture; a flagged picture is a black one. */
  has_nsfw_concepts: z.array(z.boolean()).nullish(),
  /** Some apps answer 200 with their error in the result. */
  error: z.unknown().optional(),
  detail: z.unknown().optional(),
});

const toOperation = (json: unknown, model: string): Operation | null => {
  const submitted = Submitted.safeParse(json);
  return submitted.success ? { app: appOf(model), request_id: submitted.data.request_id } : null;
};

const segments = (model: string): string[] => model.split('/').filter(Boolean).map(encodeURIComponent);

/**
 * Status, result and cancel live under owner and app only, without the model's further path. They are derived and not taken
 * from the reply's `status_url`: a URL out of a reply would be sent the channel's credential.
 */
const appOf = (model: string): string => {
  const parts = segments(model);
  const namespaced = parts[0] === 'workflows' || parts[0] === 'comfy';
  return parts.slice(0, namespaced ? 3 : 2).join('/');
};
const jobPath = ({ app, request_id }: z.infer<typeof Job>): string => `/${app}/requests/${request_id}`;

function toDone(result: z.infer<typeof Result>, saidError: boolean): PollResult {
  const pictures = [...(result.images ?? []), ...(result.image ? [result.image] : [])];
  const shown = pictures.filter((_, index) => result.has_nsfw_concepts?.[index] !== true);
  const media = [...shown, ...(result.videos ?? []), ...(result.video ? [result.video] : [])];
  // Some apps name their one clip twice, as `video` and in `videos`.
  const once = media.filter(({ url }, index) => media.findIndex((other) => other.url === url) === index);
  if (once.length > 0) return { kind: 'done', outputs: once.map(toOutput) };
  const words = readError(result)?.words ?? [];
  if ((saidError || result.error || result.detail) && !words.includes('content_policy_violation')) {
    return { kind: 'failed', detail: 'completed with an error' };
  }
  const detail = pictures.length > 0 ? 'every picture was flagged' : 'done without outputs';
  return { kind: 'refused', code: 'content_policy_violation', detail };
}

const toOutput = ({ url, content_type, width, height, duration }: z.infer<typeof Media>): UpstreamOutput => ({
  url,
  ...(content_type && { mimeType: content_type }),
  ...(width && { width }),
  ...(height && { height }),
  ...(duration && { duration }),
});

/** The result's address answers with the job's own failure; only what fal surely says about the job ends it. */
function toFailure(trouble: Trouble, statusSaidError: boolean): PollResult {
  const { errorClass, detail, status } = trouble;
  const told = { detail, ...(status !== undefined && { status }) };
  if (errorClass === 'content_policy') return { kind: 'refused', code: 'content_policy_violation', ...told };
  if (errorClass === 'rejected') {
    // Status 400 for fal's own trouble with a partner: not the request's fault, so another channel may do better.
    if (/\bdownstream_service_error\b/.test(detail)) return { kind: 'failed', ...told };
    if (/\bno_media_generated\b/.test(detail)) return { kind: 'refused', code: 'content_policy_violation', ...told };
    return { kind: 'refused', code: 'upstream_failed', ...told };
  }
  if (errorClass === 'provider_error' && (statusSaidError || status === 500 || jobErrorWords.test(detail))) {
    return { kind: 'failed', ...told };
  }
  return toUnsettled(trouble);
}

/** Words that only a finished, failed job carries (…/request-errors, …/errors). A bare 502, 503 or 504 is the gateway's. */
const jobErrorWords =
  /\b(request_timeout|startup_timeout|runner_\w+|internal_error|internal_server_error|generation_timeout|downstream_service_\w+)\b/;

/** Model errors: `detail` is a list of `{type, msg, loc}`. Request errors: `detail` is prose beside `error_type`. */
const ModelErrors = z.object({ detail: z.array(z.object({ type: z.string() })).min(1) });
const RequestError = z.object({ detail: z.string(), error_type: z.string().nullish() });

const readError: ReadError = (json): ProviderError | null => {
  const model = ModelErrors.safeParse(json);
  if (model.success) return { words: model.data.detail.map(({ type }) => type) };
  const request = RequestError.safeParse(json);
  if (!request.success) return null;
  // An empty account is told in prose only: "User is locked. Reason: Exhausted balance."
  const locked = /exhausted balance|user is locked/i.test(request.data.detail);
  return {
    words: [...(locked ? ['exhausted_balance'] : []), ...(request.data.error_type ? [request.data.error_type] : [])],
  };
};
