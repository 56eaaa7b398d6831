import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { PollResult, UpstreamOutput } from '../domain/upstream.ts';
import { classifySynchronous, inlineInput, synchronousCall } from './synchronous-result.ts';
import { bearerAuthorization as authorization, type UpstreamCaller } from './call-upstream.ts';
import { classifySubmit, isContentPolicy, readOutcome } from './classify-outcome.ts';
import type { CallOptions, MediaInput, MediaRequest, SubmitResult, SynchronousMedia, Upstream } from './channel.ts';
import { PathId, failedPoll, parsedBy, unreadableReference } from './poll.ts';
import type { FormPart } from './multipart.ts';
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
export const openaiMedia = (caller: UpstreamCaller): SynchronousMedia => ({
  answersSynchronously: ['image'],
  inputsAsBytes: true,
  outputHeaders: authorization,

  async submitMedia(upstream, request, options) {
    if (request.type === 'image') return submitImage(caller, upstream, request, options);
    const image = request.image ?? request.referenceImages?.[0];
    const fields = { ...request.parameters, model: request.model, prompt: request.prompt };
    const outcome = await caller.call(upstream, {
      method: 'POST',
      path: '/videos',
      headers: submitHeaders(upstream, request),
      ...(image ? { form: [...toForm(fields), toFile('input_reference', image)] } : { body: fields }),
      signal: options.signal,
    });
    return classifySubmit(
      outcome,
      (json) => {
        const video = Submitted.safeParse(json).data;
        return video ? { video_id: video.id } : null;
      },
      readOpenaiError,
    );
  },

  async pollMedia(upstream, operation, { signal }) {
    const job = Job.safeParse(operation).data;
    if (!job) return unreadableReference;
    const outcome = await caller.call(upstream, {
      method: 'GET',
      path: `/videos/${job.video_id}`,
      headers: authorization(upstream),
      signal,
    });
    const poll = readOutcome(outcome, parsedBy(Video), readOpenaiError);
    if (poll.kind === 'trouble') return failedPoll(poll);
    return toResult(poll.value, `${upstream.baseUrl}/videos/${job.video_id}/content`);
  },
});

const submitHeaders = (upstream: Upstream, { idempotencyKey }: MediaRequest) => ({
  ...authorization(upstream),
  'idempotency-key': idempotencyKey,
});

async function submitImage(
  caller: UpstreamCaller,
  upstream: Upstream,
  request: MediaRequest,
  options: CallOptions,
): Promise<SubmitResult> {
  const fields = { ...request.parameters, model: request.model, prompt: request.prompt };
  const images = [...(request.image ? [request.image] : []), ...(request.referenceImages ?? [])];
  const outcome = await caller.call(
    upstream,
    synchronousCall(
      {
        headers: submitHeaders(upstream, request),
        ...(images.length === 0
          ? { path: '/images/generations', body: fields }
          : {
              path: '/images/edits',
              form: [...toForm(fields), ...images.map((image) => toFile('image[]', image))],
            }),
      },
      options,
    ),
  );
  return classifySynchronous(outcome, readOpenaiImages, readOpenaiError);
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

const Submitted = z.object({ id: PathId });
const Job = z.object({ video_id: PathId });
const Video = z.object({
  // The second line has the words of other gateways.
  status: z.enum([
    ...(['queued', 'in_progress', 'completed', 'failed'] as const),
    ...(['pending', 'processing', 'succeeded', 'cancelled', 'canceled', 'expired'] as const),
  ]),
  progress: z.number().nullish().catch(null),
  error: z
    .object({ code: z.string().nullish().catch(null) })
    .nullish()
    .catch(null),
});

function toResult({ status, progress, error }: z.infer<typeof Video>, contentUrl: string): PollResult {
  if (status === 'completed' || status === 'succeeded') {
    return { kind: 'done', outputs: [{ url: contentUrl, mimeType: 'video/mp4' }] };
  }
  if (status === 'queued' || status === 'in_progress' || status === 'pending' || status === 'processing') {
    return { kind: 'pending', ...(progress != null && { progress: Math.min(Math.max(Math.round(progress), 0), 100) }) };
  }
  const word = /^[\w.-]{1,64}$/.exec(error?.code ?? '')?.[0] ?? '';
  const detail = `the video ${status} ${word}`.trim();
  return isContentPolicy([word])
    ? { kind: 'refused', code: 'content_policy_violation', detail }
    : { kind: 'failed', detail };
}
