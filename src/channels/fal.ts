import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { PollResult } from '../domain/upstream.ts';
import type { Adapter, CallOptions, MediaRequest, Operation, StopOptions, Upstream } from './channel.ts';
import type { UpstreamCaller } from './call-upstream.ts';
import { classifySubmit, readOutcome, type ReadError } from './classify-outcome.ts';
import { familyCalls, onJob } from './family-calls.ts';
import { namedInputs } from './media-inputs.ts';
import { PathId, doneWith, failedPoll, parsedBy, unreadableReference, unconfirmedStop, type Trouble } from './poll.ts';

/**
 * fal's queue: images and video. Base URL `https://queue.fal.run`.
 *
 * Read on 2026-11-21: https://fal.ai/docs/api-reference/inference-api (queue: submit, status, result, cancel) and
 * https://fal.ai/docs/documentation/model-apis/errors and …/request-errors.
 *
 * COMPLETED does not mean success, because the result may be an error. fal cannot find a job by our key, so `findMedia` is absent.
 */
export function createFal(caller: UpstreamCaller): Adapter {
  const { call, get, submit } = familyCalls(caller, { headers: authorization, readError });
  return {
    async submitMedia(upstream, request, options) {
      const path = `/${segments(request.model).join('/')}`;
      // fal documents no idempotency key. The header helps to find a task in fal's logs.
      const headers = { 'idempotency-key': request.idempotencyKey };
      return submit(upstream, { path, headers, body: toInput(request) }, readSubmitted(request.model), options);
    },

    pollMedia: onJob(Job, unreadableReference, async (upstream, job, options: CallOptions) => {
      const status = await get(upstream, `${pathOf(job)}/status`, Status, options);
      if (status.kind === 'trouble') return failedPoll(status);
      if (status.value.status !== 'COMPLETED') return { kind: 'pending' };
      const hasError = Boolean(status.value.error ?? status.value.error_type);
      const result = await get(upstream, pathOf(job), Result, options);
      return result.kind === 'ok' ? toDone(result.value, hasError) : toFailure(result, hasError);
    }),

    cancelMedia: onJob(Job, 'not_stopped', async (upstream, job, options: StopOptions) => {
      if (options.running === 'spare') {
        const status = await get(upstream, `${pathOf(job)}/status`, Status, options);
        if (status.kind !== 'ok' || status.value.status !== 'IN_QUEUE') return 'not_stopped';
      }
      // 200 OK: the job left the queue and never runs. 202 CANCELLATION_REQUESTED: the runner was notified, but "the model app
      // decides how to stop", so the job may still finish and be billed. 400: the job was already complete.
      const outcome = await call(upstream, { method: 'PUT', path: `${pathOf(job)}/cancel`, signal: options.signal });
      const answer = readOutcome(outcome, parsedBy(CancelAnswer), readError);
      return answer.kind === 'ok' && answer.status === 200 ? 'stopped' : unconfirmedStop(outcome);
    }),

    async probe(upstream, { signal }) {
      // The queue has no free list of models. The status of a request that cannot exist is free and needs the key. A 404 with
      // fal's own error means that fal is reachable.
      const job = { app: 'fal-ai/flux', request_id: '00000000-0000-0000-0000-000000000000' };
      const outcome = await call(upstream, { path: `${pathOf(job)}/status`, signal });
      const is404 = outcome.kind === 'answered' && outcome.status === 404;
      if (is404 && 'json' in outcome.body && readError(outcome.body.json)) return { kind: 'ok', value: true };
      return classifySubmit(outcome, (json): true | null => Status.safeParse(json).success || null, readError);
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

const positive = z
  .number()
  .positive()
  .nullish()
  .transform((value) => value ?? undefined);
const Media = z
  .object({
    url: z.string().min(1),
    content_type: z.string().nullish(),
    width: positive,
    height: positive,
    duration: positive,
  })
  .transform(({ content_type: mimeType, ...others }) => ({ ...others, mimeType: mimeType || undefined }));
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

const readSubmitted =
  (model: string) =>
  (json: unknown): Operation | null => {
    const submitted = Submitted.safeParse(json).data;
    return submitted ? { app: appOf(model), ...submitted } : null;
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
const pathOf = ({ app, request_id }: z.infer<typeof Job>): string => `/${app}/requests/${request_id}`;

function toDone(result: z.infer<typeof Result>, hasError: boolean): PollResult {
  const images = [...(result.images ?? []), ...(result.image ? [result.image] : [])];
  const visible = images.filter((_, index) => result.has_nsfw_concepts?.[index] !== true);
  const media = [...visible, ...(result.videos ?? []), ...(result.video ? [result.video] : [])];
  // Some apps return their only clip twice, as `video` and in `videos`.
  const unique = media.filter(({ url }, index) => media.findIndex((other) => other.url === url) === index);
  const isError = hasError || Boolean(result.error || result.detail);
  if (unique.length === 0 && isError && !readError(result)?.includes('content_policy_violation')) {
    return { kind: 'failed', detail: 'completed with an error' };
  }
  return doneWith(unique, images.length > 0 ? 'every image was flagged' : undefined);
}

/** The result's path returns the failure of the job. The job ends only if the failure is certainly fal's answer about the job. */
function toFailure(trouble: Trouble, statusHasError: boolean): PollResult {
  const { errorClass, detail, status } = trouble;
  const common = { detail, status };
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

const readError: ReadError = (json) => {
  const model = ModelErrors.safeParse(json).data;
  if (model) return model.detail.map(({ type }) => type);
  const request = RequestError.safeParse(json).data;
  if (!request) return null;
  // fal reports an empty account in prose only: "User is locked. Reason: Exhausted balance."
  const isLocked = /exhausted balance|user is locked/i.test(request.detail);
  return [...(isLocked ? ['exhausted_balance'] : []), ...(request.error_type ? [request.error_type] : [])];
};
