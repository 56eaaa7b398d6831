import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import { anyNumber, type MediaTypes } from '../domain/tasks/media-support.ts';
import type { PollResult } from '../domain/channels/upstream.ts';
import type { Adapter, CallOptions, MediaRequest, StopOptions, Upstream } from './channel.ts';
import type { UpstreamCaller } from './upstream/call-upstream.ts';
import { toSubmit } from './upstream/classify-outcome.ts';
import { onProviderJob } from './upstream/family-calls.ts';
import { mediaCalls } from './media/media-calls.ts';
import { namedInputs } from './media/media-inputs.ts';
import { readMediaOutcome } from './media/media-outcome.ts';
import { failedPoll, parsedBy, unreadableReference, unconfirmedStop, type PollTrouble } from './media/poll.ts';
import { falAnswers as answers } from './reading/fal-answers.ts';
import { SavedId, pathSegment } from './reading/provider-job-id.ts';

/**
 * fal's queue: images and video. Base URL `https://queue.fal.run`.
 *
 * Read on 2026-11-21: https://fal.ai/docs/api-reference/inference-api (queue: submit, status, result, cancel) and
 * https://fal.ai/docs/documentation/model-apis/errors and …/request-errors.
 *
 * COMPLETED does not mean success, because the result may be an error. fal cannot find a job by our key, so `findMedia` is absent.
 */
export function createFal(caller: UpstreamCaller): Adapter {
  const { call, ask, submit } = mediaCalls(caller, { headers: authorization, answers });
  return {
    async submitMedia(upstream, request, options) {
      const path = `/${segments(request.model).join('/')}`;
      const app = appOf(request.model);
      return submit(
        upstream,
        { request, path, body: toInput(request) },
        (request_id) => ({ app, request_id }),
        options,
      );
    },

    pollMedia: onProviderJob(SavedRef, unreadableReference, async (upstream, ref, options: CallOptions) => {
      const status = await ask(upstream, `${pathOf(ref)}/status`, answers.status, options);
      if (status.kind === 'trouble') return failedPoll(status);
      if (status.value.kind !== 'completed') return status.value;
      const { hasError } = status.value;
      const result = await ask(upstream, pathOf(ref), (json) => answers.output(json, hasError), options);
      return result.kind === 'ok' ? result.value : toFailure(result, hasError);
    }),

    cancelMedia: onProviderJob(SavedRef, 'not_stopped', async (upstream, ref, options: StopOptions) => {
      if (options.running === 'spare') {
        const status = await ask(upstream, `${pathOf(ref)}/status`, answers.state, options);
        if (status.kind !== 'ok' || status.value !== 'queued') return 'not_stopped';
      }
      // 200 OK: the job left the queue and never runs. 202 CANCELLATION_REQUESTED: the runner was notified, but "the model app
      // decides how to stop", so the job may still finish and be billed. 400: the job was already complete.
      const outcome = await call(upstream, { method: 'PUT', path: `${pathOf(ref)}/cancel`, signal: options.signal });
      const answer = readMediaOutcome(outcome, parsedBy(CancelAnswer), answers.error);
      return answer.kind === 'ok' && answer.status === 200 ? 'stopped' : unconfirmedStop(outcome);
    }),

    async probe(upstream, { signal }) {
      // The queue has no free list of models. The status of a request that cannot exist is free and needs the key. A 404 with
      // fal's own error means that fal is reachable.
      const ref = { app: 'fal-ai/flux', request_id: '00000000-0000-0000-0000-000000000000' };
      const outcome = await call(upstream, { path: `${pathOf(ref)}/status`, signal });
      const is404 = outcome.kind === 'answered' && outcome.status === 404;
      if (is404 && 'json' in outcome.body && answers.error(outcome.body.json)) return { kind: 'ok', value: true };
      const isStatus = (json: unknown): true | null => answers.state(json) !== 'absent' || null;
      return toSubmit(readMediaOutcome(outcome, isStatus, answers.error));
    },
  };
}

const authorization = (upstream: Upstream) => ({ authorization: `Key ${upstream.credential}` });

/** Each endpoint has its own inputs, and takes those that the catalog names for it. */
export const falMedia: MediaTypes = {
  takesInputNames: true,
  image: { most: { image: 1, reference_images: anyNumber, video_url: 1, audio_url: 1 } },
  video: { most: { image: 1, reference_images: anyNumber, video_url: 1, audio_url: 1 } },
};

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

const SavedRef = z.object({ app: z.string(), request_id: SavedId });
const CancelAnswer = z.object({ status: z.string().regex(/^ok$/i) });

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
const pathOf = ({ app, request_id }: z.infer<typeof SavedRef>): string => `/${app}/requests/${pathSegment(request_id)}`;

/** The result's path returns the failure of the job. The job ends only if the failure is certainly fal's answer about the job. */
function toFailure(trouble: PollTrouble, statusHasError: boolean): PollResult {
  const { errorClass, detail, status } = trouble;
  const common = { detail, status };
  if (errorClass === 'content_policy') return { kind: 'refused', code: 'content_policy_violation', ...common };
  if (errorClass === 'job_failed') return { kind: 'failed', ...common };
  if (errorClass === 'rejected') return { kind: 'refused', code: 'upstream_failed', ...common };
  if (errorClass === 'provider_error' && (statusHasError || status === 500 || failureWords.test(detail))) {
    return { kind: 'failed', ...common };
  }
  return failedPoll(trouble);
}

/** Words of jobs that have failed (…/request-errors, …/errors). A 502, 503 or 504 without them is from fal's gateway. */
const failureWords =
  /\b(request_timeout|startup_timeout|runner_\w+|internal_error|internal_server_error|generation_timeout|downstream_service_\w+)\b/;
