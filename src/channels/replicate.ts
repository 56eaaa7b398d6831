import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { MediaInputKey } from '../domain/parameters.ts';
import type { PollResult } from '../domain/upstream.ts';
import { bearerAuthorization as authorization, type CallOutcome, type UpstreamCaller } from './call-upstream.ts';
import { classifySubmit, readOutcome, type ReadError } from './classify-outcome.ts';
import type { Adapter, MediaRequest, Upstream } from './channel.ts';
import { PathId, failedPoll, noOutputs, parsedBy, unconfirmedStop, unreadableReference } from './poll.ts';
import { namedInputs } from './named-inputs.ts';
import { probeBy } from './probe.ts';

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
  const get = async (upstream: Upstream, predictionId: string, signal: AbortSignal) =>
    readPrediction(
      await caller.call(upstream, {
        method: 'GET',
        path: `/predictions/${predictionId}`,
        headers: authorization(upstream),
        signal,
      }),
    );

  return {
    async submitMedia(upstream, request, { signal }) {
      const { path, version } = endpointOf(request.model);
      const outcome = await caller.call(upstream, {
        method: 'POST',
        path,
        headers: {
          ...authorization(upstream),
          // Replicate ignores this header. It helps to find a task in logs.
          'idempotency-key': request.idempotencyKey,
          ...(request.type === 'image' && { prefer: `wait=${waitSeconds}` }),
        },
        body: { ...version, input: toInput(request) },
        signal,
      });
      const attempt = classifySubmit(outcome, parsedBy(Prediction), readError);
      if (attempt.kind !== 'ok') return attempt;
      const operation = { prediction_id: attempt.value.id };
      const result = toResult(attempt.value);
      return result.kind === 'done' ? { ...result, operation } : { kind: 'ok', value: operation };
    },

    async pollMedia(upstream, operation, { signal }) {
      const job = Job.safeParse(operation).data;
      if (!job) return unreadableReference;
      const poll = await get(upstream, job.prediction_id, signal);
      return poll.kind === 'ok' ? toResult(poll.value) : failedPoll(poll);
    },

    async cancelMedia(upstream, operation, { signal, running }) {
      const job = Job.safeParse(operation).data;
      if (!job) return 'not_stopped';
      // A cancel also stops a running job, and Replicate bills the time that it ran.
      const poll = running === 'spare' ? await get(upstream, job.prediction_id, signal) : null;
      if (poll && poll.kind !== 'ok') return 'not_stopped';
      if (poll && poll.value.status !== 'starting') return isStopped(poll.value) ? 'stopped' : 'not_stopped';
      const outcome = await caller.call(upstream, {
        method: 'POST',
        path: `/predictions/${job.prediction_id}/cancel`,
        headers: authorization(upstream),
        signal,
      });
      const answer = readPrediction(outcome);
      if (answer.kind !== 'ok') return unconfirmedStop(outcome);
      // The job may have started since the poll. Then a part of it is billed, but it is stopped all the same.
      if (isStopped(answer.value)) return 'stopped';
      return isOver(answer.value) ? 'not_stopped' : 'unclear';
    },

    probe: probeBy(caller, { path: '/account', headers: authorization, shape: Account, readError }),
  };
}

/** Many images are ready within this time. A model with a cold start takes minutes. */
const waitSeconds = 5;

function endpointOf(model: string): { path: string; version: { version?: string } } {
  const [owner = '', name = ''] = model.split('/');
  if (name === '' || name.includes(':')) return { path: '/predictions', version: { version: model } };
  return { path: `/models/${encodeURIComponent(owner)}/${encodeURIComponent(name)}/predictions`, version: {} };
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

const readPrediction = (outcome: CallOutcome) => readOutcome(outcome, parsedBy(Prediction), readError);

function toResult({ status, output, error }: Prediction): PollResult {
  switch (status) {
    case 'starting':
    case 'processing':
      return { kind: 'pending' };
    case 'succeeded': {
      const urls = urlsIn(output, 0);
      return urls.length > 0 ? { kind: 'done', outputs: urls.map((url) => ({ url })) } : noOutputs();
    }
    case 'failed':
    case 'canceled':
    case 'aborted':
      // The reason is prose: "NSFW content detected", "flagged as sensitive (E005)".
      return isFlagged(error)
        ? { kind: 'refused', code: 'content_policy_violation', detail: `the prediction ${status}, flagged` }
        : { kind: 'failed', detail: `the prediction ${status}` };
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
  if (!problem) return null;
  return { words: isFlagged(problem.detail) ? ['content_policy'] : [] };
};
const Problem = z.object({ detail: z.string() });
