import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { PollResult } from '../domain/upstream.ts';
import { bearerAuthorization as authorization, type CallOutcome, type UpstreamCaller } from './call-upstream.ts';
import { classifySubmit, isContentPolicy, readOutcome, type ReadError } from './classify-outcome.ts';
import type { Adapter, MediaInput, MediaRequest, Upstream } from './channel.ts';
import { PathId, failedPoll, noOutputs, parsedBy, unconfirmedStop, unreadableReference } from './poll.ts';
import { probeBy } from './probe.ts';

/**
 * Seedance on BytePlus ModelArk, base URL `https://ark.ap-southeast.bytepluses.com/api/v3`, or on Volcengine Ark, base URL
 * `https://ark.cn-beijing.volces.com/api/v3`. Video only.
 *
 * Read on 2026-11-21: https://docs.byteplus.com/en/docs/ModelArk/1520757 (create), …/1521309 (retrieve), …/1521675 (list),
 * …/1521720 (cancel or delete) and …/1299023 (error codes).
 *
 * Ark cannot find a job by our key. The URL of a result is valid for a day.
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
        // Ark ignores this header. It helps to find a task in logs.
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
      if (!job) return unreadableReference;
      const poll = await retrieve(upstream, job.task_id, signal);
      return poll.kind === 'ok' ? toResult(poll.value) : failedPoll(poll);
    },

    async cancelMedia(upstream, operation, { signal }) {
      const job = Job.safeParse(operation).data;
      if (!job) return 'not_stopped';
      // DELETE cancels a queued task, but it deletes the record and the result of a finished one.
      const before = await retrieve(upstream, job.task_id, signal);
      if (before.kind !== 'ok') return 'not_stopped';
      if (before.value.status !== 'queued') return before.value.status === 'cancelled' ? 'stopped' : 'not_stopped';
      const outcome = await caller.call(upstream, {
        method: 'DELETE',
        path: `${tasksPath}/${job.task_id}`,
        headers: authorization(upstream),
        signal,
      });
      const isAccepted = outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300;
      if (!isAccepted) return unconfirmedStop(outcome);
      // The task may have finished before the DELETE, and then its record is deleted.
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

function toContent(request: MediaRequest): JsonObject[] {
  const part = (type: 'image_url' | 'video_url' | 'audio_url', input: MediaInput, role: string): JsonObject => ({
    type,
    [type]: { url: input.url },
    role,
  });
  return [
    { type: 'text', text: request.prompt },
    ...(request.image ? [part('image_url', request.image, 'first_frame')] : []),
    ...(request.referenceImages ?? []).map((image) => part('image_url', image, 'reference_image')),
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

const readTask = (outcome: CallOutcome) => readOutcome(outcome, parsedBy(Task), readError);

function toResult({ status, content, error, duration }: z.infer<typeof Task>): PollResult {
  switch (status) {
    case 'queued':
    case 'running':
      return { kind: 'pending' };
    case 'succeeded':
      if (!content?.video_url) return noOutputs();
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
      // The request itself is invalid: an image of the wrong size, or two parameters that exclude each other.
      if (/^(InvalidParameter|MissingParameter)/.test(word))
        return { kind: 'refused', code: 'upstream_failed', detail };
      return { kind: 'failed', detail };
    }
  }
}

/** Ark's error code, and the common table's word for a code that the table does not have. */
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
