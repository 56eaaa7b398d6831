import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { Attempt, PollResult, UpstreamOutput } from '../domain/upstream.ts';
import type { Adapter, MediaRequest, Operation, Upstream } from './channel.ts';
import type { UpstreamCaller } from './call-upstream.ts';
import { classifySubmit, readOutcome, type ProviderError, type ReadError } from './classify-outcome.ts';
import { namedInputs } from './named-inputs.ts';
import { PathId, failedPoll, noOutputs, parsedBy, unreadableReference, unconfirmedStop, type Trouble } from './poll.ts';

/**
 * fal's queue: images and video. Base URL `https://queue.fal.run`.
 *
 * Read on 2026-11-21: https://fal.ai/docs/api-reference/inference-api (queue: submit, status, result, cancel) and
 * https://fal.ai/docs/documentation/model-apis/errors and …/request-errors.
 *
 * COMPLETED does not mean success, because the result may be an error. fal cannot find a job by our key, so `findMedia` is absent.
 */
export function createFal(caller: UpstreamCaller): Adapter {
  return {
    async submitMedia(upstream, request, { signal }) {
      const outcome = await caller.call(upstream, {
        method: 'POST',
        path: `/${segments(request.model).join('/')}`,
        // fal documents no idempotency key. The header helps to find a task in fal's logs.
        headers: { ...authorization(upstream), 'idempotency-key': request.idempotencyKey },
        body: toInput(request),
        signal,
      });
      return classifySubmit(outcome, (json) => toOperation(json, request.model), readError);
    },

    async pollMedia(upstream, operation, { signal }) {
      const job = Job.safeParse(operation).data;
      if (!job) return unreadableReference;
      const get = (path: string) =>
        caller.call(upstream, {
          method: 'GET',
          path: `${jobPath(job)}${path}`,
          headers: authorization(upstream),
          signal,
        });

      const status = readOutcome(await get('/status'), parsedBy(Status), readError);
      if (status.kind === 'trouble') return failedPoll(status);
      if (status.value.status !== 'COMPLETED') return { kind: 'pending' };
      const hasError = Boolean(status.value.error ?? status.value.error_type);
      const result = readOutcome(await get(''), parsedBy(Result), readError);
      return result.kind === 'ok' ? toDone(result.value, hasError) : toFailure(result, hasError);
    },

    async cancelMedia(upstream, operation, { signal, running }) {
      const job = Job.safeParse(operation).data;
      if (!job) return 'not_stopped';
      const call = (method: 'GET' | 'PUT', path: string) =>
        caller.call(upstream, {
          method,
          path: `${jobPath(job)}${path}`,
          headers: authorization(upstream),
          signal,
        });
      if (running === 'spare') {
        const status = readOutcome(await call('GET', '/status'), parsedBy(Status), readError);
        if (status.kind !== 'ok' || status.value.status !== 'IN_QUEUE') return 'not_stopped';
      }
      // 200 OK: the job left the queue and never runs. 202 CANCELLATION_REQUESTED: the runner was notified, but "the model app
      // decides how to stop", so the job may still finish and be billed. 400: the job was already complete.
      const outcome = await call('PUT', '/cancel');
      const answer = readOutcome(outcome, parsedBy(CancelAnswer), readError);
      return answer.kind === 'ok' && answer.status === 200 ? 'stopped' : unconfirmedStop(outcome);
    },

    async probe(upstream, { signal }): Promise<Attempt<true>> {
      // The queue has no free list of models. The status of a request that cannot exist is free and needs the key. A 404 with
      // fal's own error means that fal is reachable.
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
 * Image models take all images in one list. Video models take the first frame and the references separately. The catalog names
 * the inputs of models that differ.
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
  /** One flag for each image. A flagged image is black. */
  has_nsfw_concepts: z.array(z.boolean()).nullish(),
  /** Some apps report their error in a result with status 200. */
  error: z.unknown().optional(),
  detail: z.unknown().optional(),
});

const toOperation = (json: unknown, model: string): Operation | null => {
  const submitted = Submitted.safeParse(json);
  return submitted.success ? { app: appOf(model), request_id: submitted.data.request_id } : null;
};

const segments = (model: string): string[] => model.split('/').filter(Boolean).map(encodeURIComponent);

/**
 * Status, result and cancel have paths of owner and app only, without the rest of the model's path. We derive the paths and
 * ignore the reply's `status_url`, because a URL from a reply must never receive the channel's credential.
 */
const appOf = (model: string): string => {
  const parts = segments(model);
  const namespaced = parts[0] === 'workflows' || parts[0] === 'comfy';
  return parts.slice(0, namespaced ? 3 : 2).join('/');
};
const jobPath = ({ app, request_id }: z.infer<typeof Job>): string => `/${app}/requests/${request_id}`;

function toDone(result: z.infer<typeof Result>, hasError: boolean): PollResult {
  const images = [...(result.images ?? []), ...(result.image ? [result.image] : [])];
  const visible = images.filter((_, index) => result.has_nsfw_concepts?.[index] !== true);
  const media = [...visible, ...(result.videos ?? []), ...(result.video ? [result.video] : [])];
  // Some apps return their only clip twice, as `video` and in `videos`.
  const unique = media.filter(({ url }, index) => media.findIndex((other) => other.url === url) === index);
  if (unique.length > 0) return { kind: 'done', outputs: unique.map(toOutput) };
  const words = readError(result)?.words ?? [];
  if ((hasError || result.error || result.detail) && !words.includes('content_policy_violation')) {
    return { kind: 'failed', detail: 'completed with an error' };
  }
  return images.length > 0 ? noOutputs('every image was flagged') : noOutputs();
}

const toOutput = ({ url, content_type, width, height, duration }: z.infer<typeof Media>): UpstreamOutput => ({
  url,
  ...(content_type && { mimeType: content_type }),
  ...(width && { width }),
  ...(height && { height }),
  ...(duration && { duration }),
});

/** The result's path returns the failure of the job. The job ends only if the failure is certainly fal's answer about the job. */
function toFailure(trouble: Trouble, statusHasError: boolean): PollResult {
  const { errorClass, detail, status } = trouble;
  const common = { detail, ...(status !== undefined && { status }) };
  if (errorClass === 'content_policy') return { kind: 'refused', code: 'content_policy_violation', ...common };
  if (errorClass === 'rejected') {
    // fal sends this 400 if a partner of fal failed. The request is valid, so another channel may succeed.
    if (/\bdownstream_service_error\b/.test(detail)) return { kind: 'failed', ...common };
    if (/\bno_media_generated\b/.test(detail)) return { kind: 'refused', code: 'content_policy_violation', ...common };
    return { kind: 'refused', code: 'upstream_failed', ...common };
  }
  if (errorClass === 'provider_error' && (statusHasError || status === 500 || jobErrorWords.test(detail))) {
    return { kind: 'failed', ...common };
  }
  return failedPoll(trouble);
}

/** Words of jobs that have failed (…/request-errors, …/errors). A 502, 503 or 504 without them is from fal's gateway. */
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
  // fal reports an empty account in prose only: "User is locked. Reason: Exhausted balance."
  const locked = /exhausted balance|user is locked/i.test(request.data.detail);
  return {
    words: [...(locked ? ['exhausted_balance'] : []), ...(request.data.error_type ? [request.data.error_type] : [])],
  };
};
