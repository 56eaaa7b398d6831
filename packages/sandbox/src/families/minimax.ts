import { objectOf, objectsOf, strangeField } from '../chat.ts';
import { json, type Family, type FamilyCall, type Reply } from '../family.ts';
import { fetchFile, fileUrls, findProviderJob, secondsOf, stringOf, acceptProviderJob } from '../media-family.ts';
import type { FoundProviderJob } from '../provider-jobs.ts';
import { mediaSize } from '../media-size.ts';

/**
 * MiniMax's videos (v2), as https://platform.minimax.io/docs/api-reference/video-generation-v2-query and the pages beside it
 * describe them (read on 2026-11-22): create, query, list, cancel or delete.
 */
export const minimax: Family = async (call) => {
  const file = await fetchFile(call);
  if (file) return file;
  if (!/^bearer \S/i.test(call.headers.authorization ?? '')) return authRefused;
  if (call.path === '/video_generation' && call.method === 'POST') return create(call);
  if (/^\/query\/video_generation(?:\?|$)/.test(call.path)) return json(200, { items: [], total: 0 });
  const [, query, id] = /^(\/query)?\/video_generation\/([\w-]+)$/.exec(call.path) ?? [];
  if (id === undefined || call.method !== (query === undefined ? 'DELETE' : 'GET')) return notFound;
  const found = findProviderJob(call, query === undefined ? 'cancel' : 'poll', id);
  if (!found) return unknownTask;
  if (query !== undefined) return json(200, { task: toTask(call, found) });
  if (found.state === 'running') return problem(400, 'bad_request_error', 'running task cannot be deleted (2013)');
  // For a finished task the real API deletes the record. The sandbox keeps none, so only queued tasks matter here.
  call.providerJobs.cancel(found);
  return json(200, { task_id: id, status: found.state === 'queued' ? 'cancelled' : 'deleted' });
};

function create(call: FamilyCall): Reply {
  const body = objectOf(call.body);
  const content = objectsOf(body?.content);
  const prompt = content.map(({ text }) => stringOf(text)).join('');
  if (!body || prompt === '') return invalid('content must include a non-empty text item');
  const strange = strangeField(body, 'model content resolution ratio duration aigc_watermark callback_url');
  if (strange !== undefined) return invalid(`unknown field ${strange}`);
  const roles = content.map(({ role }) => stringOf(role));
  const hasFrame = roles.some((role) => role.endsWith('_frame'));
  if (hasFrame && roles.some((role) => role.startsWith('reference_'))) return invalid('frames exclude references');
  const { resolution = '2K', duration = 5, ratio } = body;
  const heights: Record<string, string> = { '480P': '480p', '768P': '768p', '2K': '1440p' };
  const lines = heights[stringOf(resolution)];
  if (lines === undefined) return invalid('resolution is not supported');
  if (typeof duration !== 'number' || !Number.isInteger(duration) || duration < 4 || duration > 15) {
    return invalid('duration must be an integer from 4 to 15');
  }
  if (content.length === 1 && (ratio === undefined || ratio === 'adaptive')) return invalid('ratio is needed');
  const size = mediaSize({ sizes: [lines], aspectRatio: ratio }, 'video');
  const request = { type: 'video' as const, ...size, seconds: secondsOf(duration), outputs: 1 };
  return acceptProviderJob(call, { prompt, request, refusals }, ({ id }) => json(200, { task_id: id }));
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
  withheld: { code: '1027', message: 'the generated video contains sensitive content' },
  failed: { code: '1000', message: 'internal error' },
};

function toTask(call: FamilyCall, found: FoundProviderJob) {
  const { id, providerJob, state } = found;
  const [url] = fileUrls(call, found);
  return {
    id,
    model: 'sandbox-video',
    status: wordOf[state],
    created_at: Math.floor(providerJob.createdAt / 1_000),
    ...(url !== undefined && {
      content: { url },
      duration: providerJob.seconds,
      usage: { output_seconds: providerJob.seconds },
    }),
    ...(errors[state] && { error: errors[state] }),
  };
}

const problem = (status: number, type: string, message: string): Reply =>
  json(status, { type: 'error', error: { type, message, http_code: String(status) }, request_id: 'sbx' });
const invalid = (message: string): Reply => problem(400, 'bad_request_error', `invalid params, ${message} (2013)`);
const notFound = problem(404, 'not_found_error', '404 page not found');
const unknownTask = problem(500, 'server_error', 'record not found (1000)');
const authRefused = problem(401, 'authorized_error', 'login fail: Please carry the API secret key (1004)');
const refusals = {
  transient: problem(503, 'server_error', 'service unavailable (1001)'),
  rate_limit: problem(429, 'rate_limit_error', 'rate limit, please retry later (1002)'),
  refused: problem(422, 'unprocessable_entity_error', 'video description contains sensitive content (1026)'),
  auth: authRefused,
};
