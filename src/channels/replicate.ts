import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { MediaInputKey } from '../domain/parameters.ts';
import type { PollResult } from '../domain/upstream.ts';
import { bearerAuthorization, type UpstreamCaller } from './call-upstream.ts';
import { readOutcome, type ReadError } from './classify-outcome.ts';
import type { Adapter, MediaRequest, StopOptions } from './channel.ts';
import { familyCalls, onJob } from './family-calls.ts';
import { namedInputs } from './media-inputs.ts';
import { PathId, doneWith, failedJob, parsedBy, unconfirmedStop } from './poll.ts';

/**
 * Replicate's predictions: images and video. Base URL `https://api.replicate.com/v1`.
 *
 * Read on 2026-11-21: https://replicate.com/docs/reference/http (predictions.create, .get, .cancel, models.predictions.create,
 * account.get), …/docs/topics/predictions/create-a-prediction and …/docs/topics/predictions/lifecycle.
 *
 * A model is `owner/name`, or `owner/name:version` for a community model. Models differ in the names of their inputs (catalog:
 * `inputs`). The create call waits for an image but not for a clip, because a longer call risks losing the reference with the
 * answer. Replicate cannot find a job by our key.
 */
export function createReplicate(caller: UpstreamCaller): Adapter {
  const { call, get, submit, pollBy, probeBy } = familyCalls(caller, { headers: bearerAuthorization, readError });
  return {
    async submitMedia(upstream, request, options) {
      const { path, version } = endpointOf(request.model);
      const headers = {
        // Replicate ignores this header. It helps to find a task in logs.
        'idempotency-key': request.idempotencyKey,
        ...(request.type === 'image' && { prefer: `wait=${waitSeconds}` }),
      };
      const body = { version, input: toInput(request) };
      const attempt = await submit(upstream, { path, headers, body }, parsedBy(Prediction), options);
      if (attempt.kind !== 'ok') return attempt;
      const operation = { prediction_id: attempt.value.id };
      const result = toResult(attempt.value);
      return result.kind === 'done' ? { ...result, operation } : { kind: 'ok', value: operation };
    },

    pollMedia: pollBy(Job, pathOf, Prediction, toResult),

    cancelMedia: onJob(Job, 'not_stopped', async (upstream, job, options: StopOptions) => {
      // A cancel also stops a running job, and Replicate bills the time that it ran.
      const poll = options.running === 'spare' ? await get(upstream, pathOf(job), Prediction, options) : null;
      if (poll && poll.kind !== 'ok') return 'not_stopped';
      if (poll && poll.value.status !== 'starting') return isStopped(poll.value) ? 'stopped' : 'not_stopped';
      const path = `${pathOf(job)}/cancel`;
      const outcome = await call(upstream, { method: 'POST', path, signal: options.signal });
      const answer = readOutcome(outcome, parsedBy(Prediction), readError);
      if (answer.kind !== 'ok') return unconfirmedStop(outcome);
      // The job may have started since the poll. Then a part of it is billed, but it is still stopped.
      if (isStopped(answer.value)) return 'stopped';
      return isOver(answer.value) ? 'not_stopped' : 'unclear';
    }),

    probe: probeBy('/account', Account),
  };
}

/** Many images are ready within this time. A model with a cold start takes minutes. */
const waitSeconds = 5;

function endpointOf(model: string): { path: string; version?: string } {
  const [owner = '', name = ''] = model.split('/');
  if (name === '' || name.includes(':')) return { path: '/predictions', version: model };
  return { path: `/models/${encodeURIComponent(owner)}/${encodeURIComponent(name)}/predictions` };
}

/** The names of the inputs in most models. */
const usualNames: Record<MediaInputKey, string> = {
  image: 'image',
  reference_images: 'reference_images',
  video_url: 'video',
  audio_url: 'audio',
};

const toInput = (request: MediaRequest): JsonObject => ({
  ...request.parameters,
  prompt: request.prompt,
  ...namedInputs(request, usualNames),
});

const Account = z.object({ type: z.string() });
const Job = z.object({ prediction_id: PathId });
const pathOf = (job: z.infer<typeof Job>): string => `/predictions/${job.prediction_id}`;
const Prediction = z.object({
  id: PathId,
  status: z.enum(['starting', 'processing', 'succeeded', 'failed', 'canceled', 'aborted']),
  /** Depends on the model: a URL, a list of URLs, or an object that contains URLs. */
  output: z.unknown(),
  error: z.unknown(),
});
type Prediction = z.infer<typeof Prediction>;

const isStopped = ({ status }: Prediction): boolean => status === 'canceled' || status === 'aborted';
const isOver = ({ status }: Prediction): boolean => status === 'succeeded' || status === 'failed';

function toResult({ status, output, error }: Prediction): PollResult {
  switch (status) {
    case 'starting':
    case 'processing':
      return { kind: 'pending' };
    case 'succeeded':
      return doneWith(urlsIn(output, 0).map((url) => ({ url })));
    case 'failed':
    case 'canceled':
    case 'aborted': {
      // The reason is prose: "NSFW content detected", "flagged as sensitive (E005)".
      const isByPolicy = isFlagged(error);
      return failedJob(`the prediction ${status}${isByPolicy ? ', flagged' : ''}`, isByPolicy);
    }
  }
}

const isFlagged = (prose: unknown): boolean =>
  typeof prose === 'string' && /nsfw|flagged|sensitive|moderat|safety|\bE005\b/i.test(prose);

function urlsIn(output: unknown, depth: number): string[] {
  if (typeof output === 'string') return /^(https?:\/\/|data:)/i.test(output) ? [output] : [];
  if (typeof output !== 'object' || output === null || depth > depthMax) return [];
  return Object.values(output).flatMap((value: unknown) => urlsIn(value, depth + 1));
}
const depthMax = 2;

/** Similar to RFC 7807: `{title, detail, status}`, or `{detail}` alone. */
const readError: ReadError = (json) => {
  const problem = Problem.safeParse(json).data;
  return problem ? (isFlagged(problem.detail) ? ['content_policy'] : []) : null;
};
const Problem = z.object({ detail: z.string() });
