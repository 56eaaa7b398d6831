import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { splitDataUri } from '../domain/chat.ts';
import type { JsonObject } from '../domain/json.ts';
import type { Attempt, PollResult, UpstreamOutput } from '../domain/upstream.ts';
import type { CallOutcome, UpstreamCaller } from './call-upstream.ts';
import { classifySubmit, readOutcome, type ReadError } from './classify-outcome.ts';
import type { Adapter, MediaInput, MediaRequest, Operation, Upstream } from './channel.ts';
import { PathId, failedPoll, noOutputs, unreadableReference } from './poll.ts';
import { probeBy } from './probe.ts';

/**
 * Kling: images and video. Base URL `https://api-singapore.klingai.com/v1`. The credential is `ACCESS_KEY:SECRET_KEY`, and each
 * call has a token signed with it. A credential without a colon is sent unchanged.
 *
 * Read on 2026-11-21: https://app.klingai.com/global/dev/document-api/apiReference/commonInfo (tokens, error codes),
 * …/apiReference/model/textToVideo, …/imageToVideo and …/imageGeneration.
 *
 * The name of a model with two modes includes the mode: `kling-v2-5-turbo/pro`. A job can be found by our key
 * (`external_task_id`). "Not found" right after a lost answer does not prove that there is no job. A job cannot be stopped.
 */
export function createKling(caller: UpstreamCaller): Adapter {
  return {
    async submitMedia(upstream, request, { signal }) {
      const path = pathOf(request);
      const outcome = await caller.call(upstream, {
        method: 'POST',
        path,
        headers: authorization(upstream),
        body: toBody(request),
        signal,
      });
      return classifySubmit(outcome, (json) => toOperation(json, path), readError);
    },

    async findMedia(upstream, request, { signal }): Promise<Attempt<Operation | null>> {
      const path = pathOf(request);
      const outcome = await caller.call(upstream, {
        method: 'GET',
        path: `${path}/${encodeURIComponent(request.idempotencyKey)}`,
        headers: authorization(upstream),
        signal,
      });
      return classifySubmit(outcome, (json) => toOperation(json, path), readError);
    },

    async pollMedia(upstream, operation, { signal }) {
      const job = Job.safeParse(operation).data;
      if (!job) return unreadableReference;
      const outcome = await caller.call(upstream, {
        method: 'GET',
        path: `${job.path}/${job.task_id}`,
        headers: authorization(upstream),
        signal,
      });
      const poll = readTask(outcome);
      return poll.kind === 'ok' ? toResult(poll.value) : failedPoll(poll);
    },

    probe: probeBy(caller, {
      path: '/videos/text2video?pageNum=1&pageSize=1',
      headers: authorization,
      shape: TaskList,
      readError,
    }),
  };
}

function authorization({ credential }: Upstream): { authorization: string } {
  const colon = credential.indexOf(':');
  const token = colon < 0 ? credential : signedToken(credential.slice(0, colon), credential.slice(colon + 1));
  return { authorization: `Bearer ${token}` };
}

/** A JSON Web Token (RFC 7519, HS256), valid for half an hour. It allows our clock to be 5 s ahead. */
function signedToken(accessKey: string, secretKey: string): string {
  const now = Math.floor(Date.now() / 1_000);
  const encoded = (part: JsonObject): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  const claims = `${encoded({ alg: 'HS256', typ: 'JWT' })}.${encoded({ iss: accessKey, exp: now + 1_800, nbf: now - 5 })}`;
  return `${claims}.${createHmac('sha256', secretKey).update(claims).digest('base64url')}`;
}

const paths = ['/videos/text2video', '/videos/image2video', '/images/generations'] as const;

const pathOf = ({ type, image }: MediaRequest): (typeof paths)[number] =>
  type === 'image' ? paths[2] : image ? paths[1] : paths[0];

function toBody(request: MediaRequest): JsonObject {
  const [model = '', mode] = request.model.split('/');
  const { aspect_ratio: ratio, ...others } = request.parameters;
  const image = request.image ?? (request.type === 'image' ? request.referenceImages?.[0] : undefined);
  // A clip has the aspect ratio of its first frame.
  const sendsRatio = ratio !== undefined && !(request.type === 'video' && request.image);
  return {
    ...others,
    ...(sendsRatio && { aspect_ratio: ratio }),
    model_name: model,
    ...(mode !== undefined && { mode }),
    prompt: request.prompt,
    ...(image && { image: bare(image) }),
    external_task_id: request.idempotencyKey,
  };
}

/** A URL, or the base64 of a data URI without its prefix. */
const bare = ({ url }: MediaInput): string => splitDataUri(url)?.base64 ?? url;

const Job = z.object({ path: z.enum(paths), task_id: PathId });
const File = z.object({
  url: z.string().min(1),
  /** Seconds, as text. */
  duration: z.string().nullish().catch(null),
});
const Task = z.object({
  code: z.literal(0),
  data: z.object({
    task_id: PathId,
    task_status: z.enum(['submitted', 'processing', 'succeed', 'failed']),
    task_status_msg: z.string().nullish().catch(null),
    task_result: z.object({ images: z.array(File).nullish(), videos: z.array(File).nullish() }).nullish(),
  }),
});
const TaskList = z.object({ code: z.literal(0), data: z.array(z.unknown()) });

const toOperation = (json: unknown, path: string): Operation | null => {
  const task = Task.safeParse(json).data?.data;
  return task ? { path, task_id: task.task_id } : null;
};

const readTask = (outcome: CallOutcome) =>
  readOutcome(outcome, (json) => Task.safeParse(json).data?.data ?? null, readError);

function toResult({ task_status: status, task_status_msg: reason, task_result: made }: TaskData): PollResult {
  switch (status) {
    case 'submitted':
    case 'processing':
      return { kind: 'pending' };
    case 'succeed': {
      const outputs = [
        ...(made?.images ?? []).map(({ url }): UpstreamOutput => ({ url })),
        ...(made?.videos ?? []).map(toClip),
      ];
      return outputs.length > 0 ? { kind: 'done', outputs } : noOutputs();
    }
    case 'failed':
      // The reason is in prose only: "Failure to pass the risk control system".
      return /risk control|sensitive|content polic|violat|moderat/i.test(reason ?? '')
        ? { kind: 'refused', code: 'content_policy_violation', detail: 'the task failed the risk control' }
        : { kind: 'failed', detail: 'the task failed' };
  }
}
type TaskData = z.infer<typeof Task>['data'];

function toClip({ url, duration }: z.infer<typeof File>): UpstreamOutput {
  const seconds = Number(duration);
  return { url, mimeType: 'video/mp4', ...(seconds > 0 && seconds < 86_400 && { duration: seconds }) };
}

/** Kling's service codes as words of the common table. For other codes the HTTP status decides. */
const codeWords: Record<number, string> = {
  1100: 'billing',
  1101: 'insufficient_balance',
  1102: 'insufficient_balance',
  1103: 'billing',
  1301: 'content_policy',
  1304: 'billing',
};

const readError: ReadError = (json) => {
  const error = ErrorBody.safeParse(json).data;
  if (!error || error.code === 0) return null;
  const word = codeWords[error.code];
  return { words: [`service_code_${error.code}`, ...(word === undefined ? [] : [word])] };
};
const ErrorBody = z.object({ code: z.int().min(0).max(999_999), message: z.string() });
