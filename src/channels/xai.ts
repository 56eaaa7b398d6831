import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { PollResult, UpstreamOutput } from '../domain/upstream.ts';
import { bearerAuthorization, type UpstreamCaller } from './call-upstream.ts';
import { isContentPolicy, plainWord } from './classify-outcome.ts';
import type { Adapter, MediaRequest } from './channel.ts';
import { ModelList } from './chat-call.ts';
import { familyCalls } from './family-calls.ts';
import { imagesOf } from './media-inputs.ts';
import { readOpenaiError } from './openai-error.ts';
import { PathId, doneWith, failedJob, parsedBy } from './poll.ts';

/**
 * xAI's Imagine models: images and video. Base URL `https://api.x.ai/v1`. xAI's chat models use the family `openai`.
 *
 * Read on 2026-11-22: https://docs.x.ai/developers/model-capabilities/video/generation and …/image/generation, and the wire
 * format of @ai-sdk/xai 5.0.12 (`xai-image-model`, `xai-video-model`).
 *
 * The submit returns images as base64. xAI can neither find a job by our key nor stop one. It bills a clip that its moderation
 * withholds.
 */
export function createXai(caller: UpstreamCaller): Adapter {
  const { submit, submitSynchronously, pollBy, probeBy, modelListBy } = familyCalls(caller, {
    headers: bearerAuthorization,
    readError: readOpenaiError,
  });
  return {
    answersSynchronously: ['image'],

    async submitMedia(upstream, request, options) {
      // xAI documents no idempotency key. The header helps to find a task in logs.
      const headers = { 'idempotency-key': request.idempotencyKey };
      const body = { ...request.parameters, model: request.model, prompt: request.prompt };
      if (request.type === 'image') {
        const path = imagesOf(request).length > 0 ? '/images/edits' : '/images/generations';
        const call = { path, headers, body: { ...body, response_format: 'b64_json', ...toEdited(request) } };
        return submitSynchronously(upstream, call, readImages, options);
      }
      const call = { path: '/videos/generations', headers, body: { ...body, ...toGuides(request) } };
      return submit(upstream, call, parsedBy(Job), options);
    },

    pollMedia: pollBy(Job, ({ request_id }) => `/videos/${request_id}`, Video, toResult),
    probe: probeBy('/models', ModelList),
    // "List all models available to the authenticating API key" (https://docs.x.ai/developers/rest-api-reference/inference/models)
    listModels: modelListBy('/models', ModelList, ({ data }) => ({ names: data.map(({ id }) => id), next: null })),
  };
}

/** One picture has another field than several. */
function toEdited(request: MediaRequest): JsonObject {
  const images = imagesOf(request).map(({ url }) => ({ url, type: 'image_url' }));
  const [only] = images;
  return images.length > 1 ? { images } : only ? { image: only } : {};
}

const toGuides = ({ image, referenceImages = [] }: MediaRequest): JsonObject => ({
  ...(image && { image: { url: image.url } }),
  ...(referenceImages.length > 0 && { reference_images: referenceImages.map(({ url }) => ({ url })) }),
});

const Images = z.object({
  data: z.array(
    z.object({
      b64_json: z.string().min(1).nullish(),
      url: z.string().min(1).nullish(),
      respect_moderation: z.boolean().nullish(),
    }),
  ),
});

/** The images that moderation did not withhold. */
function readImages(json: unknown): UpstreamOutput[] | null {
  const images = Images.safeParse(json).data?.data;
  if (!images) return null;
  return images.flatMap(({ b64_json: base64, url, respect_moderation: isClean }) => {
    if (isClean === false) return [];
    return base64 ? [{ url: `data:${typeOf(base64)};base64,${base64}` }] : url ? [{ url }] : [];
  });
}

/** xAI does not name the format. The first bytes do. */
const typeOf = (base64: string): string =>
  base64.startsWith('iVBOR') ? 'image/png' : base64.startsWith('UklGR') ? 'image/webp' : 'image/jpeg';

const Job = z.object({ request_id: PathId });
const Video = z.object({
  status: z.enum(['pending', 'done', 'expired', 'failed']),
  progress: z.number().nullish().catch(null),
  video: z
    .object({
      /** Empty for a withheld clip. */
      url: z.string().nullish(),
      duration: z.number().positive().optional().catch(undefined),
      respect_moderation: z.boolean().nullish(),
    })
    .nullish(),
  error: z.object({ code: z.string().nullish(), message: z.string().nullish() }).optional().catch(undefined),
});

function toResult({ status, progress, video, error }: z.infer<typeof Video>): PollResult {
  switch (status) {
    case 'pending':
      return {
        kind: 'pending',
        ...(progress != null && { progress: Math.min(Math.max(Math.round(progress), 0), 100) }),
      };
    case 'done': {
      const isWithheld = video?.respect_moderation === false;
      const url = isWithheld ? undefined : video?.url;
      const outputs = url ? [{ url, mimeType: 'video/mp4', duration: video?.duration }] : [];
      return doneWith(outputs, isWithheld ? 'the clip was withheld by moderation' : undefined);
    }
    case 'failed':
    case 'expired': {
      const word = plainWord(error?.code ?? '');
      const isByPolicy = isContentPolicy([word]) || /usage guidelines|moderat|safety/i.test(error?.message ?? '');
      const isInvalid = !isByPolicy && /^invalid[_-]/.test(word);
      const detail = `the request ${status} ${word}`.trim();
      return isInvalid ? { kind: 'refused', code: 'upstream_failed', detail } : failedJob(detail, isByPolicy);
    }
  }
}
