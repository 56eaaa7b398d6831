import { z } from 'zod';
import { anyNumber, type MediaTypes } from '../domain/tasks/media-support.ts';
import { bearerAuthorization, type RequestBody, type UpstreamCaller } from './upstream/call-upstream.ts';
import type { Adapter, CallOptions, MediaRequest, StopOptions, Upstream } from './channel.ts';
import { familyCalls, onProviderJob } from './upstream/family-calls.ts';
import { ProviderModelList } from './upstream/list-models.ts';
import { mediaCalls } from './media/media-calls.ts';
import { readMediaOutcome } from './media/media-outcome.ts';
import { unconfirmedStop } from './media/poll.ts';
import { SavedId, pathSegment } from './reading/provider-job-id.ts';
import { tollgateAnswers as answers } from './reading/tollgate-answers.ts';

/**
 * Another Tollgate: images and video. The base URL is its origin, and the credential is an API key of one of its projects. The
 * documentation is our own (`docs/API.md`), read on 2026-11-21. For chat use the family `openai` with the base URL `…/api/v1`.
 *
 * A repeated create with the same idempotency key returns the same task, so a lost answer never loses a job.
 */
export function createTollgate(caller: UpstreamCaller): Adapter {
  const { call, submit, pollBy, probeBy } = mediaCalls(caller, { headers: bearerAuthorization, answers });
  const { openaiListBy } = familyCalls(caller, { headers: bearerAuthorization, readError: answers.error });
  const create = (upstream: Upstream, request: MediaRequest, options: CallOptions) => {
    const path = request.type === 'image' ? '/api/v1/images/generate' : '/api/v1/video/generate';
    return submit(upstream, { request, path, body: toBody(request) }, (task_id) => ({ task_id }), options);
  };

  return {
    submitMedia: create,
    async findMedia(upstream, request, options) {
      const created = await create(upstream, request, options);
      // A create is never answered with results; without a task it says nothing about an earlier one.
      return created.kind === 'done' ? { kind: 'unknown', errorClass: 'unreadable', detail: 'no task' } : created;
    },
    pollMedia: pollBy(SavedRef, pathOf),

    cancelMedia: onProviderJob(SavedRef, 'not_stopped', async (upstream, ref, { signal }: StopOptions) => {
      const outcome = await call(upstream, { method: 'POST', path: `${pathOf(ref)}/cancel`, signal });
      const answer = readMediaOutcome(outcome, answers.state, answers.error);
      if (answer.kind === 'ok') return answer.value === 'canceled' ? 'stopped' : 'not_stopped';
      // The other gateway refuses to stop a job that it would be charged for: 409 means that the task continues.
      return unconfirmedStop(outcome);
    }),

    probe: probeBy('/api/v1/models', ProviderModelList),
    listModels: openaiListBy('/api/v1/models'),
  };
}

/** Which of them a model takes is up to the other gateway. */
export const tollgateMedia: MediaTypes = {
  image: { most: { image: 1, reference_images: anyNumber, video_url: 1, audio_url: 1 } },
  video: { most: { image: 1, reference_images: anyNumber, video_url: 1, audio_url: 1 } },
};

const toBody = ({ image, referenceImages, videoUrl, audioUrl, ...request }: MediaRequest): RequestBody => ({
  ...request.parameters,
  model: request.model,
  prompt: request.prompt,
  image: image?.url,
  reference_images: referenceImages?.map(({ url }) => url),
  video_url: videoUrl?.url,
  audio_url: audioUrl?.url,
});

const SavedRef = z.object({ task_id: SavedId });
const pathOf = (ref: z.infer<typeof SavedRef>): string => `/api/v1/tasks/${pathSegment(ref.task_id)}`;
