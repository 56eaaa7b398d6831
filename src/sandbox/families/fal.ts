import { objectOf } from '../chat.ts';
import { json, type Family, type FamilyCall, type FamilyParts, type Reply } from '../family.ts';
import { askedOf, fetchFile, fileUrls, recordMedia, stringOf, takeJob } from '../media-family.ts';
import type { MediaJob } from '../media-jobs.ts';

/**
 * fal's queue, as https://fal.ai/docs/api-reference/inference-api and …/model-apis/errors describe it (read on 2026-11-21):
 * submit, status, result, cancel, and the files that results point at.
 */
export const fal: Family = async (parts, call) => {
  const file = await fetchFile(parts, call, family);
  if (file) return file;
  if (!/^key \S/i.test(call.headers.authorization ?? '')) return authRefused;

  const request = /^\/(.+)\/requests\/([\w.-]+)(\/status|\/cancel)?$/.exec(call.path);
  if (!request) return call.method === 'POST' ? submit(parts, call) : json(405, { detail: 'Method Not Allowed' });
  const [, app = '', id = '', leaf = ''] = request;
  const isCancel = leaf === '/cancel';
  if (call.method !== (isCancel ? 'PUT' : 'GET')) return json(405, { detail: 'Method Not Allowed' });
  recordMedia(parts, call, isCancel ? 'cancel' : 'poll', { family, prompt: parts.jobs.promptOf(id) });
  if (isCancel) return cancel(parts, id);
  return leaf === '/status' ? status(parts, call, app, id) : result(parts, call, id);
};

const family = 'fal';

function submit(parts: FamilyParts, call: FamilyCall): Reply {
  const input = objectOf(call.body);
  const prompt = stringOf(input?.prompt);
  if (!input || prompt === '') return modelError(422, 'missing', 'Field required');
  const taken = takeJob(parts, call, { family, prompt, asked: askedOf(call.path, input), refusals });
  if ('reply' in taken) return taken.reply;
  const url = `${call.baseUrl}/${appOf(call.path)}/requests/${taken.id}`;
  return json(200, {
    status: 'IN_QUEUE',
    request_id: taken.id,
    response_url: url,
    status_url: `${url}/status`,
    cancel_url: `${url}/cancel`,
    queue_position: 0,
  });
}

function status(parts: FamilyParts, call: FamilyCall, app: string, id: string): Reply {
  const found = parts.jobs.find(id);
  if (!found || found.state === 'missing') return notFound;
  const { job, state } = found;
  const url = `${call.baseUrl}/${app}/requests/${id}`;
  const common = { request_id: id, response_url: url, status_url: `${url}/status`, cancel_url: `${url}/cancel` };
  if (state === 'queued') return json(202, { status: 'IN_QUEUE', ...common, queue_position: 0 });
  if (state === 'running') return json(202, { status: 'IN_PROGRESS', ...common, logs: null });
  const failed = state === 'failed' && { error: 'Internal server error', error_type: 'internal_error' };
  return json(200, {
    status: 'COMPLETED',
    ...common,
    logs: null,
    metrics: { inference_time: job.latencyMs / 1_000 },
    ...failed,
  });
}

function result(parts: FamilyParts, call: FamilyCall, id: string): Reply {
  const found = parts.jobs.find(id);
  if (!found || found.state === 'missing') return notFound;
  const { job, state } = found;
  if (state === 'failed') return modelError(500, 'internal_server_error', 'Internal server error');
  if (state !== 'done') return json(400, { detail: 'Request is still in progress' });
  const files = fileUrls(parts, call, id).map((url) => toFile(url, job));
  if (job.type === 'video') return json(200, files.length === 1 ? { video: files[0] } : { videos: files });
  return json(200, { images: files, timings: {}, seed: job.seed, has_nsfw_concepts: files.map(() => false) });
}

function cancel(parts: FamilyParts, id: string): Reply {
  const state = parts.jobs.find(id)?.state ?? 'missing';
  if (state === 'missing') return json(404, { status: 'NOT_FOUND' });
  if (state === 'queued') {
    parts.jobs.cancel(id);
    return json(200, { status: 'OK' });
  }
  // The queue asks the app to stop. Like many apps, this one runs to its end.
  return state === 'running'
    ? json(202, { status: 'CANCELLATION_REQUESTED' })
    : json(400, { status: 'ALREADY_COMPLETED' });
}

const toFile = (url: string, job: MediaJob) => ({
  url,
  content_type: job.type === 'video' ? 'video/mp4' : 'image/png',
  width: job.width,
  height: job.height,
  ...(job.type === 'video' && { duration: job.seconds }),
});

/** fal's status, result and cancel URLs contain the owner and the app only. */
const appOf = (path: string): string => path.split('/').filter(Boolean).slice(0, 2).join('/');

const modelError = (code: number, type: string, message: string): Reply =>
  json(
    code,
    { detail: [{ loc: ['body', 'prompt'], msg: message, type, url: `https://docs.fal.ai/errors/#${type}` }] },
    { 'x-fal-retryable': 'false' },
  );
const requestError = (code: number, type: string, message: string, headers: Record<string, string> = {}): Reply =>
  json(code, { detail: message, error_type: type }, { 'x-fal-error-type': type, ...headers });

const notFound = json(404, { detail: 'Request not found' });
const authRefused = json(401, { detail: 'Authentication is required to access this application' });

/** fal's replies to refused submits. The other failures are accepted and fail later. */
const refusals = {
  transient: requestError(503, 'runner_scheduling_failure', 'No runner could be allocated'),
  rate_limit: requestError(429, 'rate_limit_exceeded', 'Too many requests', { 'retry-after': '7' }),
  refused: modelError(400, 'content_policy_violation', 'The content was flagged by a content checker.'),
  auth: authRefused,
};
