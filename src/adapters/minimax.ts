import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import { anyNumber, type MediaTypes } from '../domain/tasks/media-support.ts';
import { bearerAuthorization, type UpstreamCaller } from './upstream/call-upstream.ts';
import type { Adapter, MediaRequest, StopOptions } from './channel.ts';
import { onProviderJob } from './upstream/family-calls.ts';
import { mediaCalls } from './media/media-calls.ts';
import { contentParts } from './media/media-inputs.ts';
import { readMediaOutcome } from './media/media-outcome.ts';
import { parsedBy, unconfirmedStop } from './media/poll.ts';
import { SavedId, pathSegment } from './reading/provider-job-id.ts';
import { minimaxAnswers as answers } from './reading/minimax-answers.ts';

/**
 * MiniMax Hailuo (H3): video. Base URL `https://api.minimax.io/v2`, or `https://api.minimaxi.com/v2` in mainland China.
 *
 * Read on 2026-11-22: https://platform.minimax.io/docs/api-reference/video-generation-v2-list, …-query, …-delete and
 * …-regeneration (the error bodies), and the wire format of @ai-sdk/minimax 3.0.45 (`minimax-video-model`).
 *
 * MiniMax cannot find a job by our key. A clip has either frames or references: the provider refuses both together.
 */
export function createMinimax(caller: UpstreamCaller): Adapter {
  const { call, ask, submit, pollBy, probeBy } = mediaCalls(caller, { headers: bearerAuthorization, answers });
  return {
    async submitMedia(upstream, request, options) {
      return submit(upstream, { request, path: tasksPath, body: toBody(request) }, (task_id) => ({ task_id }), options);
    },

    // An unknown task is a 500 with prose, not a 404 (`minimaxWords`).
    pollMedia: pollBy(SavedRef, queryPath),

    cancelMedia: onProviderJob(SavedRef, 'not_stopped', async (upstream, ref, options: StopOptions) => {
      // DELETE cancels a queued task, but it deletes the record and the clip of a finished one.
      const before = await ask(upstream, queryPath(ref), answers.state, options);
      if (before.kind !== 'ok') return 'not_stopped';
      if (before.value !== 'queued') return before.value === 'canceled' ? 'stopped' : 'not_stopped';
      const path = `${tasksPath}/${pathSegment(ref.task_id)}`;
      const outcome = await call(upstream, { method: 'DELETE', path, signal: options.signal });
      const answer = readMediaOutcome(outcome, parsedBy(Deleted), answers.error);
      if (answer.kind !== 'ok') return unconfirmedStop(outcome);
      // The task may have finished before the DELETE, and then its record is deleted.
      return answer.value.status === 'cancelled' ? 'stopped' : 'unclear';
    }),

    probe: probeBy('/query/video_generation?page_num=1&page_size=1', MinimaxTaskList),
  };
}

const tasksPath = '/video_generation';

/** A clip has the aspect ratio of its first frame. */
export const minimaxMedia: MediaTypes = {
  video: {
    most: { image: 1, reference_images: anyNumber, video_url: 1, audio_url: 1 },
    leavesOut: [{ parameter: 'ratio', beside: 'image' }],
  },
};

function toBody(request: MediaRequest): JsonObject {
  const { ratio, ...parameters } = request.parameters;
  return {
    ...parameters,
    ...(ratio !== undefined && !request.image && { ratio }),
    model: request.model,
    content: contentParts(request),
  };
}

const SavedRef = z.object({ task_id: SavedId });
const queryPath = (ref: z.infer<typeof SavedRef>): string => `/query/video_generation/${pathSegment(ref.task_id)}`;
const Deleted = z.object({ status: z.string() });
const MinimaxTaskList = z.object({ items: z.array(z.unknown()).nullish(), total: z.number() });
