import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { PollResult } from '../domain/upstream.ts';
import type { CallOutcome, UpstreamCaller } from './call-upstream.ts';
import { classifySubmit, isContentPolicy, readOutcome, type ReadError } from './classify-outcome.ts';
import type { Adapter, MediaInput, MediaRequest, Upstream } from './channel.ts';
import { PathId, nothingMade, strangeReference, toUnsettled, unconfirmed } from './poll.ts';
import { probeBy } from './probe.ts';

/**
 * Seedance on BytePlus ModelArk, base URL `https://ark.ap-southeast.bytepluses.com/api/v3`, or on Volcengine Ark, base URL
 * `https://ark.cn-beijing.volces.com/api/v3`. Video only.
 *
 * Read on 2026-11-21: https://docs.byteplus.com/en/docs/ModelArk/1520757 (create), …/1521309 (retrieve), …/1521675 (list),
 * …/1521720 (cancel or delete) and …/1299023 (error codes).
 *
 * There is no lookup by a key of ours. A result's address lives for a day.
 */
export function createSeedance(caller: UpstreamCaller): Adapter {
  const retrieve = async (upstream: Upstream, taskId: string, signal: AbortSignal) =>
    readTask(
      await caller.call(upstream, {
        method: 'GET',
        path: `${tasksPath}/${taskId}`,
        headers: authorization(upstream),
        signal,
      }),
    );

  return {
    async submitMedia(upstream, request, { signal }) {
      const outcome = await caller.call(upstream, {
        method: 'POST',
        path: tasksPath,
        // Not known there. It is sent for whoever searches logs for a task.
        headers: { ...authorization(upstream), 'idempotency-key': request.idempotencyKey },
        body: { ...request.parameters, model: request.model, content: toContent(request) },
        signal,
      });
      return classifySubmit(
        outcome,
        (json) => {
          const submitted = Submitted.safeParse(json).data;
          return submitted ? { task_id: submitted.id } : null;
        },
        readError,
      );
    },

    async pollMedia(upstream, operation, { signal }) {
      const job = Job.safeParse(operation).data;
      if (!job) return strangeReference;
      const polled = await retrieve(upstream, job.task_id, signal);
      return polled.kind === 'ok' ? toResult(polled.value) : toUnsettled(polled);
    },

    async cancelMedia(upstream, operation, { signal }) {
      const job = Job.safeParse(operation).data;
      if (!job) return 'not_stopped';
      // DELETE takes a queued task out of the queue, and erases the record of a finished one with its result.
      const polled = await retrieve(upstream, job.task_id, signal);
      if (polled.kind !== 'ok') return 'not_stopped';
      if (polled.value.status !== 'queued') return polled.value.status === 'cancelled' ? 'stopped' : 'not_stopped';
      const outcome = await caller.call(upstream, {
        method: 'DELETE',
        path: `${tasksPath}/${job.task_id}`,
        headers: authorization(upstream),
        signal,
      });
      const isTaken = outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300;
      if (!isTaken) return unconfirmed(outcome);
      // The job may have ended between the poll and the DELETE, and then its record is gone.
      const after = await retrieve(upstream, job.task_id, signal);
      if (after.kind !== 'ok' || after.value.status === 'queued') return 'unclear';
      return after.value.status === 'cancelled' ? 'stopped' : 'not_stopped';
    },

    probe: probeBy(caller, {
      path: `${tasksPath}?page_num=1&page_size=1`,
      headers: authorization,
      shape: TaskList,
      readError,
    }),
  };
}

const tasksPath = '/contents/generations/tasks';
const authorization = (upstream: Upstream) => ({ authorization: `Bearer ${upstream.credential}` });

function toContent(request: MediaRequest): JsonObject[] {
  const part = (type: 'image_url' | 'video_url' | 'audio_url', input: MediaInput, role: string): JsonObject => ({
    type,
    [type]: { url: input.url },
    role,
  });
  return [
    { type: 'text', text: request.prompt },
    ...(request.image ? [part('image_url', request.image, 'first_frame')] : []),
    ...(request.referenceImages ?? []).map((picture) => part('image_url', picture, 'reference_image')),
    ...(request.videoUrl ? [part('video_url', request.videoUrl, 'reference_video')] : []),
    ...(request.audioUrl ? [part('audio_url', request.audioUrl, 'reference_audio')] : []),
  ];
}

const Submitted = z.object({ id: PathId });
const Job = z.object({ task_id: PathId });
const TaskList = z.object({ items: z.array(z.unknown()).nullish(), total: z.number() });
const Task = z.object({
  id: z.string(),
  status: z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired']),
  content: z.object({ video_url: z.string().min(1).nullish() }).nullish(),
  error: z
    .object({ code: z.string().nullish().catch(null) })
    .nullish()
    .catch(null),
  duration: z.number().positive().nullish().catch(null),
});

const readTask = (outcome: CallOutcome) => readOutcome(outcome, (json) => Task.safeParse(json).data ?? null, readError);

function toResult({ status, content, error, duration }: z.infer<typeof Task>): PollResult {
  switch (status) {
    case 'queued':
    case 'running':
      return { kind: 'pending' };
    case 'succeeded':
      if (!content?.video_url) return nothingMade('done without outputs');
      return {
        kind: 'done',
        outputs: [{ url: content.video_url, mimeType: 'video/mp4', ...(duration && { duration }) }],
      };
    case 'failed':
    case 'cancelled':
    case 'expired': {
      const word = /^[\w.-]{1,128}$/.exec(error?.code ?? '')?.[0] ?? '';
      const detail = `the task ${status} ${word}`.trim();
      if (isContentPolicy(wordsOf(word))) return { kind: 'refused', code: 'content_policy_violation', detail };
      // The request itself: a picture of the wrong size, two parameters that do not go together.
      if (/^(InvalidParameter|MissingParameter)/.test(word))
        return { kind: 'refused', code: 'upstream_failed', detail };
      return { kind: 'failed', detail };
    }
  }
}

/** Ark's words, in ours where the common table would not know them. */
const wordsOf = (code: string): string[] => [
  code,
  ...(/RiskDetection|SensitiveContent|PolicyViolation/.test(code) ? ['content_policy'] : []),
  ...(/AccountOverdue|QuotaExceeded|SetLimitExceeded/.test(code) ? ['quota_exceeded'] : []),
  ...(/ModelNotOpen|^InvalidEndpoint|UnsupportedModel/.test(code) ? ['model_not_found'] : []),
];

const readError: ReadError = (json) => {
  const error = ErrorBody.safeParse(json).data?.error;
  return error ? { words: wordsOf(error.code) } : null;
};
const ErrorBody = z.object({ error: z.object({ code: z.string(), message: z.string() }) });
