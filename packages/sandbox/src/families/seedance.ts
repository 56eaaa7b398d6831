import { objectOf, objectsOf, strangeField, type Fields } from '../chat.ts';
import { json, type Family, type FamilyCall, type Reply } from '../family.ts';
import { fetchFile, fileUrls, findProviderJob, secondsOf, stringOf, acceptProviderJob } from '../media-family.ts';
import type { FoundProviderJob } from '../provider-jobs.ts';
import { mediaSize } from '../media-size.ts';

/**
 * Seedance on ModelArk, as https://docs.byteplus.com/en/docs/ModelArk/1520757, …/1521309, …/1521675, …/1521720 and
 * …/1299023 describe it (read on 2026-11-21): create, retrieve, list, cancel or delete.
 */
export const seedance: Family = async (call) => {
  const file = await fetchFile(call);
  if (file) return file;
  if (!/^bearer \S/i.test(call.headers.authorization ?? '')) return authRefused;
  const [, id] = /^\/contents\/generations\/tasks(?:\/([\w-]+))?$/.exec(call.path) ?? [];
  if (id === undefined) {
    if (!call.path.startsWith('/contents/generations/tasks')) return notFound;
    return call.method === 'POST' ? create(call) : json(200, { items: [], total: 0 });
  }
  const found = findProviderJob(call, call.method === 'DELETE' ? 'cancel' : 'poll', id);
  if (!found) return notFound;
  if (call.method === 'GET') return json(200, toTask(call, found));
  if (call.method !== 'DELETE') return notFound;
  if (found.state === 'running') {
    return problem(400, 'InvalidAction.RunningTaskDeletion', 'The running task cannot be deleted.');
  }
  // For a finished task the real API erases the record. The sandbox keeps none, so only queued tasks matter here.
  call.providerJobs.cancel(found);
  return json(200, {});
};

const acceptedFields =
  'model content resolution ratio duration frames seed camera_fixed watermark generate_audio return_last_frame ' +
  'service_tier execution_expires_after callback_url draft';

function create(call: FamilyCall): Reply {
  const body = objectOf(call.body);
  const content = objectsOf(body?.content);
  const prompt = content.map(({ text }) => stringOf(text)).join('');
  if (!body || prompt === '') return problem(400, 'MissingParameter', 'The request is missing content.text');
  const strange = strangeField(body, acceptedFields);
  if (strange !== undefined) return problem(400, 'InvalidParameter', `The parameter ${strange} is not valid`);
  if (body.duration !== undefined && typeof body.duration !== 'number') {
    return problem(400, 'InvalidParameter', 'The parameter duration is not valid');
  }
  const isSecond = /seedance-2/.test(stringOf(body.model));
  if (isSecond && typeof body.duration === 'number' && (body.duration < 4 || body.duration > 30)) {
    return problem(400, 'InvalidParameter', 'The parameter duration is not valid');
  }
  const size = mediaSize({ sizes: [body.resolution], aspectRatio: stringOf(body.ratio) }, 'video');
  const request = { type: 'video' as const, ...size, seconds: secondsOf(body.duration), outputs: 1 };
  return acceptProviderJob(call, { prompt, request, refusals }, ({ id }) => json(200, { id }));
}

const wordOf: Record<FoundProviderJob['state'], string> = {
  queued: 'queued',
  running: 'running',
  canceled: 'cancelled',
  done: 'succeeded',
  withheld: 'failed',
  failed: 'failed',
};
const errors: Partial<Record<FoundProviderJob['state'], { code: string; message: string }>> = {
  withheld: {
    code: 'OutputVideoSensitiveContentDetected',
    message: 'The output video may contain sensitive information.',
  },
  failed: { code: 'InternalServiceError', message: 'The service encountered an unexpected internal error.' },
};

function toTask(call: FamilyCall, found: FoundProviderJob): Fields {
  const { id, providerJob, state } = found;
  const [url] = fileUrls(call, found);
  return {
    id,
    model: 'sandbox-video',
    status: wordOf[state],
    error: errors[state] ?? null,
    ...(url !== undefined && {
      content: { video_url: url },
      usage: { completion_tokens: 108_900, total_tokens: 108_900 },
      resolution: `${Math.min(providerJob.width, providerJob.height)}p`,
      duration: providerJob.seconds,
      framespersecond: 24,
    }),
    created_at: Math.floor(providerJob.createdAt / 1_000),
    updated_at: Math.floor(Date.now() / 1_000),
  };
}

const problem = (status: number, code: string, message: string): Reply => {
  const types: Record<number, string> = {
    400: 'BadRequest',
    401: 'Unauthorized',
    404: 'NotFound',
    429: 'TooManyRequests',
  };
  return json(status, { error: { code, message, param: '', type: types[status] ?? 'InternalServerError' } });
};
const notFound = problem(404, 'ResourceNotFound', 'The specified resource is not found.');
const authRefused = problem(401, 'AuthenticationError', 'The API key in the request is missing or invalid.');
const refusals = {
  transient: problem(503, 'ServiceUnavailable', 'The service is unavailable.'),
  rate_limit: problem(429, 'RateLimitExceeded.EndpointRPMExceeded', 'The requests per minute are exceeded.'),
  refused: problem(400, 'InputTextSensitiveContentDetected', 'The input text may contain sensitive information.'),
  auth: authRefused,
};
