import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { splitDataUri } from '../domain/chat.ts';
import type { JsonObject } from '../domain/json.ts';
import type { PollResult, UpstreamOutput } from '../domain/upstream.ts';
import type { RequestBody, UpstreamCaller } from './call-upstream.ts';
import { classifySubmit, type ReadError } from './classify-outcome.ts';
import type { Adapter, MediaRequest, Operation, Upstream } from './channel.ts';
import { familyCalls } from './family-calls.ts';
import { PathId, doneWith, failedJob } from './poll.ts';

/**
 * Kling: images and video. Base URL `https://api-singapore.klingai.com/v1`. The credential is `ACCESS_KEY:SECRET_KEY`, and each
 * call has a token signed with it. A credential without a colon is sent unchanged.
 *
 * Read on 2026-11-21: https://app.klingai.com/global/dev/document-api/apiReference/commonInfo (tokens, error codes),
 * …/apiReference/model/textToVideo, …/imageToVideo and …/imageGeneration.
 *
 * The name of a model with modes includes the mode: `kling-v3/pro`, `kling-v3/std`. Version 3 makes 3 to 15 seconds, and sound with
 * `sound: on` (resellers' copies of the documentation, read on 2026-11-22: https://docs.powertokens.ai/en/zmodelVideo/kling). A job can be found by our key
 * (`external_task_id`). "Not found" right after a lost answer does not prove that there is no job. A job cannot be stopped.
 */
export function createKling(caller: UpstreamCaller): Adapter {
  const { call, submit, pollBy, probeBy } = familyCalls(caller, { headers: authorization, readError });
  return {
    async submitMedia(upstream, request, options) {
      const path = pathOf(request);
      return submit(upstream, { path, body: toBody(request) }, (json) => toOperation(json, path), options);
    },

    async findMedia(upstream, request, { signal }) {
      const path = pathOf(request);
      const outcome = await call(upstream, { path: `${path}/${encodeURIComponent(request.idempotencyKey)}`, signal });
      return classifySubmit<Operation>(outcome, (json) => toOperation(json, path), readError);
    },

    pollMedia: pollBy(Job, (job) => `${job.path}/${job.task_id}`, Task, toResult),
    probe: probeBy('/videos/text2video?pageNum=1&pageSize=1', TaskList),
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

function toBody(request: MediaRequest): RequestBody {
  const [model = '', mode] = request.model.split('/');
  const { aspect_ratio: ratio, ...others } = request.parameters;
  const image = request.image ?? (request.type === 'image' ? request.referenceImages?.[0] : undefined);
  // A clip has the aspect ratio of its first frame.
  const hasOwnRatio = request.type === 'video' && request.image !== undefined;
  return {
    ...others,
    aspect_ratio: hasOwnRatio ? undefined : ratio,
    model_name: model,
    mode,
    prompt: request.prompt,
    // A data URI is sent without its prefix.
    image: image && (splitDataUri(image.url)?.base64 ?? image.url),
    external_task_id: request.idempotencyKey,
  };
}

const Job = z.object({ path: z.enum(paths), task_id: PathId });
const File = z.object({
  url: z.string().min(1),
  /** Seconds, as text. */
  duration: z.string().nullish().catch(null),
});
const TaskData = z.object({
  task_id: PathId,
  task_status: z.enum(['submitted', 'processing', 'succeed', 'failed']),
  task_status_msg: z.string().nullish().catch(null),
  task_result: z.object({ images: z.array(File).nullish(), videos: z.array(File).nullish() }).nullish(),
});
const Task = z.object({ code: z.literal(0), data: TaskData }).transform(({ data }) => data);
const TaskList = z.object({ code: z.literal(0), data: z.array(z.unknown()) });

const toOperation = (json: unknown, path: string): Operation | null => {
  const task = Task.safeParse(json).data;
  return task ? { path, task_id: task.task_id } : null;
};

function toResult({ task_status, task_status_msg: reason, task_result: made }: z.infer<typeof Task>): PollResult {
  switch (task_status) {
    case 'submitted':
    case 'processing':
      return { kind: 'pending' };
    case 'succeed':
      return doneWith([...(made?.images ?? []).map(({ url }) => ({ url })), ...(made?.videos ?? []).map(toClip)]);
    case 'failed': {
      // The reason is in prose only: "Failure to pass the risk control system".
      const isByPolicy = /risk control|sensitive|content polic|violat|moderat/i.test(reason ?? '');
      return failedJob(isByPolicy ? 'the task failed the risk control' : 'the task failed', isByPolicy);
    }
  }
}

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
  return [`service_code_${error.code}`, ...(word === undefined ? [] : [word])];
};
const ErrorBody = z.object({ code: z.int().min(0).max(999_999), message: z.string() });
