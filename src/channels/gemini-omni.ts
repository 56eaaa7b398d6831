import { z } from 'zod';
import type { PollResult } from '../domain/upstream.ts';
import type { RequestBody, UpstreamCaller } from './call-upstream.ts';
import type { Adapter, MediaInput, MediaRequest, Upstream } from './channel.ts';
import { isContentPolicy, type ReadError } from './classify-outcome.ts';
import { familyCalls, onJob } from './family-calls.ts';
import { readGeminiError } from './gemini-error.ts';
import { inlineInput } from './media-inputs.ts';
import { PathId, doneWith, failedJob, failedPoll, parsedBy, unreadableReference } from './poll.ts';

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
  const { get, submit } = familyCalls(caller, { headers, readError });
  return {
    async submitMedia(upstream, request, options) {
      // Google documents no idempotency key. The header helps to find a task in Google's logs.
      const call = { path: '/interactions', headers: { 'idempotency-key': request.idempotencyKey } };
      return submit(upstream, { ...call, body: toBody(request) }, parsedBy(Created), options);
    },

    pollMedia: onJob(Job, unreadableReference, async (upstream, { interaction_id }, options) => {
      const poll = await get(upstream, `/interactions/${interaction_id}`, Interaction, options);
      if (poll.kind === 'ok') return toResult(poll.value);
      // An unknown interaction is a 400 with this prose, not a 404.
      const isUnknown = /\binvalid_interaction_name\b/.test(poll.detail);
      return isUnknown ? { kind: 'missing', detail: poll.detail } : failedPoll(poll);
    }),
  };
}

export const isOmni = (model: string): boolean => model.startsWith('gemini-omni');
export const isInteraction = (operation: object): boolean => 'interaction_id' in operation;

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

const Created = z.object({ id: PathId }).transform(({ id }) => ({ interaction_id: id }));
const Job = z.object({ interaction_id: PathId });

const Content = z.object({ type: z.string(), uri: z.string().min(1).nullish(), mime_type: z.string().nullish() });
const Interaction = z.object({
  status: z.enum([
    ...(['queued', 'in_progress', 'completed', 'failed', 'cancelled', 'incomplete'] as const),
    ...(['budget_exceeded', 'requires_action', 'requires_continuation'] as const),
  ]),
  steps: z.array(z.object({ type: z.string(), content: z.array(Content).nullish() })).nullish(),
  errors: z
    .array(z.object({ code: z.string().nullish() }))
    .nullish()
    .catch(null),
});

function toResult({ status, steps, errors }: z.infer<typeof Interaction>): PollResult {
  if (status === 'queued' || status === 'in_progress') return { kind: 'pending' };
  if (status === 'completed') {
    const made = (steps ?? []).filter(({ type }) => type === 'model_output').flatMap(({ content }) => content ?? []);
    // Omni answers a refused prompt with text only.
    return doneWith(
      made.flatMap(({ type, uri, mime_type: mimeType }) =>
        type === 'video' && uri ? [{ url: uri, mimeType: mimeType ?? 'video/mp4' }] : [],
      ),
      'completed without a clip',
    );
  }
  const codes = (errors ?? []).flatMap(({ code }) => (code ? [code] : []));
  return failedJob(`the interaction ended ${status}`, isContentPolicy(codes) || codes.some(isSafetyCode));
}

const isSafetyCode = (code: string): boolean => /^(IMAGE_)?(SAFETY|PROHIBITED_CONTENT|BLOCKLIST|SPII)$/i.test(code);

/** Interactions have errors with a code in words. Errors of the API's front are Google's usual ones. */
const readError: ReadError = (json) => {
  const error = WordError.safeParse(json).data?.error;
  if (!error) return readGeminiError(json);
  return [
    error.code,
    ...(isSafetyCode(error.code) || /\bblocked\b.{0,200}\b(safety|polic(y|ies))\b/i.test(error.message)
      ? ['content_policy']
      : []),
    ...(/invalid interaction name/i.test(error.message) ? ['invalid_interaction_name'] : []),
  ];
};
const WordError = z.object({ error: z.object({ code: z.string(), message: z.string() }) });
