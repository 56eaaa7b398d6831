import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { PollResult, UpstreamOutput } from '../domain/upstream.ts';
import { bearerAuthorization, type UpstreamCaller } from './call-upstream.ts';
import { isContentPolicy, plainWord } from './classify-outcome.ts';
import type { MediaInput, SynchronousMedia } from './channel.ts';
import { familyCalls } from './family-calls.ts';
import { imagesOf, inlineInput } from './media-inputs.ts';
import type { FormPart } from './multipart.ts';
import { PathId, failedJob, parsedBy } from './poll.ts';
import { readOpenaiError } from './openai-error.ts';

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
  const { submit, submitSynchronously, pollBy } = familyCalls(caller, {
    headers: bearerAuthorization,
    readError: readOpenaiError,
  });
  return {
    answersSynchronously: ['image'],
    inputsAsBytes: true,
    outputHeaders: bearerAuthorization,

    async submitMedia(upstream, request, options) {
      const fields = { ...request.parameters, model: request.model, prompt: request.prompt };
      const headers = { 'idempotency-key': request.idempotencyKey };
      const images = imagesOf(request);
      if (request.type === 'video') {
        const files = images.slice(0, 1).map((image) => toFile('input_reference', image));
        const content = files.length > 0 ? { form: [...toForm(fields), ...files] } : { body: fields };
        return submit(upstream, { path: '/videos', headers, ...content }, parsedBy(Submitted), options);
      }
      const form = [...toForm(fields), ...images.map((image) => toFile('image[]', image))];
      const content =
        images.length > 0 ? { path: '/images/edits', form } : { path: '/images/generations', body: fields };
      return submitSynchronously(upstream, { headers, ...content }, readOpenaiImages, options);
    },

    pollMedia: pollBy(Job, pathOf, Video, (video, job, { baseUrl }) =>
      toResult(video, `${baseUrl}${pathOf(job)}/content`),
    ),
  };
}

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

const Images = z.object({
  output_format: z.string().nullish().catch(null),
  data: z.array(z.object({ b64_json: z.string().min(1).nullish(), url: z.string().min(1).nullish() })),
});

/** The outputs of an images reply, as data URIs or URLs. Null for any other JSON. */
export function readOpenaiImages(json: unknown): UpstreamOutput[] | null {
  const images = Images.safeParse(json).data;
  if (!images) return null;
  const format = images.output_format ?? 'png';
  const mimeType = `image/${/^(png|jpeg|webp)$/.test(format) ? format : 'png'}`;
  return images.data.flatMap(({ b64_json: base64, url }) =>
    base64 ? [{ url: `data:${mimeType};base64,${base64}`, mimeType }] : url ? [{ url }] : [],
  );
}

const Submitted = z.object({ id: PathId }).transform(({ id }) => ({ video_id: id }));
const Job = z.object({ video_id: PathId });
const pathOf = (job: z.infer<typeof Job>): string => `/videos/${job.video_id}`;

const Video = z.object({
  // The second line has the words of other gateways.
  status: z.enum([
    ...(['queued', 'in_progress', 'completed', 'failed'] as const),
    ...(['pending', 'processing', 'succeeded', 'cancelled', 'canceled', 'expired'] as const),
  ]),
  progress: z.number().nullish().catch(null),
  error: z.object({ code: z.string() }).optional().catch(undefined),
});

function toResult({ status, progress, error }: z.infer<typeof Video>, contentUrl: string): PollResult {
  if (status === 'completed' || status === 'succeeded') {
    return { kind: 'done', outputs: [{ url: contentUrl, mimeType: 'video/mp4' }] };
  }
  if (status === 'queued' || status === 'in_progress' || status === 'pending' || status === 'processing') {
    return { kind: 'pending', ...(progress != null && { progress: Math.min(Math.max(Math.round(progress), 0), 100) }) };
  }
  const word = plainWord(error?.code ?? '');
  return failedJob(`the video ${status} ${word}`.trim(), isContentPolicy([word]));
}
