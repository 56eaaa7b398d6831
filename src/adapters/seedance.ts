import { z } from 'zod';
import { anyNumber, type MediaTypes } from '../domain/tasks/media-support.ts';
import { bearerAuthorization, type UpstreamCaller } from './upstream/call-upstream.ts';
import type { Adapter, StopOptions } from './channel.ts';
import { onProviderJob } from './upstream/family-calls.ts';
import { mediaCalls } from './media/media-calls.ts';
import { contentParts } from './media/media-inputs.ts';
import { unconfirmedStop } from './media/poll.ts';
import { SavedId, pathSegment } from './reading/provider-job-id.ts';
import { seedanceAnswers as answers } from './reading/seedance-answers.ts';

/**
 * Seedance on BytePlus ModelArk, base URL `https://ark.ap-southeast.bytepluses.com/api/v3`, or on Volcengine Ark, base URL
 * `https://ark.cn-beijing.volces.com/api/v3`. Video only.
 *
 * Read on 2026-11-21: https://docs.byteplus.com/en/docs/ModelArk/1520757 (create), …/1521309 (retrieve), …/1521675 (list),
 * …/1521720 (cancel or delete) and …/1299023 (error codes).
 *
 * What Seedance 2 takes is from @ai-sdk/bytedance 1.0.29, read on 2026-11-22. BytePlus sells the model as
 * `dreamina-seedance-2-0-260128`, Volcengine as `doubao-seedance-2-0-260128`.
 *
 * Ark cannot find a job by our key. The URL of a result is valid for a day.
 */
export function createSeedance(caller: UpstreamCaller): Adapter {
  const { call, ask, submit, pollBy, probeBy } = mediaCalls(caller, { headers: bearerAuthorization, answers });
  return {
    async submitMedia(upstream, request, options) {
      const body = { ...request.parameters, model: request.model, content: contentParts(request) };
      return submit(upstream, { request, path: tasksPath, body }, (task_id) => ({ task_id }), options);
    },

    pollMedia: pollBy(SavedRef, pathOf),

    cancelMedia: onProviderJob(SavedRef, 'not_stopped', async (upstream, ref, options: StopOptions) => {
      // DELETE cancels a queued task, but it deletes the record and the result of a finished one.
      const stateBefore = await ask(upstream, pathOf(ref), answers.state, options);
      if (stateBefore.kind !== 'ok') return 'not_stopped';
      if (stateBefore.value !== 'queued') return stateBefore.value === 'canceled' ? 'stopped' : 'not_stopped';
      const outcome = await call(upstream, { method: 'DELETE', path: pathOf(ref), signal: options.signal });
      const isAccepted = outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300;
      if (!isAccepted) return unconfirmedStop(outcome);
      // The task may have finished before the DELETE, and then its record is deleted.
      const stateAfter = await ask(upstream, pathOf(ref), answers.state, options);
      if (stateAfter.kind !== 'ok' || stateAfter.value === 'queued') return 'unclear';
      return stateAfter.value === 'canceled' ? 'stopped' : 'not_stopped';
    }),

    probe: probeBy(`${tasksPath}?page_num=1&page_size=1`, SeedanceTaskList),
  };
}

const tasksPath = '/contents/generations/tasks';

export const seedanceMedia: MediaTypes = {
  video: { most: { image: 1, reference_images: anyNumber, video_url: 1, audio_url: 1 } },
};

const SavedRef = z.object({ task_id: SavedId });
const pathOf = (ref: z.infer<typeof SavedRef>): string => `${tasksPath}/${pathSegment(ref.task_id)}`;
const SeedanceTaskList = z.object({ items: z.array(z.unknown()).nullish(), total: z.number() });
