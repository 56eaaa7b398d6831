import { objectOf, objectsOf, strangeField } from '../chat.ts';
import { json, type Family, type FamilyCall, type Reply } from '../family.ts';
import {
  countOf,
  fetchFile,
  fileUrls,
  findProviderJob,
  makeSynchronously,
  secondsOf,
  stringOf,
  acceptProviderJob,
} from '../media-family.ts';
import type { FoundProviderJob } from '../provider-jobs.ts';
import { mediaSize } from '../media-size.ts';
import { openaiModels } from './openai.ts';

/**
 * xAI's images and videos, as https://docs.x.ai/developers/model-capabilities describes them, and the model list (read on
 * 2026-11-22).
 */
export const xai: Family = async (call) => {
  const file = await fetchFile(call);
  if (file) return file;
  if (!/^bearer \S/i.test(call.headers.authorization ?? '')) return authRefused;
  if (call.path === '/models' && call.method === 'GET') return openaiModels(call);
  if (/^\/images\/(generations|edits)$/.test(call.path) && call.method === 'POST') return picture(call);
  if (call.path === '/videos/generations' && call.method === 'POST') return create(call);
  const [, id] = /^\/videos\/([\w-]+)$/.exec(call.path) ?? [];
  const found = id === undefined || call.method !== 'GET' ? null : findProviderJob(call, 'poll', id);
  return found ? json(200, toVideo(call, found)) : notFound;
};

async function picture(call: FamilyCall): Promise<Reply> {
  const body = objectOf(call.body);
  const prompt = stringOf(body?.prompt);
  if (!body || prompt === '') return problem(400, 'Client specified an invalid argument', 'prompt is missing');
  const strange = strangeField(
    body,
    'model prompt n response_format aspect_ratio resolution quality image images user',
  );
  if (strange !== undefined) return unknownField(strange);
  const isEdit = call.path === '/images/edits';
  if (isEdit !== (stringOf(objectOf(body.image)?.url) !== '' || objectsOf(body.images).length > 0)) {
    return problem(400, 'Client specified an invalid argument', 'image is needed for an edit, and only there');
  }
  const size = mediaSize({ sizes: [body.resolution], aspectRatio: body.aspect_ratio }, 'image');
  const request = { type: 'image' as const, ...size, seconds: 0, outputs: countOf(body.n) };
  return makeSynchronously(call, { prompt, request, refusals }, (pictures) => ({
    data:
      pictures.length > 0
        ? pictures.map((bytes) => ({ b64_json: bytes.toString('base64'), respect_moderation: true }))
        : [{ url: null, b64_json: null, respect_moderation: false }],
    usage: { cost_in_usd_ticks: 600_000_000 },
  }));
}

const acceptedFields = 'model prompt duration aspect_ratio resolution generate_audio image reference_images user';

function create(call: FamilyCall): Reply {
  const body = objectOf(call.body);
  const prompt = stringOf(body?.prompt);
  if (!body || prompt === '') return problem(400, 'Client specified an invalid argument', 'prompt is missing');
  const strange = strangeField(body, acceptedFields);
  if (strange !== undefined) return unknownField(strange);
  const { duration = 8, resolution = '480p' } = body;
  if (typeof duration !== 'number' || duration < 1 || duration > 15) {
    return problem(400, 'Client specified an invalid argument', 'duration must be between 1 and 15 seconds');
  }
  const size = mediaSize({ sizes: [resolution], aspectRatio: body.aspect_ratio }, 'video');
  const request = { type: 'video' as const, ...size, seconds: secondsOf(duration), outputs: 1 };
  return acceptProviderJob(call, { prompt, request, refusals }, ({ id }) => json(200, { request_id: id }));
}

function toVideo(call: FamilyCall, found: FoundProviderJob) {
  const { providerJob, state } = found;
  const [url] = fileUrls(call, found);
  if (state === 'failed' || state === 'canceled') {
    return { status: 'failed', error: { code: 'internal_error', message: 'The generation failed.' } };
  }
  if (state === 'queued' || state === 'running') return { status: 'pending', progress: state === 'queued' ? 0 : 50 };
  const isClean = state !== 'withheld';
  const video = { url: url ?? '', duration: providerJob.seconds, respect_moderation: isClean };
  return { status: 'done', model: 'sandbox-video', video: isClean ? video : { ...video, url: null }, progress: 100 };
}

const problem = (status: number, code: string, error: string): Reply => json(status, { code, error });
const unknownField = (name: string): Reply =>
  problem(422, 'Failed to deserialize the JSON body into the target type', `unknown field \`${name}\``);
const notFound = problem(404, 'The requested resource was not found', 'Not found');
const authRefused = problem(401, 'Unauthenticated', 'Incorrect API key provided.');
const refusals = {
  transient: problem(503, 'The service is currently unavailable', 'Service temporarily unavailable.'),
  rate_limit: problem(429, 'Some resource has been exhausted', 'Too many requests.'),
  refused: problem(
    403,
    'The caller does not have permission to execute the specified operation',
    'Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_SANDBOX',
  ),
  auth: authRefused,
  lost: notFound,
  late_fail: problem(500, 'Internal error', 'An internal error occurred.'),
};
