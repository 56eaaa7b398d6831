import { objectOf, objectsOf, strangeField, type Fields } from '../chat.ts';
import { json, type Family, type FamilyCall, type Reply } from '../family.ts';
import { fetchFile, fileUrls, findProviderJob, secondsOf, stringOf, acceptProviderJob } from '../media-family.ts';
import type { FoundProviderJob } from '../provider-jobs.ts';
import { mediaSize } from '../media-size.ts';

/** Runway's tasks, as the types of @runwayml/sdk 4.20.1 describe them (read on 2026-11-22): create, retrieve, cancel or delete. */
export const runway: Family = async (call) => {
  const file = await fetchFile(call);
  if (file) return file;
  if (!/^bearer \S/i.test(call.headers.authorization ?? '')) return authRefused;
  if (call.headers['x-runway-version'] !== '2024-11-06') return problem(400, 'X-Runway-Version must be set.');
  if (call.path === '/organization') return json(200, { creditBalance: 1_000, tier: {}, usage: {} });
  const endpoint = endpoints[call.path];
  if (endpoint && call.method === 'POST') return create(call, endpoint);
  const [, id] = /^\/tasks\/([\w-]+)$/.exec(call.path) ?? [];
  if (id === undefined) return notFound;
  const found = findProviderJob(call, call.method === 'DELETE' ? 'cancel' : 'poll', id);
  if (!found) return notFound;
  if (call.method === 'GET') return json(200, toTask(call, found));
  if (call.method !== 'DELETE') return notFound;
  // For an ended task the real API deletes the record. The sandbox keeps none, so only open tasks matter here.
  call.providerJobs.cancel(found);
  return json(200, {});
};

interface Endpoint {
  type: 'image' | 'video';
  fields: string;
  /** The field of the input that the endpoint needs. */
  needs?: string;
}
const common = 'model promptText seed contentModeration outputFormat';
const endpoints: Record<string, Endpoint | undefined> = {
  '/text_to_image': { type: 'image', fields: `${common} ratio referenceImages` },
  '/text_to_video': { type: 'video', fields: `${common} ratio duration audio references` },
  '/image_to_video': { type: 'video', fields: `${common} ratio duration audio promptImage`, needs: 'promptImage' },
  '/video_to_video': { type: 'video', fields: `${common} targetAspectRatio videoUri keyframes`, needs: 'videoUri' },
};

function create(call: FamilyCall, { type, fields, needs }: Endpoint): Reply {
  const body = objectOf(call.body);
  const prompt = stringOf(body?.promptText);
  if (!body || prompt === '') return problem(400, 'Validation of body failed: promptText');
  const strange = strangeField(body, fields);
  if (strange !== undefined) return problem(400, `Validation of body failed: ${strange}`);
  if (needs !== undefined && stringOf(body[needs]) === '') return problem(400, `Validation of body failed: ${needs}`);
  if (objectsOf(body.keyframes).some(({ seconds }) => typeof seconds !== 'number')) {
    return problem(400, 'Validation of body failed: keyframes');
  }
  if (needs !== 'videoUri' && !/^\d+:\d+$/.test(stringOf(body.ratio))) {
    return problem(400, 'Validation of body failed: ratio');
  }
  const size = mediaSize(
    { sizes: [stringOf(body.ratio).replace(':', 'x')], aspectRatio: body.targetAspectRatio },
    type,
  );
  const request = { type, ...size, seconds: secondsOf(body.duration), outputs: 1 };
  return acceptProviderJob(call, { prompt, request, refusals }, ({ id }) =>
    json(200, { id, estimatedCost: { credits: 60 } }),
  );
}

const wordOf: Record<FoundProviderJob['state'], string> = {
  queued: 'PENDING',
  running: 'RUNNING',
  canceled: 'CANCELLED',
  done: 'SUCCEEDED',
  withheld: 'FAILED',
  failed: 'FAILED',
};
const failures: Partial<Record<FoundProviderJob['state'], Fields>> = {
  running: { progress: 0.5 },
  withheld: { failure: 'The output was moderated.', failureCode: 'SAFETY.OUTPUT.VIDEO' },
  failed: { failure: 'An internal error occurred.', failureCode: 'INTERNAL.BAD_OUTPUT.CODE01' },
};

function toTask(call: FamilyCall, found: FoundProviderJob): Fields {
  const { id, providerJob, state } = found;
  const output = fileUrls(call, found);
  return {
    id,
    createdAt: new Date(providerJob.createdAt).toISOString(),
    status: wordOf[state],
    ...failures[state],
    ...(output.length > 0 && { output, cost: { credits: 60 } }),
  };
}

const problem = (status: number, error: string): Reply =>
  json(status, { error, docUrl: 'https://docs.dev.runwayml.com/errors/errors/' });
const notFound = problem(404, 'Not found');
const authRefused = problem(401, 'The API key is not valid.');
const refusals = {
  transient: problem(503, 'The service is temporarily unavailable.'),
  rate_limit: problem(429, 'You have exceeded your daily task limit.'),
  refused: problem(400, 'The prompt did not pass content moderation.'),
  auth: authRefused,
};
