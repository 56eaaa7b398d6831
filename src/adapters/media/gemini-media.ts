import { z } from 'zod';
import { anyNumber, type MediaTypes } from '../../domain/tasks/media-support.ts';
import type { RequestBody, UpstreamCaller } from '../upstream/call-upstream.ts';
import type { MediaInput, MediaRequest, SynchronousMedia, Upstream } from '../channel.ts';
import { mediaCalls } from './media-calls.ts';
import { geminiOmni, isInteraction, isOmni } from './gemini-omni.ts';
import { imagesOf, inlineInput } from './media-inputs.ts';
import { SavedId, pathSegment } from '../reading/provider-job-id.ts';
import { readGeminiImages, veoAnswers as answers } from '../reading/gemini-answers.ts';

/**
 * Gemini's images (image output of `generateContent`), Omni's clips and Veo's (`predictLongRunning`). Google's own API ended Veo in
 * October 2026, but it may live on behind other hosts with the same wire format.
 *
 * Read on 2026-11-21: https://ai.google.dev/gemini-api/docs/image-generation, …/docs/video, https://ai.google.dev/api/generate-content
 * (FinishReason) and the wire format of the official SDK (googleapis/js-genai, `src/converters`).
 *
 * The mapped parameters of an image are members of `imageConfig`, those of a clip of `parameters`. The submit returns the
 * images. A clip's file needs the API key. An operation can be neither stopped nor found by our key.
 */
export function geminiMedia(caller: UpstreamCaller): SynchronousMedia {
  const { submit, submitSynchronously, pollBy } = mediaCalls(caller, { headers: geminiAuthorization, answers });
  const omni = geminiOmni(caller, geminiAuthorization);
  const pollVeo = pollBy(SavedRef, ({ name }) => operationPath(name));
  return {
    answersSynchronously: ['image'],
    inputsAsBytes: true,
    outputHeaders: geminiAuthorization,

    async submitMedia(upstream, request, options) {
      const model = `/models/${encodeURIComponent(request.model)}`;
      if (request.type === 'image') {
        const call = { request, path: `${model}:generateContent`, body: toContent(request) };
        return submitSynchronously(upstream, call, readGeminiImages, options);
      }
      if (isOmni(request.model)) return omni.submitMedia(upstream, request, options);
      const call = { request, path: `${model}:predictLongRunning`, body: toInstance(request) };
      return submit(upstream, call, (name) => ({ name }), options);
    },

    pollMedia: (upstream, providerRef, options) =>
      (isInteraction(providerRef) ? omni.pollMedia : pollVeo)(upstream, providerRef, options),
  };
}

export const geminiAuthorization = (upstream: Upstream) => ({ 'x-goog-api-key': upstream.credential });

export const geminiMediaTypes: MediaTypes = {
  image: { most: { image: 1, reference_images: anyNumber, video_url: 0, audio_url: 0 } },
  video: { most: { image: 1, reference_images: anyNumber, video_url: 1, audio_url: 0 } },
};

const toContent = (request: MediaRequest): RequestBody => ({
  contents: [
    {
      role: 'user',
      parts: [
        { text: request.prompt },
        ...imagesOf(request).map((image) => {
          const { mimeType, base64 } = inlineInput(image);
          return { inlineData: { mimeType, data: base64 } };
        }),
      ],
    },
  ],
  generationConfig: {
    responseModalities: ['TEXT', 'IMAGE'],
    imageConfig: Object.keys(request.parameters).length > 0 ? request.parameters : undefined,
  },
});

function toInstance({ prompt, image, referenceImages = [], videoUrl, parameters }: MediaRequest): RequestBody {
  const toBytes = (input: MediaInput) => {
    const { mimeType, base64 } = inlineInput(input);
    return { bytesBase64Encoded: base64, mimeType };
  };
  const references = referenceImages.map((reference) => ({ image: toBytes(reference), referenceType: 'asset' }));
  const instance = {
    prompt,
    image: image && toBytes(image),
    referenceImages: references.length > 0 ? references : undefined,
    video: videoUrl && toBytes(videoUrl),
  };
  return { instances: [instance], parameters };
}

const SavedRef = z.object({ name: SavedId });

/**
 * The path of an operation. Its name is a path of its own, `models/…/operations/ID`, so it is sent as the segments before its id and the
 * id as one segment. A reply cannot choose any other path.
 */
function operationPath(name: string): string {
  const [, before = '', id = name] = /^((?:[^/]+\/){0,9}?)operations\/(.+)$/s.exec(name) ?? [];
  const segments = before.split('/').filter((segment) => segment !== '');
  return `/${[...segments, 'operations', id].map(pathSegment).join('/')}`;
}
