import { z } from 'zod';
import type { PollResult, UpstreamOutput } from '../domain/upstream.ts';
import type { RequestBody, UpstreamCaller } from './call-upstream.ts';
import type { MediaInput, MediaRequest, SynchronousMedia, Upstream } from './channel.ts';
import { familyCalls } from './family-calls.ts';
import { FailedAnswer } from './classify-outcome.ts';
import { failureReasons, readGeminiError } from './gemini-error.ts';
import { geminiOmni, isInteraction, isOmni } from './gemini-omni.ts';
import { imagesOf, inlineInput } from './media-inputs.ts';
import { doneWith, failedJob, parsedBy } from './poll.ts';

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
  const { submit, submitSynchronously, pollBy } = familyCalls(caller, {
    headers: authorization,
    readError: readGeminiError,
  });
  const omni = geminiOmni(caller, authorization);
  const pollVeo = pollBy(Job, ({ name }) => `/${name}`, LongRunning, toResult);
  return {
    answersSynchronously: ['image'],
    inputsAsBytes: true,
    outputHeaders: authorization,

    async submitMedia(upstream, request, options) {
      const model = `/models/${encodeURIComponent(request.model)}`;
      // Google documents no idempotency key. The header helps to find a task in Google's logs.
      const headers = { 'idempotency-key': request.idempotencyKey };
      if (request.type === 'image') {
        const call = { path: `${model}:generateContent`, headers, body: toContent(request) };
        return submitSynchronously(upstream, call, readImages, options);
      }
      if (isOmni(request.model)) return omni.submitMedia(upstream, request, options);
      const call = { path: `${model}:predictLongRunning`, headers, body: toInstance(request) };
      return submit(upstream, call, parsedBy(Job), options);
    },

    pollMedia: (upstream, operation, options) =>
      (isInteraction(operation) ? omni.pollMedia : pollVeo)(upstream, operation, options),
  };
}

export const authorization = (upstream: Upstream) => ({ 'x-goog-api-key': upstream.credential });

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

const InlineData = z.object({ mimeType: z.string().nullish(), data: z.string().min(1) });
const Part = z.object({ thought: z.boolean().nullish(), inlineData: InlineData.nullish() });
const Candidate = z.object({
  content: z.object({ parts: z.array(Part).nullish() }).nullish(),
  finishReason: z.string().nullish().catch(null),
});
const Images = z.object({
  candidates: z.array(Candidate).nullish(),
  promptFeedback: z.object({ blockReason: z.string().nullish() }).nullish(),
});

/**
 * The images of a reply. The list is empty if the prompt was blocked, an image was withheld, or the reply is only text. Reasons such
 * as `NO_IMAGE` and `IMAGE_OTHER` are a failure of the model: it made no image, and no policy refused one.
 */
function readImages(json: unknown): UpstreamOutput[] | FailedAnswer | null {
  const reply = Images.safeParse(json).data;
  const isReply = (reply?.candidates?.length ?? 0) > 0 || Boolean(reply?.promptFeedback?.blockReason);
  if (!reply || !isReply) return null;
  const parts = (reply.candidates ?? []).flatMap(({ content }) => content?.parts ?? []);
  const outputs = parts.flatMap(({ thought, inlineData }) => {
    // The thoughts of a model may contain drafts, which are not results.
    if (!inlineData || thought === true) return [];
    const mimeType = inlineData.mimeType ?? 'image/png';
    return [{ url: `data:${mimeType};base64,${inlineData.data}`, mimeType }];
  });
  const failure = reply.candidates?.find(({ finishReason }) => failureReasons.has(finishReason ?? ''))?.finishReason;
  return outputs.length === 0 && failure ? new FailedAnswer(failure) : outputs;
}

/** The operation's name is the path to poll. Only the documented forms are accepted, so a reply cannot choose another path. */
const Job = z.object({ name: z.string().regex(/^(?:models\/[\w-][\w.-]{0,127}\/)?operations\/[\w-][\w.-]{0,255}$/) });

const Samples = z.object({
  generatedSamples: z.array(z.object({ video: z.object({ uri: z.string().min(1) }) })).nullish(),
  raiMediaFilteredCount: z.number().nullish().catch(null),
});
const LongRunning = z.object({
  name: z.string(),
  done: z.boolean().nullish(),
  error: z.object({ code: z.number().nullish(), message: z.string().nullish() }).nullish(),
  response: z.object({ generateVideoResponse: Samples.nullish() }).nullish(),
});

function toResult({ done, error, response }: z.infer<typeof LongRunning>): PollResult {
  if (done !== true) return { kind: 'pending' };
  if (error) {
    const detail = `the operation failed with code ${error.code ?? 'none'}`;
    // google.rpc.Code 3, INVALID_ARGUMENT, also covers refusals by policy. Only the prose distinguishes the two.
    const isByPolicy = /usage guideline|responsible ai|safety|violat|sensitive/i.test(error.message ?? '');
    const isInvalid = error.code === 3 && !isByPolicy;
    return isInvalid ? { kind: 'refused', code: 'upstream_failed', detail } : failedJob(detail, isByPolicy);
  }
  const made = response?.generateVideoResponse;
  const outputs = (made?.generatedSamples ?? []).map(({ video }) => ({ url: video.uri, mimeType: 'video/mp4' }));
  return doneWith(outputs, made?.raiMediaFilteredCount ? 'every clip was filtered' : undefined);
}
