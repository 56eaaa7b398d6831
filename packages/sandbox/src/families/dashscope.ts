import { objectOf, objectsOf, strangeField } from '../chat.ts';
import { json, type Family, type FamilyCall, type Reply } from '../family.ts';
import { fetchFile, fileUrls, findProviderJob, secondsOf, stringOf, acceptProviderJob } from '../media-family.ts';
import type { FoundProviderJob } from '../provider-jobs.ts';
import { mediaSize } from '../media-size.ts';

/**
 * Wan's videos on DashScope, as https://www.alibabacloud.com/help/en/model-studio/wan3-0-video and …/manage-asynchronous-tasks
 * describe them (read on 2026-11-22): create, query, cancel, list.
 */
export const dashscope: Family = async (call) => {
  const file = await fetchFile(call);
  if (file) return file;
  if (!/^bearer \S/i.test(call.headers.authorization ?? '')) return authRefused;
  if (call.path === '/services/aigc/video-generation/video-synthesis' && call.method === 'POST') return create(call);
  if (/^\/tasks(?:\?|$)/.test(call.path) && call.method === 'GET') {
    return json(200, { request_id: 'sbx', data: [], total: 0, total_page: 0, page_no: 1, page_size: 1 });
  }
  const [, id = '', cancel] = /^\/tasks\/([\w-]+)(\/cancel)?$/.exec(call.path) ?? [];
  if (id === '') return problem(404, 'InvalidURL', 'The URL does not exist.');
  const found = findProviderJob(call, cancel === undefined ? 'poll' : 'cancel', id);
  if (cancel === undefined) return json(200, toTask(call, id, found));
  if (found?.state !== 'queued') {
    return problem(
      400,
      'UnsupportedOperation',
      'Failed to cancel the task, please confirm if the task is in PENDING status.',
    );
  }
  call.providerJobs.cancel(found);
  return json(200, { request_id: 'sbx' });
};

function create(call: FamilyCall): Reply {
  const body = objectOf(call.body);
  const [input, parameters] = [objectOf(body?.input), objectOf(body?.parameters) ?? {}];
  const prompt = stringOf(input?.prompt);
  if (!body || !input || prompt === '') return invalid('Required input.prompt is missing');
  if (call.headers['x-dashscope-async'] !== 'enable') {
    return problem(403, 'AccessDenied', 'current user api does not support synchronous calls.');
  }
  const strange =
    strangeField(body, 'model input parameters') ??
    strangeField(input, 'prompt negative_prompt audio_url media') ??
    strangeField(parameters, 'resolution ratio duration audio seed watermark prompt_extend');
  if (strange !== undefined) return invalid(`${strange} is not supported`);
  const kinds = objectsOf(input.media).map(({ type, url }) => (stringOf(url) === '' ? '' : stringOf(type)));
  if (kinds.some((kind) => !/^(first_frame|last_frame|reference_(image|video))$/.test(kind))) {
    return invalid('input.media is invalid');
  }
  const hasFrame = kinds.some((kind) => kind.endsWith('_frame'));
  if (hasFrame && kinds.some((kind) => kind.startsWith('reference_'))) return invalid('frames exclude references');
  const { resolution = '1080P', duration = 5 } = parameters;
  if (typeof duration !== 'number' || duration < 2 || duration > 30) return invalid('duration must be in [2, 30]');
  if (!/^(480|720|1080)P$/.test(stringOf(resolution))) return invalid('resolution must be 480P, 720P or 1080P');
  const size = mediaSize({ sizes: [resolution], aspectRatio: parameters.ratio }, 'video');
  const request = { type: 'video' as const, ...size, seconds: secondsOf(duration), outputs: 1 };
  return acceptProviderJob(call, { prompt, request, refusals }, ({ id }) =>
    json(200, { request_id: 'sbx', output: { task_id: id, task_status: 'PENDING' } }),
  );
}

const wordOf: Record<FoundProviderJob['state'], string> = {
  queued: 'PENDING',
  running: 'RUNNING',
  canceled: 'CANCELED',
  done: 'SUCCEEDED',
  withheld: 'FAILED',
  failed: 'FAILED',
};
const errors: Partial<Record<FoundProviderJob['state'], { code: string; message: string }>> = {
  withheld: { code: 'DataInspectionFailed', message: 'Output data may contain inappropriate content.' },
  failed: { code: 'InternalError', message: 'An internal error has occurred.' },
};

function toTask(call: FamilyCall, id: string, found: FoundProviderJob | null) {
  if (!found) return { request_id: 'sbx', output: { task_id: id, task_status: 'UNKNOWN' } };
  const { providerJob, state } = found;
  const [url] = fileUrls(call, found);
  return {
    request_id: 'sbx',
    output: { task_id: id, task_status: wordOf[state], ...(url !== undefined && { video_url: url }), ...errors[state] },
    ...(url !== undefined && {
      usage: {
        duration: providerJob.seconds,
        output_video_duration: providerJob.seconds,
        SR: Math.min(providerJob.width, providerJob.height),
      },
    }),
  };
}

const problem = (status: number, code: string, message: string): Reply =>
  json(status, { code, message, request_id: 'sbx' });
const invalid = (message: string): Reply => problem(400, 'InvalidParameter', message);
const authRefused = problem(401, 'InvalidApiKey', 'Invalid API-key provided.');
const refusals = {
  transient: problem(503, 'ModelServingError', 'Too many requests are waiting. Try again later.'),
  rate_limit: problem(429, 'Throttling.RateQuota', 'Requests rate limit exceeded, please try again later.'),
  refused: problem(400, 'DataInspectionFailed', 'Input data may contain inappropriate content.'),
  auth: authRefused,
};
