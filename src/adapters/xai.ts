import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import { anyNumber, type MediaTypes } from '../domain/tasks/media-support.ts';
import { bearerAuthorization, type UpstreamCaller } from './upstream/call-upstream.ts';
import type { Adapter, MediaRequest } from './channel.ts';
import { familyCalls } from './upstream/family-calls.ts';
import { ProviderModelList } from './upstream/list-models.ts';
import { mediaCalls } from './media/media-calls.ts';
import { imagesOf } from './media/media-inputs.ts';
import { SavedId, pathSegment } from './reading/provider-job-id.ts';
import { readXaiImages, xaiAnswers as answers } from './reading/xai-answers.ts';

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
  const { submit, submitSynchronously, pollBy, probeBy } = mediaCalls(caller, {
    headers: bearerAuthorization,
    answers,
  });
  const { openaiListBy } = familyCalls(caller, { headers: bearerAuthorization, readError: answers.error });
  return {
    answersSynchronously: ['image'],

    async submitMedia(upstream, request, options) {
      const body = { ...request.parameters, model: request.model, prompt: request.prompt };
      if (request.type === 'image') {
        const path = imagesOf(request).length > 0 ? '/images/edits' : '/images/generations';
        const call = { request, path, body: { ...body, response_format: 'b64_json', ...toEdited(request) } };
        return submitSynchronously(upstream, call, readXaiImages, options);
      }
      const call = { request, path: '/videos/generations', body: { ...body, ...toGuides(request) } };
      return submit(upstream, call, (request_id) => ({ request_id }), options);
    },

    pollMedia: pollBy(SavedRef, ({ request_id }) => `/videos/${pathSegment(request_id)}`),
    probe: probeBy('/models', ProviderModelList),
    // "List all models available to the authenticating API key" (https://docs.x.ai/developers/rest-api-reference/inference/models)
    listModels: openaiListBy('/models'),
  };
}

/** Edits of clips are another endpoint, which no model of the catalog uses. */
export const xaiMedia: MediaTypes = {
  image: { most: { image: 1, reference_images: anyNumber, video_url: 0, audio_url: 0 } },
  video: { most: { image: 1, reference_images: anyNumber, video_url: 0, audio_url: 0 } },
};

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

const SavedRef = z.object({ request_id: SavedId });
