import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { PollResult } from '../domain/upstream.ts';
import { bearerAuthorization, type UpstreamCaller } from './call-upstream.ts';
import { isContentPolicy, plainWord, readOutcome, type ReadError } from './classify-outcome.ts';
import type { Adapter, MediaInput, MediaRequest, StopOptions } from './channel.ts';
import { familyCalls, onJob } from './family-calls.ts';
import { PathId, doneWith, failedJob, failedPoll, parsedBy, unconfirmedStop, unreadableReference } from './poll.ts';

/**
 * MiniMax Hailuo (H3): video. Base URL `https://api.minimax.io/v2`, or `https://api.minimaxi.com/v2` in mainland China.
 *
 * Read on 2026-11-22: https://platform.minimax.io/docs/api-reference/video-generation-v2-list, …-query, …-delete and
 * …-regeneration (the error bodies), and the wire format of @ai-sdk/minimax 3.0.45 (`minimax-video-model`).
 *
 * MiniMax cannot find a job by our key. A clip has either frames or references: the provider refuses both together.
 */
export function createMinimax(caller: UpstreamCaller): Adapter {
  const { call, get, submit, probeBy } = familyCalls(caller, { headers: bearerAuthorization, readError });
  return {
    async submitMedia(upstream, request, options) {
      // MiniMax documents no idempotency key. The header helps to find a task in logs.
      const headers = { 'idempotency-key': request.idempotencyKey };
      return submit(upstream, { path: tasksPath, headers, body: toBody(request) }, parsedBy(Job), options);
    },

    pollMedia: onJob(Job, unreadableReference, async (upstream, job, options) => {
      const poll = await get(upstream, queryPath(job), Task, options);
      if (poll.kind === 'ok') return toResult(poll.value);
      // An unknown task is a 500 with this prose, not a 404.
      const isUnknown = /\brecord_not_found\b/.test(poll.detail);
      return isUnknown ? { kind: 'missing', detail: poll.detail } : failedPoll(poll);
    }),

    cancelMedia: onJob(Job, 'not_stopped', async (upstream, job, options: StopOptions) => {
      // DELETE cancels a queued task, but it deletes the record and the clip of a finished one.
      const before = await get(upstream, queryPath(job), Task, options);
      if (before.kind !== 'ok') return 'not_stopped';
      if (before.value.status !== 'queued') return before.value.status === 'cancelled' ? 'stopped' : 'not_stopped';
      const path = `${tasksPath}/${job.task_id}`;
      const outcome = await call(upstream, { method: 'DELETE', path, signal: options.signal });
      const answer = readOutcome(outcome, parsedBy(Deleted), readError);
      if (answer.kind !== 'ok') return unconfirmedStop(outcome);
      // The task may have finished before the DELETE, and then its record is deleted.
      return answer.value.status === 'cancelled' ? 'stopped' : 'unclear';
    }),

    probe: probeBy('/query/video_generation?page_num=1&page_size=1', TaskList),
  };
}

const tasksPath = '/video_generation';

function toBody(request: MediaRequest): JsonObject {
  const { image, referenceImages = [], videoUrl, audioUrl } = request;
  const part = (type: 'image_url' | 'video_url' | 'audio_url', input: MediaInput, role: string): JsonObject => ({
    type,
    [type]: { url: input.url },
    role,
  });
  const { ratio, ...parameters } = request.parameters;
  return {
    ...parameters,
    // A clip has the aspect ratio of its first frame.
    ...(ratio !== undefined && !image && { ratio }),
    model: request.model,
    content: [
      { type: 'text', text: request.prompt },
      ...(image ? [part('image_url', image, 'first_frame')] : []),
      ...referenceImages.map((reference) => part('image_url', reference, 'reference_image')),
      ...(videoUrl ? [part('video_url', videoUrl, 'reference_video')] : []),
      ...(audioUrl ? [part('audio_url', audioUrl, 'reference_audio')] : []),
    ],
  };
}

const Job = z.object({ task_id: PathId });
const queryPath = (job: z.infer<typeof Job>): string => `/query/video_generation/${job.task_id}`;
const Deleted = z.object({ task_id: z.string(), status: z.string() });
const TaskList = z.object({ items: z.array(z.unknown()).nullish(), total: z.number() });
const Task = z
  .object({
    task: z.object({
      status: z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired']),
      content: z.object({ url: z.string().min(1).nullish() }).nullish(),
      duration: z.number().positive().optional().catch(undefined),
      error: z
        .object({ code: z.union([z.string(), z.number()]).nullish() })
        .optional()
        .catch(undefined),
    }),
  })
  .transform(({ task }) => task);

function toResult({ status, content, duration, error }: z.infer<typeof Task>): PollResult {
  switch (status) {
    case 'queued':
    case 'running':
      return { kind: 'pending' };
    case 'succeeded':
      return doneWith(content?.url ? [{ url: content.url, mimeType: 'video/mp4', duration }] : []);
    case 'failed':
    case 'cancelled':
    case 'expired': {
      const code = plainWord(String(error?.code ?? ''));
      const detail = `the task ${status} ${code}`.trim();
      const isInvalid = code === '2013';
      if (isInvalid) return { kind: 'refused', code: 'upstream_failed', detail };
      return failedJob(detail, isContentPolicy(wordsOf(code)));
    }
  }
}

/** MiniMax's service codes as words of the common table. For other codes the HTTP status decides. */
const codeWords: Record<string, string> = {
  '1008': 'insufficient_balance',
  '1026': 'content_policy',
  '1027': 'content_policy',
  '2056': 'quota_exceeded',
};
const wordsOf = (code: string): string[] => {
  const word = Object.hasOwn(codeWords, code) ? codeWords[code] : undefined;
  return [`service_code_${code}`, ...(word === undefined ? [] : [word])];
};

/** The service code stands in brackets at the end of the prose: "insufficient balance (1008)". */
const readError: ReadError = (json) => {
  const error = ErrorBody.safeParse(json).data?.error;
  if (!error) return null;
  const [, code] = /\((\d{4})\)\s*$/.exec(error.message) ?? [];
  return [
    error.type,
    ...(code === undefined ? [] : wordsOf(code)),
    ...(/record not found/i.test(error.message) ? ['record_not_found'] : []),
  ];
};
const ErrorBody = z.object({ error: z.object({ type: z.string(), message: z.string() }) });
