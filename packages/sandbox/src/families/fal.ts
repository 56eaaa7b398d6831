import { objectOf, type Fields } from '../chat.ts';
import { json, type Family, type FamilyCall, type Reply } from '../family.ts';
import { requestOf, fetchFile, fileUrls, findProviderJob, stringOf, acceptProviderJob } from '../media-family.ts';
import type { FoundProviderJob, ProviderJob } from '../provider-jobs.ts';
import { refusedField } from './fal-models.ts';

/**
 * fal's queue, as https://fal.ai/docs/api-reference/inference-api and …/model-apis/errors describe it (read on 2026-11-21):
 * submit, status, result, cancel, and the files that results point at.
 */
export const fal: Family = async (call) => {
  const file = await fetchFile(call);
  if (file) return file;
  if (!/^key \S/i.test(call.headers.authorization ?? '')) return authRefused;

  const requestPath = /^\/(.+)\/requests\/([\w.-]+)(\/status|\/cancel)?$/.exec(call.path);
  if (!requestPath) return call.method === 'POST' ? submit(call) : json(405, { detail: 'Method Not Allowed' });
  const [, app = '', id = '', action = ''] = requestPath;
  const isCancel = action === '/cancel';
  if (call.method !== (isCancel ? 'PUT' : 'GET')) return json(405, { detail: 'Method Not Allowed' });
  const found = findProviderJob(call, isCancel ? 'cancel' : 'poll', id);
  const isMissing = !found || found.state === 'canceled';
  if (isCancel) return isMissing ? json(404, { status: 'NOT_FOUND' }) : cancel(call, found);
  if (isMissing) return json(404, { detail: 'Request not found' });
  return action === '/status' ? status(call, app, found) : result(call, found);
};

function submit(call: FamilyCall): Reply {
  const input = objectOf(call.body);
  const prompt = stringOf(input?.prompt);
  if (!input || prompt === '') return modelError(422, 'missing', 'Field required');
  const refused = refusedField(call.path, input);
  if (refused !== undefined) return modelError(422, 'value_error', `${refused} is not valid`);
  return acceptProviderJob(call, { prompt, request: requestOf(call.path, input), refusals }, ({ id }) =>
    json(200, { status: 'IN_QUEUE', ...linksOf(call, appOf(call.path), id), queue_position: 0 }),
  );
}

function linksOf({ baseUrl }: FamilyCall, app: string, id: string): Fields {
  const url = `${baseUrl}/${app}/requests/${id}`;
  return { request_id: id, response_url: url, status_url: `${url}/status`, cancel_url: `${url}/cancel` };
}

function status(call: FamilyCall, app: string, { id, providerJob, state }: FoundProviderJob): Reply {
  const links = linksOf(call, app, id);
  if (state === 'queued') return json(202, { status: 'IN_QUEUE', ...links, queue_position: 0 });
  if (state === 'running') return json(202, { status: 'IN_PROGRESS', ...links, logs: null });
  const failed = state === 'failed' && { error: 'Internal server error', error_type: 'internal_error' };
  const metrics = { inference_time: providerJob.latencyMs / 1_000 };
  return json(200, { status: 'COMPLETED', ...links, logs: null, metrics, ...failed });
}

function result(call: FamilyCall, found: FoundProviderJob): Reply {
  const { providerJob, state } = found;
  if (state === 'failed') return modelError(500, 'internal_server_error', 'Internal server error');
  if (state === 'withheld') return flagged;
  if (state === 'queued' || state === 'running') return json(400, { detail: 'Request is still in progress' });
  const files = fileUrls(call, found).map((url) => toFile(url, providerJob));
  if (providerJob.type === 'video') return json(200, files.length === 1 ? { video: files[0] } : { videos: files });
  return json(200, { images: files, timings: {}, seed: providerJob.seed, has_nsfw_concepts: files.map(() => false) });
}

function cancel(call: FamilyCall, found: FoundProviderJob): Reply {
  // The queue asks the app to stop. Like many apps, this one runs to its end.
  if (found.state === 'running') return json(202, { status: 'CANCELLATION_REQUESTED' });
  if (found.state !== 'queued') return json(400, { status: 'ALREADY_COMPLETED' });
  call.providerJobs.cancel(found);
  return json(200, { status: 'OK' });
}

const toFile = (url: string, providerJob: ProviderJob) => ({
  url,
  content_type: providerJob.type === 'video' ? 'video/mp4' : 'image/png',
  width: providerJob.width,
  height: providerJob.height,
  ...(providerJob.type === 'video' && { duration: providerJob.seconds }),
});

/** fal's status, result and cancel URLs contain the owner and the app only. */
const appOf = (path: string): string => path.split('/').filter(Boolean).slice(0, 2).join('/');

const modelError = (httpStatus: number, type: string, message: string): Reply =>
  json(
    httpStatus,
    { detail: [{ loc: ['body', 'prompt'], msg: message, type, url: `https://docs.fal.ai/errors/#${type}` }] },
    { 'x-fal-retryable': 'false' },
  );
const requestError = (httpStatus: number, type: string, message: string, headers: Record<string, string>): Reply =>
  json(httpStatus, { detail: message, error_type: type }, { 'x-fal-error-type': type, ...headers });

const flagged = modelError(422, 'content_policy_violation', 'The content was flagged by a content checker.');
const authRefused = json(401, { detail: 'Authentication is required to access this application' });

/** fal's replies to refused submits. The other failures are accepted and fail later. */
const refusals = {
  transient: requestError(503, 'runner_scheduling_failure', 'No runner could be allocated', {}),
  rate_limit: requestError(429, 'rate_limit_exceeded', 'Too many requests', { 'retry-after': '7' }),
  refused: modelError(400, 'content_policy_violation', 'The content was flagged by a content checker.'),
  auth: authRefused,
};
