import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import { anyNumber, type MediaTypes } from '../domain/tasks/media-support.ts';
import type { MediaInputKey } from '../domain/catalog/parameter-value.ts';
import { bearerAuthorization, type UpstreamCaller } from './upstream/call-upstream.ts';
import type { Adapter, MediaRequest, StopOptions } from './channel.ts';
import { onProviderJob } from './upstream/family-calls.ts';
import { mediaCalls } from './media/media-calls.ts';
import { namedInputs } from './media/media-inputs.ts';
import { readMediaOutcome } from './media/media-outcome.ts';
import { unconfirmedStop } from './media/poll.ts';
import { SavedId, pathSegment } from './reading/provider-job-id.ts';
import { isFinalState } from './reading/provider-job-state.ts';
import { replicateAnswers as answers } from './reading/replicate-answers.ts';

/**
 * Replicate's predictions: images and video. Base URL `https://api.replicate.com/v1`.
 *
 * Read on 2026-11-21: https://replicate.com/docs/reference/http (predictions.create, .get, .cancel, models.predictions.create,
 * account.get), …/docs/topics/predictions/create-a-prediction and …/docs/topics/predictions/lifecycle.
 *
 * A model is `owner/name`, or `owner/name:version` for a community model. Models differ in the names of their inputs (catalog:
 * `inputs`). The create call waits for an image but not for a clip, because a longer call risks losing the reference with the
 * answer. Replicate cannot find a job by our key.
 */
export function createReplicate(caller: UpstreamCaller): Adapter {
  const { call, ask, submit, pollBy, probeBy } = mediaCalls(caller, {
    headers: bearerAuthorization,
    answers,
    mayWait: true,
  });
  return {
    async submitMedia(upstream, request, options) {
      const { path, version } = endpointOf(request.model);
      const headers: Record<string, string> = request.type === 'image' ? { prefer: `wait=${waitSeconds}` } : {};
      const body = { version, input: toInput(request) };
      return submit(upstream, { request, path, headers, body }, (prediction_id) => ({ prediction_id }), options);
    },

    pollMedia: pollBy(SavedRef, pathOf),

    cancelMedia: onProviderJob(SavedRef, 'not_stopped', async (upstream, ref, options: StopOptions) => {
      // A cancel also stops a running job, and Replicate bills the time that it ran.
      const poll = options.running === 'spare' ? await ask(upstream, pathOf(ref), answers.state, options) : null;
      if (poll && poll.kind !== 'ok') return 'not_stopped';
      if (poll && poll.value !== 'queued') return poll.value === 'canceled' ? 'stopped' : 'not_stopped';
      const path = `${pathOf(ref)}/cancel`;
      const outcome = await call(upstream, { method: 'POST', path, signal: options.signal });
      const answer = readMediaOutcome(outcome, answers.state, answers.error);
      if (answer.kind !== 'ok') return unconfirmedStop(outcome);
      // The job may have started since the poll. Then a part of it is billed, but it is still stopped.
      if (answer.value === 'canceled') return 'stopped';
      return isFinalState(answer.value) ? 'not_stopped' : 'unclear';
    }),

    probe: probeBy('/account', ReplicateAccount),
  };
}

/** Many images are ready within this time. A model with a cold start takes minutes. */
const waitSeconds = 5;

function endpointOf(model: string): { path: string; version?: string } {
  const [owner = '', name = ''] = model.split('/');
  if (name === '' || name.includes(':')) return { path: '/predictions', version: model };
  return { path: `/models/${encodeURIComponent(owner)}/${encodeURIComponent(name)}/predictions` };
}

/** Each model has its own inputs, and takes those that the catalog names for it. */
export const replicateMedia: MediaTypes = {
  takesInputNames: true,
  image: { most: { image: 1, reference_images: anyNumber, video_url: 1, audio_url: 1 } },
  video: { most: { image: 1, reference_images: anyNumber, video_url: 1, audio_url: 1 } },
};

/** The names of the inputs in most models. */
const usualNames: Record<MediaInputKey, string> = {
  image: 'image',
  reference_images: 'reference_images',
  video_url: 'video',
  audio_url: 'audio',
};

const toInput = (request: MediaRequest): JsonObject => ({
  ...request.parameters,
  prompt: request.prompt,
  ...namedInputs(request, usualNames),
});

const ReplicateAccount = z.object({ type: z.string() });
const SavedRef = z.object({ prediction_id: SavedId });
const pathOf = (ref: z.infer<typeof SavedRef>): string => `/predictions/${pathSegment(ref.prediction_id)}`;
