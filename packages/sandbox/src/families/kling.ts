import { objectOf, strangeField, type Fields } from '../chat.ts';
import { json, type Family, type FamilyCall, type Reply } from '../family.ts';
import {
  countOf,
  fetchFile,
  fileUrls,
  findProviderJob,
  idUnderKey,
  secondsOf,
  stringOf,
  acceptProviderJob,
} from '../media-family.ts';
import type { FoundProviderJob } from '../provider-jobs.ts';
import { mediaSize } from '../media-size.ts';

/**
 * Kling, as https://app.klingai.com/global/dev/document-api describes it (read on 2026-11-21): create, query by its own id or
 * by the client's, list; and kling-v3 (read on 2026-11-22). The sandbox checks the format of a token but not its signature, because it has no secret.
 */
export const kling: Family = async (call) => {
  const file = await fetchFile(call);
  if (file) return file;
  if (!/^bearer \S/i.test(call.headers.authorization ?? '')) return authRefused;
  const [, kind = '', idOrKey] =
    /^\/(videos\/text2video|videos\/image2video|images\/generations)(?:\/([\w.-]+))?$/.exec(call.path) ?? [];
  if (kind === '') return notFound;
  if (idOrKey === undefined) return call.method === 'POST' ? create(call, kind) : good([]);
  if (call.method !== 'GET') return notFound;
  const found = findProviderJob(call, 'poll', idUnderKey(call, idOrKey) ?? idOrKey);
  return found ? good(toTask(call, found)) : notFound;
};

const acceptedFields =
  'model_name prompt negative_prompt cfg_scale mode aspect_ratio duration image image_tail external_task_id ' +
  'callback_url n resolution sound camera_control image_reference';

function create(call: FamilyCall, kind: string): Reply {
  const body = objectOf(call.body);
  const prompt = stringOf(body?.prompt);
  if (!body || prompt === '') return problem(400, 1200, 'prompt can not be empty');
  const strange = strangeField(body, acceptedFields);
  if (strange !== undefined) return problem(400, 1201, `${strange} is invalid`);
  const isThird = stringOf(body.model_name).startsWith('kling-v3');
  const durations = isThird ? /^([3-9]|1[0-5])$/ : /^(5|10)$/;
  if (body.duration !== undefined && !durations.test(stringOf(body.duration))) {
    return problem(400, 1201, 'duration is invalid');
  }
  if (body.sound !== undefined && body.sound !== 'on' && body.sound !== 'off') {
    return problem(400, 1201, 'sound is invalid');
  }
  if (kind === 'videos/image2video' && stringOf(body.image) === '') return problem(400, 1201, 'image is invalid');
  const type = kind === 'images/generations' ? 'image' : 'video';
  const key = stringOf(body.external_task_id) || undefined;
  if (key !== undefined && idUnderKey(call, key) !== undefined) {
    return problem(400, 1201, 'external_task_id is duplicated');
  }
  const lines = body.mode === '4k' ? '4k' : body.mode === 'pro' ? '1080p' : '720p';
  const sizes = type === 'image' ? [body.resolution] : [lines];
  const size = mediaSize({ sizes, aspectRatio: body.aspect_ratio }, type);
  const request = { type, ...size, seconds: secondsOf(body.duration), outputs: countOf(body.n) } as const;
  return acceptProviderJob(call, { prompt, request, refusals, idempotencyKey: key }, (found) =>
    good({ ...toTask(call, found), task_info: { external_task_id: key } }),
  );
}

const wordOf: Record<FoundProviderJob['state'], string> = {
  queued: 'submitted',
  running: 'processing',
  canceled: 'failed',
  done: 'succeed',
  withheld: 'failed',
  failed: 'failed',
};
const reasons: Partial<typeof wordOf> = { withheld: 'Failure to pass the risk control system', failed: 'Service busy' };

function toTask(call: FamilyCall, found: FoundProviderJob): Fields {
  const { id, providerJob, state } = found;
  const urls = fileUrls(call, found);
  const made =
    providerJob.type === 'video'
      ? { videos: urls.map((url, index) => ({ id: `${id}-${index}`, url, duration: String(providerJob.seconds) })) }
      : { images: urls.map((url, index) => ({ index, url })) };
  return {
    task_id: id,
    task_status: wordOf[state],
    task_status_msg: reasons[state] ?? '',
    created_at: providerJob.createdAt,
    updated_at: Date.now(),
    ...(urls.length > 0 && { task_result: made }),
  };
}

const good = (data: unknown): Reply => json(200, { code: 0, message: 'SUCCEED', request_id: 'sbx', data });
const problem = (status: number, code: number, message: string): Reply =>
  json(status, { code, message, request_id: 'sbx' });
const notFound = problem(404, 1203, 'The requested resource does not exist');
const authRefused = problem(401, 1002, 'Authorization is invalid');
const refusals = {
  transient: problem(503, 5001, 'Server temporarily unavailable'),
  rate_limit: problem(429, 1302, 'API request too fast'),
  refused: problem(400, 1301, 'Trigger the content security policy of the platform'),
  auth: authRefused,
};
