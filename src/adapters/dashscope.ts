import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import { anyNumber, type MediaTypes } from '../domain/tasks/media-support.ts';
import { bearerAuthorization, type UpstreamCaller } from './upstream/call-upstream.ts';
import type { Adapter, MediaRequest, StopOptions } from './channel.ts';
import { onProviderJob } from './upstream/family-calls.ts';
import { mediaCalls } from './media/media-calls.ts';
import { readMediaOutcome } from './media/media-outcome.ts';
import { parsedBy, unconfirmedStop } from './media/poll.ts';
import { dashscopeAnswers as answers } from './reading/dashscope-answers.ts';
import { SavedId, pathSegment } from './reading/provider-job-id.ts';

/**
 * Wan on Alibaba Model Studio (DashScope): video. Base URL `https://dashscope-intl.aliyuncs.com/api/v1`, or
 * `https://dashscope.aliyuncs.com/api/v1` in mainland China. A task can be seen only in the region that created it. Qwen's chat
 * models use the family `openai`.
 *
 * Read on 2026-11-22: https://www.alibabacloud.com/help/en/model-studio/wan3-0-video, …/manage-asynchronous-tasks and
 * …/error-code, and the wire format of @ai-sdk/alibaba 2.0.58 (`alibaba-video-model`, protocol `wan3`).
 *
 * DashScope cannot find a job by our key. It forgets a task and its clip after a day, and answers an unknown task with status 200.
 */
export function createDashscope(caller: UpstreamCaller): Adapter {
  const { call, ask, submit, pollBy, probeBy } = mediaCalls(caller, { headers: bearerAuthorization, answers });
  return {
    async submitMedia(upstream, request, options) {
      const headers = { 'x-dashscope-async': 'enable' };
      const path = '/services/aigc/video-generation/video-synthesis';
      return submit(upstream, { request, path, headers, body: toBody(request) }, (task_id) => ({ task_id }), options);
    },

    pollMedia: pollBy(SavedRef, pathOf),

    cancelMedia: onProviderJob(SavedRef, 'not_stopped', async (upstream, ref, options: StopOptions) => {
      // Only a task that still waits can be canceled.
      const path = `${pathOf(ref)}/cancel`;
      const outcome = await call(upstream, { method: 'POST', path, signal: options.signal });
      const answer = readMediaOutcome(outcome, parsedBy(CancelAnswer), answers.error);
      if (answer.kind !== 'ok') return unconfirmedStop(outcome);
      const after = await ask(upstream, pathOf(ref), answers.state, options);
      if (after.kind !== 'ok' || after.value === 'queued') return 'unclear';
      return after.value === 'canceled' ? 'stopped' : 'not_stopped';
    }),

    probe: probeBy('/tasks?page_no=1&page_size=1', DashscopeTaskList),
  };
}

export const dashscopeMedia: MediaTypes = {
  video: { most: { image: 1, reference_images: anyNumber, video_url: 1, audio_url: 1 } },
};

function toBody({ model, prompt, parameters, image, referenceImages = [], videoUrl, audioUrl }: MediaRequest) {
  const { negative_prompt, ...others } = parameters;
  const media: JsonObject[] = [
    ...(image ? [{ type: 'first_frame', url: image.url }] : []),
    ...referenceImages.map(({ url }) => ({ type: 'reference_image', url })),
    ...(videoUrl ? [{ type: 'reference_video', url: videoUrl.url }] : []),
  ];
  return {
    model,
    input: {
      prompt,
      negative_prompt,
      ...(audioUrl && { audio_url: audioUrl.url }),
      ...(media.length > 0 && { media }),
    },
    parameters: others,
  };
}

const SavedRef = z.object({ task_id: SavedId });
const pathOf = (ref: z.infer<typeof SavedRef>): string => `/tasks/${pathSegment(ref.task_id)}`;
const DashscopeTaskList = z.object({ total: z.number() });
const CancelAnswer = z.object({ request_id: z.string() });
