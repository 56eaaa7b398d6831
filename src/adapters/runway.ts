import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import { anyNumber, type MediaTypes } from '../domain/tasks/media-support.ts';
import type { UpstreamCaller } from './upstream/call-upstream.ts';
import type { Adapter, MediaRequest, StopOptions, Upstream } from './channel.ts';
import { onProviderJob } from './upstream/family-calls.ts';
import { mediaCalls } from './media/media-calls.ts';
import { unconfirmedStop } from './media/poll.ts';
import { SavedId, pathSegment } from './reading/provider-job-id.ts';
import { runwayAnswers as answers } from './reading/runway-answers.ts';

/**
 * Runway: images and video. Base URL `https://api.dev.runwayml.com/v1`.
 *
 * Read on 2026-11-22: https://docs.dev.runwayml.com/errors/task-failures/, …/errors/errors/ and the types of @runwayml/sdk 4.20.1
 * (`text-to-video`, `image-to-video`, `video-to-video`, `text-to-image`, `tasks`, `organization`).
 *
 * Runway cannot find a job by our key. Right after the submit a task can be unknown for some seconds.
 */
export function createRunway(caller: UpstreamCaller): Adapter {
  const { call, ask, submit, pollBy, probeBy } = mediaCalls(caller, { headers: runwayHeaders, answers });
  return {
    async submitMedia(upstream, request, options) {
      return submit(upstream, { request, ...toCall(request) }, (task_id) => ({ task_id }), options);
    },

    pollMedia: pollBy(SavedRef, pathOf),

    cancelMedia: onProviderJob(SavedRef, 'not_stopped', async (upstream, ref, options: StopOptions) => {
      // DELETE stops a task that waits or runs, but it deletes the record and the results of an ended one.
      const before = await ask(upstream, pathOf(ref), answers.state, options);
      if (before.kind !== 'ok') return 'not_stopped';
      if (before.value === 'canceled') return 'stopped';
      const mayStop = before.value === 'queued' || (options.running === 'stop' && before.value === 'running');
      if (!mayStop) return 'not_stopped';
      const outcome = await call(upstream, { method: 'DELETE', path: pathOf(ref), signal: options.signal });
      const isAccepted = outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300;
      if (!isAccepted) return unconfirmedStop(outcome);
      // The task may have ended before the DELETE, and then its record is deleted.
      const after = await ask(upstream, pathOf(ref), answers.state, options);
      return after.kind === 'ok' && after.value === 'canceled' ? 'stopped' : 'unclear';
    }),

    probe: probeBy('/organization', Organization),
  };
}

const runwayHeaders = ({ credential }: Upstream) => ({
  authorization: `Bearer ${credential}`,
  // The only version that the SDK knows.
  'x-runway-version': '2024-11-06',
});

/** A clip begins with an image, is guided by references, or is the edit of a clip, which references guide too. */
export const runwayMedia: MediaTypes = {
  image: { most: { image: 1, reference_images: anyNumber, video_url: 0, audio_url: 0 } },
  video: {
    most: { image: 1, reference_images: anyNumber, video_url: 1, audio_url: 0 },
    apart: [
      ['image', 'reference_images'],
      ['image', 'video_url'],
    ],
  },
};

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
const SavedRef = z.object({ task_id: SavedId });
const pathOf = (ref: z.infer<typeof SavedRef>): string => `/tasks/${pathSegment(ref.task_id)}`;
