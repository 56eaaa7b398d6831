import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { PollResult, UpstreamOutput } from '../domain/upstream.ts';
import { synchronousCall, classifySynchronous, inlineInput } from './synchronous-result.ts';
import type { UpstreamCaller } from './call-upstream.ts';
import { classifySubmit, isContentPolicy, readOutcome } from './classify-outcome.ts';
import type { Adapter, CallOptions, MediaInput, MediaRequest, Upstream } from './channel.ts';
import { PathId, strangeReference, toUnsettled } from './poll.ts';
import type { FormPart } from './multipart.ts';
import { readOpenaiError } from './openai-error.ts';

/**
 * OpenAI's images, and the `/videos` wire shape that many resale gateways speak.
 *
 * Read on 2026-11-21: https://platform.openai.com/docs/api-reference/images/create, …/images/createEdit and …/videos
 * (create, retrieve, content); the service behind /videos ended at OpenAI itself in September 2026, its shape lives on.
 *
 * Images come with the submit, as base64. A picture given goes as a file of a multipart form. OpenAI cannot be asked by a
 * key of ours, and names no way to stop a video: `DELETE /videos/{id}` removes what is finished.
 */
export const openaiMedia = (
  caller: UpstreamCaller,
): Required<
  Pick<Adapter, 'submitMedia' | 'pollMedia' | 'answersSynchronously' | 'inputsAsBytes' | 'outputHeaders'>
> => ({
  answersSynchronously: ['image'],
  inputsAsBytes: true,
  outputHeaders: authorization,

  async submitMedia(upstream, request, options) {
    if (request.type === 'image') return submitImage(caller, upstream, request, options);
    const picture = request.image ?? request.referenceImages?.[0];
    const fields = { ...request.parameters, model: request.model, prompt: request.prompt };
    const outcome = await caller.call(upstream, {
      method: 'POST',
      path: '/videos',
      headers: submitHeaders(upstream, request),
      ...(picture ? { form: [...toForm(fields), toFile('input_reference', picture)] } : { body: fields }),
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
    if (!job) return strangeReference;
    const outcome = await caller.call(upstream, {
      method: 'GET',
      path: `/videos/${job.video_id}`,
      headers: authorization(upstream),
      signal,
    });
    const polled = readOutcome(outcome, (json) => Video.safeParse(json).data ?? null, readOpenaiError);
    if (polled.kind === 'trouble') return toUnsettled(polled);
    return toResult(polled.value, `${upstream.baseUrl}/videos/${job.video_id}/content`);
  },
});

const authorization = (upstream: Upstream) => ({ authorization: `Bearer ${upstream.credential}` });
const submitHeaders = (upstream: Upstream, { idempotencyKey }: MediaRequest) => ({
  ...authorization(upstream),
  'idempotency-key': idempotencyKey,
});

async function submitImage(
  caller: UpstreamCaller,
  upstream: Upstream,
  request: MediaRequest,
  options: CallOptions,
): ReturnType<Required<Adapter>['submitMedia']> {
  const fields = { ...request.parameters, model: request.model, prompt: request.prompt };
  const pictures = [...(request.image ? [request.image] : []), ...(request.referenceImages ?? [])];
  const outcome = await caller.call(
    upstream,
    synchronousCall(
      {
        headers: submitHeaders(upstream, request),
        ...(pictures.length === 0
          ? { path: '/images/generations', body: fields }
          : {
              path: '/images/edits',
              form: [...toForm(fields), ...pictures.map((picture) => toFile('image[]', picture))],
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

/** The results of an images reply, as base64 or as URLs; null when it is no such reply. */
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
  // The second half are other gateways' words for the same.
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
