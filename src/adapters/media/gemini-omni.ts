import { z } from 'zod';
import type { RequestBody, UpstreamCaller } from '../upstream/call-upstream.ts';
import type { Adapter, MediaInput, MediaRequest, Upstream } from '../channel.ts';
import { mediaCalls } from './media-calls.ts';
import { inlineInput } from './media-inputs.ts';
import { omniAnswers as answers } from '../reading/gemini-answers.ts';
import { SavedId, pathSegment } from '../reading/provider-job-id.ts';

/**
 * Gemini Omni, the successor of Veo on the Gemini API: video by interactions.
 *
 * Read on 2026-11-22: https://ai.google.dev/gemini-api/docs/omni, …/docs/deprecations and the types of @google/genai 3.1.0
 * (`CreateModelInteraction`, `Interaction`, `VideoResponseFormat`).
 *
 * The mapped parameters of a clip are members of `response_format`. Without `background` the submit would last as long as the job.
 */
export function geminiOmni(
  caller: UpstreamCaller,
  headers: (upstream: Upstream) => Record<string, string>,
): Required<Pick<Adapter, 'submitMedia' | 'pollMedia'>> {
  const { submit, pollBy } = mediaCalls(caller, { headers, answers });
  return {
    async submitMedia(upstream, request, options) {
      const call = { request, path: '/interactions', body: toBody(request) };
      return submit(upstream, call, (interaction_id) => ({ interaction_id }), options);
    },

    // An unknown interaction is a 400 with prose, not a 404 (`geminiWords`).
    pollMedia: pollBy(SavedRef, ({ interaction_id }) => `/interactions/${pathSegment(interaction_id)}`),
  };
}

export const isOmni = (model: string): boolean => model.startsWith('gemini-omni');
export const isInteraction = (providerRef: object): boolean => 'interaction_id' in providerRef;

function toBody({ model, prompt, parameters, image, referenceImages = [], videoUrl }: MediaRequest): RequestBody {
  const part = (type: 'image' | 'video', input: MediaInput) => {
    const { mimeType, base64 } = inlineInput(input);
    return { type, data: base64, mime_type: mimeType };
  };
  const inputs = [
    ...(image ? [part('image', image)] : []),
    ...referenceImages.map((reference) => part('image', reference)),
    ...(videoUrl ? [part('video', videoUrl)] : []),
  ];
  const task = videoUrl ? 'edit' : referenceImages.length > 0 ? 'reference_to_video' : 'image_to_video';
  return {
    model,
    input: inputs.length > 0 ? [...inputs, { type: 'text', text: prompt }] : prompt,
    background: true,
    response_format: { ...parameters, type: 'video', delivery: 'uri' },
    ...(inputs.length > 0 && { generation_config: { video_config: { task } } }),
  };
}

const SavedRef = z.object({ interaction_id: SavedId });
