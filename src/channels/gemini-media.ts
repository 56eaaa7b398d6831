import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { PollResult, UpstreamOutput } from '../domain/upstream.ts';
import { classifySynchronous, inlineInput, synchronousCall } from './synchronous-result.ts';
import type { UpstreamCaller } from './call-upstream.ts';
import { classifySubmit, readOutcome } from './classify-outcome.ts';
import type { MediaInput, MediaRequest, SynchronousMedia, Upstream } from './channel.ts';
import { readGeminiError } from './gemini-error.ts';
import { failedPoll, noOutputs, parsedBy, unreadableReference } from './poll.ts';

/**
 * Gemini's images (image output of `generateContent`) and Veo (`predictLongRunning`).
 *
 * Read on 2026-11-21: https://ai.google.dev/gemini-api/docs/image-generation, …/docs/video, https://ai.google.dev/api/generate-content
 * (FinishReason) and the wire format of the official SDK (googleapis/js-genai, `src/converters`).
 *
 * The mapped parameters of an image are members of `imageConfig`, those of a clip of `parameters`. The submit returns the
 * images. A clip's file needs the API key. An operation can be neither stopped nor found by our key.
 */
export const geminiMedia = (caller: UpstreamCaller): SynchronousMedia => ({
  answersSynchronously: ['image'],
  inputsAsBytes: true,
  outputHeaders: authorization,

  async submitMedia(upstream, request, options) {
    const model = `/models/${encodeURIComponent(request.model)}`;
    // Google documents no idempotency key. The header helps to find a task in Google's logs.
    const headers = { ...authorization(upstream), 'idempotency-key': request.idempotencyKey };
    if (request.type === 'image') {
      const call = { path: `${model}:generateContent`, headers, body: toContent(request) };
      return classifySynchronous(
        await caller.call(upstream, synchronousCall(call, options)),
        readImages,
        readGeminiError,
      );
    }
    const outcome = await caller.call(upstream, {
      method: 'POST',
      path: `${model}:predictLongRunning`,
      headers,
      body: toInstance(request),
      signal: options.signal,
    });
    return classifySubmit(outcome, parsedBy(Job), readGeminiError);
  },

  async pollMedia(upstream, operation, { signal }) {
    const job = Job.safeParse(operation).data;
    if (!job) return unreadableReference;
    const outcome = await caller.call(upstream, {
      method: 'GET',
      path: `/${job.name}`,
      headers: authorization(upstream),
      signal,
    });
    const poll = readOutcome(outcome, parsedBy(LongRunning), readGeminiError);
    return poll.kind === 'ok' ? toResult(poll.value) : failedPoll(poll);
  },
});

export const authorization = (upstream: Upstream) => ({ 'x-goog-api-key': upstream.credential });

const imagesOf = ({ image, referenceImages }: MediaRequest): MediaInput[] => [
  ...(image ? [image] : []),
  ...(referenceImages ?? []),
];

const toContent = (request: MediaRequest): JsonObject => ({
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
    ...(Object.keys(request.parameters).length > 0 && { imageConfig: request.parameters }),
  },
});

function toInstance(request: MediaRequest): JsonObject {
  const toBytes = (input: MediaInput): JsonObject => {
    const { mimeType, base64 } = inlineInput(input);
    return { bytesBase64Encoded: base64, mimeType };
  };
  const references = request.referenceImages ?? [];
  return {
    instances: [
      {
        prompt: request.prompt,
        ...(request.image && { image: toBytes(request.image) }),
        ...(references.length > 0 && {
          referenceImages: references.map((reference) => ({ image: toBytes(reference), referenceType: 'asset' })),
        }),
        ...(request.videoUrl && { video: toBytes(request.videoUrl) }),
      },
    ],
    parameters: request.parameters,
  };
}

const InlineData = z.object({ mimeType: z.string().nullish(), data: z.string().min(1) });
const Images = z.object({
  candidates: z
    .array(
      z.object({
        content: z
          .object({
            parts: z.array(z.object({ thought: z.boolean().nullish(), inlineData: InlineData.nullish() })).nullish(),
          })
          .nullish(),
        finishReason: z.string().nullish(),
      }),
    )
    .nullish(),
  promptFeedback: z.object({ blockReason: z.string().nullish() }).nullish(),
});

/** The images of a reply. The list is empty if the prompt was blocked, an image was withheld, or the reply is only text. */
function readImages(json: unknown): UpstreamOutput[] | null {
  const reply = Images.safeParse(json).data;
  const isReply = (reply?.candidates?.length ?? 0) > 0 || Boolean(reply?.promptFeedback?.blockReason);
  if (!reply || !isReply) return null;
  const parts = (reply.candidates ?? []).flatMap(({ content }) => content?.parts ?? []);
  return parts.flatMap(({ thought, inlineData }) => {
    // The thoughts of a model may contain drafts, which are not results.
    if (!inlineData || thought === true) return [];
    const mimeType = inlineData.mimeType ?? 'image/png';
    return [{ url: `data:${mimeType};base64,${inlineData.data}`, mimeType }];
  });
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
    // google.rpc.Code 3, INVALID_ARGUMENT, also covers refusals by policy. Only the prose tells them apart.
    const isPolicy = /usage guideline|responsible ai|safety|violat|sensitive/i.test(error.message ?? '');
    if (isPolicy) return { kind: 'refused', code: 'content_policy_violation', detail };
    return error.code === 3 ? { kind: 'refused', code: 'upstream_failed', detail } : { kind: 'failed', detail };
  }
  const made = response?.generateVideoResponse;
  const outputs = (made?.generatedSamples ?? []).map(({ video }) => ({ url: video.uri, mimeType: 'video/mp4' }));
  if (outputs.length > 0) return { kind: 'done', outputs };
  return made?.raiMediaFilteredCount ? noOutputs('every clip was filtered') : noOutputs();
}
