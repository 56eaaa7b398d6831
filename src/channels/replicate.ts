import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { MediaInputKey } from '../domain/parameters.ts';
import type { PollResult } from '../domain/upstream.ts';
import type { CallOutcome, UpstreamCaller } from './call-upstream.ts';
import { classifySubmit, readOutcome, type ReadError } from './classify-outcome.ts';
import type { Adapter, MediaRequest, Upstream } from './channel.ts';
import { PathId, nothingMade, strangeReference, toUnsettled, unconfirmed } from './poll.ts';
import { namedInputs } from './named-inputs.ts';
import { probeBy } from './probe.ts';

/**
 * Replicate's predictions: images and video. Base URL `https://api.replicate.com/v1`.
 *
 * Read on 2026-11-21: https://replicate.com/docs/reference/http (predictions.create, .get, .cancel, models.predictions.create,
 * account.get), …/docs/topics/predictions/create-a-prediction and …/docs/topics/predictions/lifecycle.
 *
 * A model is `owner/name`, or `owner/name:version` where Replicate runs a community model. Each model names its inputs as it
 * likes (catalog: `inputs`). A picture is waited for in the create call; a clip is not, for an answer that is lost after
 * seconds of waiting is a job that nobody knows. There is no lookup by a key of ours.
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
      const { path, version } = placeOf(request.model);
      const outcome = await caller.call(upstream, {
        method: 'POST',
        path,
        headers: {
          ...authorization(upstream),
          // Not known there. It is sent for whoever searches logs for a task.
          'idempotency-key': request.idempotencyKey,
          ...(request.type === 'image' && { prefer: `wait=${waitSeconds}` }),
        },
        body: { ...version, input: toInput(request) },
        signal,
      });
      const attempt = classifySubmit(outcome, (json) => Prediction.safeParse(json).data ?? null, readError);
      if (attempt.kind !== 'ok') return attempt;
      const operation = { prediction_id: attempt.value.id };
      const result = toResult(attempt.value);
      return result.kind === 'done' ? { ...result, operation } : { kind: 'ok', value: operation };
    },

    async pollMedia(upstream, operation, { signal }) {
      const job = Job.safeParse(operation).data;
      if (!job) return strangeReference;
      const polled = await get(upstream, job.prediction_id, signal);
      return polled.kind === 'ok' ? toResult(polled.value) : toUnsettled(polled);
    },

    async cancelMedia(upstream, operation, { signal, running }) {
      const job = Job.safeParse(operation).data;
      if (!job) return 'not_stopped';
      // A cancel stops what runs, too, and what has run is billed.
      const polled = running === 'spare' ? await get(upstream, job.prediction_id, signal) : null;
      if (polled && polled.kind !== 'ok') return 'not_stopped';
      if (polled && polled.value.status !== 'starting') return isStopped(polled.value) ? 'stopped' : 'not_stopped';
      const outcome = await caller.call(upstream, {
        method: 'POST',
        path: `/predictions/${job.prediction_id}/cancel`,
        headers: authorization(upstream),
        signal,
      });
      const answer = readPrediction(outcome);
      if (answer.kind !== 'ok') return unconfirmed(outcome);
      // It may have started since the poll. Then a part is billed, although the job is stopped.
      if (isStopped(answer.value)) return 'stopped';
      return isOver(answer.value) ? 'not_stopped' : 'unclear';
    },

    probe: probeBy(caller, { path: '/account', headers: authorization, shape: Account, readError }),
  };
}

/** Many a picture is there within this; a model that must be woken takes minutes. */
const waitSeconds = 5;

const authorization = (upstream: Upstream) => ({ authorization: `Bearer ${upstream.credential}` });

function placeOf(model: string): { path: string; version: { version?: string } } {
  const [owner = '', name = ''] = model.split('/');
  if (name === '' || name.includes(':')) return { path: '/predictions', version: { version: model } };
  return { path: `/models/${encodeURIComponent(owner)}/${encodeURIComponent(name)}/predictions`, version: {} };
}

/** What most models call their inputs. */
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
  /** Whatever the model gives: an address, a list of them, or an object that holds some. */
  output: z.unknown(),
  error: z.unknown(),
});
type Prediction = z.infer<typeof Prediction>;

const isStopped = ({ status }: Prediction): boolean => status === 'canceled' || status === 'aborted';
const isOver = ({ status }: Prediction): boolean => status === 'succeeded' || status === 'failed';

const readPrediction = (outcome: CallOutcome) =>
  readOutcome(outcome, (json) => Prediction.safeParse(json).data ?? null, readError);

function toResult({ status, output, error }: Prediction): PollResult {
  switch (status) {
    case 'starting':
    case 'processing':
      return { kind: 'pending' };
    case 'succeeded': {
      const urls = addressesIn(output, 0);
      return urls.length > 0
        ? { kind: 'done', outputs: urls.map((url) => ({ url })) }
        : nothingMade('done without outputs');
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

function addressesIn(output: unknown, depth: number): string[] {
  if (typeof output === 'string') return /^(https?:\/\/|data:)/i.test(output) ? [output] : [];
  if (typeof output !== 'object' || output === null || depth > depthMax) return [];
  return Object.values(output).flatMap((value: unknown) => addressesIn(value, depth + 1));
}
const depthMax = 2;

/** RFC 7807 by its looks: `{title, detail, status}`, or `{detail}` alone. */
const readError: ReadError = (json) => {
  const problem = Problem.safeParse(json).data;
  if (!problem) return null;
  return { words: isFlagged(problem.detail) ? ['content_policy'] : [] };
};
const Problem = z.object({ detail: z.string() });
