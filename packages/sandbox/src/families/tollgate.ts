import { objectOf, type Fields } from '../chat.ts';
import { json, listPage, type Family, type FamilyCall, type Reply } from '../family.ts';
import { requestOf, fetchFile, fileUrls, findProviderJob, stringOf, acceptProviderJob } from '../media-family.ts';
import type { FoundProviderJob } from '../provider-jobs.ts';

/**
 * Tollgate's own task API, as another gateway offers it (docs/API.md): create with an idempotency key, poll, cancel, and the
 * model list.
 */
export const tollgate: Family = async (call) => {
  const file = await fetchFile(call);
  if (file) return file;
  if (!/^bearer \S/i.test(call.headers.authorization ?? '')) return authRefused;
  if (call.path === '/api/v1/models' && call.method === 'GET') {
    const { names } = await listPage(call, { limit: null, after: null });
    return json(200, { object: 'list', data: names.map((id) => ({ id, object: 'model', type: 'image' })) });
  }
  const kind = /^\/api\/v1\/(images|video)\/generate$/.exec(call.path)?.[1];
  if (kind !== undefined && call.method === 'POST') return create(call, kind === 'video' ? 'video' : 'image');
  const [, id = '', leaf] = /^\/api\/v1\/tasks\/([\w-]+)(\/cancel)?$/.exec(call.path) ?? [];
  if (id === '' || call.method !== (leaf === undefined ? 'GET' : 'POST')) return notFound;
  const found = findProviderJob(call, leaf === undefined ? 'poll' : 'cancel', id);
  if (!found) return notFound;
  if (leaf === undefined || found.state === 'canceled') return json(200, toTask(call, found));
  if (found.state !== 'queued') return problem(409, 'task_not_cancelable', 'The task can no longer be canceled.');
  call.providerJobs.cancel(found);
  return json(200, toTask(call, { ...found, state: 'canceled' }));
};

function create(call: FamilyCall, type: 'image' | 'video'): Reply {
  const body = objectOf(call.body);
  const prompt = stringOf(body?.prompt);
  if (!body || prompt === '' || stringOf(body.model) === '') {
    return problem(400, 'missing_parameter', 'model and prompt are required.');
  }
  const request = { ...requestOf(type === 'video' ? 'video' : '', body), type };
  return acceptProviderJob(call, { prompt, request, refusals, replays: true }, (found) =>
    json(202, toTask(call, found)),
  );
}

const wordOf: Record<FoundProviderJob['state'], string> = {
  queued: 'queued',
  running: 'processing',
  canceled: 'canceled',
  done: 'succeeded',
  withheld: 'failed',
  failed: 'failed',
};

function toTask(call: FamilyCall, found: FoundProviderJob): Fields {
  const { id, providerJob, state } = found;
  const urls = fileUrls(call, found);
  const { width, height } = providerJob;
  const file =
    providerJob.type === 'video'
      ? { mime_type: 'video/mp4', width, height, duration: providerJob.seconds }
      : { mime_type: 'image/png', width, height, duration: null };
  const isFailed = state === 'failed' || state === 'withheld';
  const code = state === 'withheld' ? 'content_policy_violation' : 'upstream_failed';
  return {
    task_id: id,
    object: 'task',
    type: providerJob.type,
    model: 'sandbox-model',
    status: wordOf[state],
    progress: null,
    output: state === 'done' ? urls.map((url) => ({ url, ...file })) : null,
    error: isFailed ? { code, message: 'The job failed.', retryable: state === 'failed' } : null,
    created_at: Math.floor(providerJob.createdAt / 1_000),
  };
}

const problem = (status: number, code: string, message: string): Reply => {
  const types: Record<number, string> = { 429: 'rate_limit_error', 503: 'overloaded_error' };
  return json(status, { error: { message, type: types[status] ?? 'invalid_request_error', param: null, code } });
};
const notFound = problem(404, 'task_not_found', 'There is no such task.');
const authRefused = problem(401, 'invalid_api_key', 'Incorrect API key provided.');
const refusals = {
  transient: { ...problem(503, 'no_channel_available', 'No channel is available.'), headers: { 'retry-after': '1' } },
  rate_limit: problem(429, 'rate_limit_exceeded', 'Too many requests.'),
  refused: problem(400, 'content_policy_violation', 'The content policy refused the request.'),
  auth: authRefused,
};
