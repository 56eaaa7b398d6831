import { objectOf, type Fields } from '../chat.ts';
import { json, type Family, type FamilyCall, type FamilyParts, type Reply } from '../family.ts';
import { countOf, fetchFile, fileUrls, keptKey, recordMedia, secondsOf, stringOf, takeJob } from '../media-family.ts';
import { mediaSize } from '../media-size.ts';

/**
 * Kling, as https://app.klingai.com/global/dev/document-api describes it (read on 2026-11-21): create, query by its own id or
 * by the client's, list. The sandbox checks the format of a token but not its signature, because it has no secret.
 */
export const kling: Family = async (parts, call) => {
  const file = await fetchFile(parts, call, family);
  if (file) return file;
  if (!/^bearer \S/i.test(call.headers.authorization ?? '')) return authRefused;
  const [, kind = '', asked] =
    /^\/(videos\/text2video|videos\/image2video|images\/generations)(?:\/([\w.-]+))?$/.exec(call.path) ?? [];
  if (kind === '') return notFound;
  if (asked === undefined) return call.method === 'POST' ? create(parts, call, kind) : good([]);
  if (call.method !== 'GET') return notFound;
  const id = parts.jobs.find(asked) ? asked : (parts.jobs.underKey(keptKey(call, family, asked)) ?? '');
  recordMedia(parts, call, 'poll', { family, prompt: parts.jobs.promptOf(id) });
  const found = parts.jobs.find(id);
  return !found || found.state === 'missing' ? notFound : good(toTask(parts, call, id));
};

const family = 'kling';
const fields = [
  ...[
    'model_name',
    'prompt',
    'negative_prompt',
    'cfg_scale',
    'mode',
    'aspect_ratio',
    'duration',
    'image',
    'image_tail',
  ],
  ...['external_task_id', 'callback_url', 'n', 'resolution', 'sound', 'camera_control', 'image_reference'],
];

function create(parts: FamilyParts, call: FamilyCall, kind: string): Reply {
  const body = objectOf(call.body);
  const prompt = stringOf(body?.prompt);
  if (!body || prompt === '') return problem(400, 1200, 'prompt can not be empty');
  const strange = Object.keys(body).find((name) => !fields.includes(name));
  if (strange !== undefined) return problem(400, 1201, `${strange} is invalid`);
  if (body.duration !== undefined && body.duration !== '5' && body.duration !== '10') {
    return problem(400, 1201, 'duration is invalid');
  }
  if (kind === 'videos/image2video' && stringOf(body.image) === '') return problem(400, 1201, 'image is invalid');
  const type = kind === 'images/generations' ? 'image' : 'video';
  const key = stringOf(body.external_task_id) || null;
  if (key !== null && parts.jobs.underKey(keptKey(call, family, key)) !== undefined) {
    return problem(400, 1201, 'external_task_id is duplicated');
  }
  const sizes = type === 'image' ? [body.resolution] : [body.mode === 'pro' ? '1080p' : '720p'];
  const taken = takeJob(parts, call, {
    family,
    prompt,
    asked: {
      type,
      ...mediaSize({ sizes, aspectRatio: body.aspect_ratio }, type),
      seconds: secondsOf(body.duration),
      outputs: countOf(body.n),
    },
    refusals,
    idempotencyKey: key,
  });
  return 'reply' in taken
    ? taken.reply
    : good({ ...toTask(parts, call, taken.id), task_info: { external_task_id: key } });
}

function toTask(parts: FamilyParts, call: FamilyCall, id: string): Fields {
  const found = parts.jobs.find(id);
  if (!found) return {};
  const { job, state } = found;
  const urls = state === 'done' ? fileUrls(parts, call, id) : [];
  const isHeldBack = state === 'done' && urls.length === 0;
  const made =
    job.type === 'video'
      ? { videos: urls.map((url, index) => ({ id: `${id}-${index}`, url, duration: String(job.seconds) })) }
      : { images: urls.map((url, index) => ({ index, url })) };
  const words = { missing: 'submitted', queued: 'submitted', running: 'processing', done: 'succeed', failed: 'failed' };
  const reasons = isHeldBack ? 'Failure to pass the risk control system' : state === 'failed' ? 'Service busy' : '';
  return {
    task_id: id,
    task_status: isHeldBack ? 'failed' : words[state],
    task_status_msg: reasons,
    created_at: job.createdAt,
    updated_at: Date.now(),
    ...(urls.length > 0 && { task_result: made }),
  };
}

const good = (data: unknown): Reply => json(200, { code: 0, message: 'SUCCEED', request_id: 'sbx', data });
const problem = (status: number, code: number, message: string, headers: Record<string, string> = {}): Reply =>
  json(status, { code, message, request_id: 'sbx' }, headers);
const notFound = problem(404, 1203, 'The requested resource does not exist');
const authRefused = problem(401, 1002, 'Authorization is invalid');
const refusals = {
  transient: problem(503, 5001, 'Server temporarily unavailable'),
  rate_limit: problem(429, 1302, 'API request too fast', { 'retry-after': '7' }),
  refused: problem(400, 1301, 'Trigger the content security policy of the platform'),
  auth: authRefused,
};
