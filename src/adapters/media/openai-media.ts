import { z } from 'zod';
import type { JsonObject } from '../../domain/json.ts';
import { anyNumber, type MediaTypes } from '../../domain/tasks/media-support.ts';
import { bearerAuthorization, type UpstreamCaller } from '../upstream/call-upstream.ts';
import type { MediaInput, SynchronousMedia } from '../channel.ts';
import { mediaCalls } from './media-calls.ts';
import { imagesOf, inlineInput } from './media-inputs.ts';
import type { FormPart } from './multipart.ts';
import { SavedId, pathSegment } from '../reading/provider-job-id.ts';
import { openaiAnswers as answers, readOpenaiImages } from '../reading/openai-answers.ts';

/**
 * OpenAI's images, and the `/videos` wire format that many resale gateways use.
 *
 * Read on 2026-11-21: https://platform.openai.com/docs/api-reference/images/create, …/images/createEdit and …/videos
 * (create, retrieve, content). OpenAI itself ended /videos in September 2026, but other gateways still serve it.
 *
 * The submit returns images as base64. An input image is sent as a file of a multipart form. OpenAI cannot find a job by our
 * key and cannot stop a video: `DELETE /videos/{id}` removes finished videos only.
 */
export function openaiMedia(caller: UpstreamCaller): SynchronousMedia {
  const { submit, submitSynchronously, pollBy } = mediaCalls(caller, { headers: bearerAuthorization, answers });
  return {
    answersSynchronously: ['image'],
    inputsAsBytes: true,
    outputHeaders: bearerAuthorization,

    async submitMedia(upstream, request, options) {
      const fields = { ...request.parameters, model: request.model, prompt: request.prompt };
      const images = imagesOf(request);
      if (request.type === 'video') {
        const files = images.slice(0, 1).map((image) => toFile('input_reference', image));
        const content = files.length > 0 ? { form: [...toForm(fields), ...files] } : { body: fields };
        return submit(upstream, { request, path: '/videos', ...content }, (video_id) => ({ video_id }), options);
      }
      const form = [...toForm(fields), ...images.map((image) => toFile('image[]', image))];
      const content =
        images.length > 0 ? { path: '/images/edits', form } : { path: '/images/generations', body: fields };
      return submitSynchronously(upstream, { request, ...content }, readOpenaiImages, options);
    },

    pollMedia: pollBy(SavedRef, pathOf, (json, ref, { baseUrl }) => {
      const result = answers.result(json);
      // OpenAI gives no address: the clip is at `/content`.
      if (answers.state(json) !== 'succeeded' || result?.kind === 'done') return result;
      return { kind: 'done', outputs: [{ url: `${baseUrl}${pathOf(ref)}/content`, mimeType: 'video/mp4' }] };
    }),
  };
}

/** `/videos` takes one picture (`input_reference`). */
export const openaiMediaTypes: MediaTypes = {
  image: { most: { image: 1, reference_images: anyNumber, video_url: 0, audio_url: 0 } },
  video: {
    most: { image: 1, reference_images: 1, video_url: 0, audio_url: 0 },
    apart: [['image', 'reference_images']],
  },
};

const toForm = (fields: JsonObject): FormPart[] =>
  Object.entries(fields).map(([name, value]) => ({
    name,
    value: typeof value === 'string' ? value : JSON.stringify(value),
  }));

function toFile(name: string, input: MediaInput): FormPart {
  const { mimeType, base64 } = inlineInput(input);
  const extension = /^image\/(png|jpeg|webp)$/.exec(mimeType)?.[1] ?? 'bin';
  return { name, fileName: `input.${extension}`, type: mimeType, bytes: Buffer.from(base64, 'base64') };
}

const SavedRef = z.object({ video_id: SavedId });
const pathOf = (ref: z.infer<typeof SavedRef>): string => `/videos/${pathSegment(ref.video_id)}`;
