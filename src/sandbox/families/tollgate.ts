import { objectOf, type Fields } from '../chat.ts';
import { json, type Family, type FamilyCall, type FamilyParts, type Reply } from '../family.ts';
import { askedOf, fetchFile, fileUrls, recordMedia, stringOf, takeJob } from '../media-family.ts';

/**
 * Tollgate's own task API, as another gateway offers it (docs/API.md): create with an idempotency key, poll, cancel, and the
 * model list.
 */
export const tollgate: Family = async (parts, call) => {
  const file = await fetchFile(parts, call, family);
  if (file) return file;
  if (!/^bearer \S/i.test(call.headers.authorization ?? '')) return authRefused;
  if (call.path === '/api/v1/models' && call.method === 'GET') {
    return json(200, { object: 'list', data: [{ id: 'sandbox-model', object: 'model', type: 'image' }] });
  }
  const kind = /^\/api\/v1\/(images|video)\/generate$/.exec(call.path)?.[1];
  if (kind !== undefined && call.method === 'POST') return create(parts, call, kind === 'video' ? 'video' : 'image');
  const [, id = '', leaf] = /^\/api\/v1\/tasks\/([\w-]+)(\/cancel)?$/.exec(call.path) ?? [];
  if (id === '' || call.method !== (leaf === undefined ? 'GET' : 'POST')) return notFound;
  recordMedia(parts, call, leaf === undefined ? 'poll' : 'cancel', { family, prompt: parts.jobs.promptOf(id) });
  const found = parts.jobs.find(id);
  if (!found || found.job.fate === 'lost') return notFound;
  if (leaf !== undefined && !parts.jobs.isCanceled(id)) {
    if (found.state !== 'queued') return problem(409, 'task_not_cancelable', 'The task can no longer be canceled.');
    parts.jobs.cancel(id);
  }
  return json(200, toTask(parts, call, id));
};

const family = 'tollgate';

function create(parts: FamilyParts, call: FamilyCall, type: 'image' | 'video'): Reply {
  const body = objectOf(call.body);
  const prompt = stringOf(body?.prompt);
  if (!body || prompt === '' || stringOf(body.model) === '') {
    return problem(400, 'missing_parameter', 'model and prompt are required.');
  }
  const asked = { ...askedOf(type === 'video' ? 'video' : '', body), type };
  const taken = takeJob(parts, call, { family, prompt, asked, refusals, replays: true });
  return 'reply' in taken ? taken.reply : json(202, toTask(parts, call, taken.id));
}

function toTask(parts: FamilyParts, call: FamilyCall, id: string): Fields {
  const found = parts.jobs.find(id);
  if (!found) return {};
  const { job } = found;
  const isCanceled = parts.jobs.isCanceled(id);
  const state = isCanceled || found.state === 'missing' ? 'queued' : found.state;
  const urls = state === 'done' ? fileUrls(parts, call, id) : [];
  const isHeldBack = state === 'done' && urls.length === 0;
  const isFailed = state === 'failed' || isHeldBack;
  const words = { queued: 'queued', running: 'processing', done: 'succeeded', failed: 'failed' };
  const code = isHeldBack ? 'content_policy_violation' : 'upstream_failed';
  return {
    task_id: id,
    object: 'task',
    type: job.type,
    model: 'sandbox-model',
    status: isCanceled ? 'canceled' : isFailed ? 'failed' : words[state],
    progress: null,
    output:
      urls.length === 0
        ? null
        : urls.map((url) => ({
            url,
            mime_type: job.type === 'video' ? 'video/mp4' : 'image/png',
            width: job.width,
            height: job.height,
            duration: job.type === 'video' ? job.seconds : null,
          })),
    error: isFailed ? { code, message: 'The job failed.', retryable: !isHeldBack } : null,
    created_at: Math.floor(job.createdAt / 1_000),
  };
}

const problem = (status: number, code: string, message: string, headers: Record<string, string> = {}): Reply => {
  const types: Record<number, string> = { 429: 'rate_limit_error', 503: 'overloaded_error' };
  return json(
    status,
    { error: { message, type: types[status] ?? 'invalid_request_error', param: null, code } },
    headers,
  );
};
const notFound = problem(404, 'task_not_found', 'There is no such task.');
const authRefused = problem(401, 'invalid_api_key', 'Incorrect API key provided.');
const refusals = {
  transient: problem(503, 'no_channel_available', 'No channel is available.', { 'retry-after': '1' }),
  rate_limit: problem(429, 'rate_limit_exceeded', 'Too many requests.', { 'retry-after': '7' }),
  refused: problem(400, 'content_policy_violation', 'The content policy refused the request.'),
  auth: authRefused,
};
