import { objectOf, type Fields } from '../chat.ts';
import { json, type Family, type FamilyCall, type FamilyParts, type Reply } from '../family.ts';
import { askedOf, fetchFile, fileUrls, recordMedia, stringOf, takeJob } from '../media-family.ts';

/**
 * Replicate's predictions, as https://replicate.com/docs/reference/http and …/docs/topics/predictions describe them (read on
 * 2026-11-21): create (held open with `Prefer: wait`), get, cancel, and the account.
 */
export const replicate: Family = async (parts, call) => {
  const file = await fetchFile(parts, call, 'replicate');
  if (file) return file;
  if (!/^bearer \S/i.test(call.headers.authorization ?? '')) return authRefused;
  if (call.path === '/account' && call.method === 'GET') {
    return json(200, { type: 'organization', username: 'sandbox', name: 'Sandbox' });
  }
  const model = /^\/models\/([\w.-]+\/[\w.-]+)\/predictions$/.exec(call.path)?.[1];
  if ((model !== undefined || call.path === '/predictions') && call.method === 'POST')
    return create(parts, call, model);
  const [, id = '', leaf] = /^\/predictions\/([\w-]+)(\/cancel)?$/.exec(call.path) ?? [];
  if (id === '' || call.method !== (leaf === undefined ? 'GET' : 'POST')) return notFound;
  recordMedia(parts, call, leaf === undefined ? 'poll' : 'cancel', { family, prompt: parts.jobs.promptOf(id) });
  const found = parts.jobs.find(id);
  if (!found || found.job.fate === 'lost') return notFound;
  // A running prediction is stopped, too. An ended one does not change.
  if (leaf !== undefined && (found.state === 'queued' || found.state === 'running')) parts.jobs.cancel(id);
  return json(200, toPrediction(parts, call, id));
};

const family = 'replicate';

function create(parts: FamilyParts, call: FamilyCall, named: string | undefined): Reply {
  const body = objectOf(call.body);
  const input = objectOf(body?.input);
  const model = named ?? stringOf(body?.version);
  const prompt = stringOf(input?.prompt);
  if (!input || model === '' || prompt === '') {
    return problem(422, 'Input validation failed', '- input.prompt: prompt is required');
  }
  const asked = askedOf(model, input);
  const taken = takeJob(parts, call, { family, prompt, asked, refusals });
  if ('reply' in taken) return taken.reply;
  const answer = (): Reply => json(201, toPrediction(parts, call, taken.id));
  const seconds = Number(/^wait(?:=(\d{1,2}))?$/.exec(stringOf(call.headers.prefer))?.[1] ?? 0);
  const latencyMs = parts.jobs.find(taken.id)?.job.latencyMs ?? 0;
  return seconds === 0 ? answer() : { kind: 'later', ms: Math.min(latencyMs + 5, seconds * 1_000), reply: answer };
}

function toPrediction(parts: FamilyParts, call: FamilyCall, id: string): Fields {
  const found = parts.jobs.find(id);
  const isCanceled = parts.jobs.isCanceled(id);
  const state = isCanceled ? 'missing' : (found?.state ?? 'missing');
  const url = `${call.baseUrl}/predictions/${id}`;
  const words = { missing: 'starting', queued: 'starting', running: 'processing', done: 'succeeded', failed: 'failed' };
  const urls = state === 'done' ? fileUrls(parts, call, id) : [];
  const at = (ms: number) => new Date((found?.job.createdAt ?? 0) + ms).toISOString();
  const hasStarted = isCanceled ? parts.jobs.ranUntilCanceled(id) : state !== 'queued' && state !== 'missing';
  return {
    id,
    model: 'sandbox/model',
    version: 'hidden',
    input: {},
    logs: '',
    output: state !== 'done' ? null : urls.length === 1 && found?.job.type === 'video' ? urls[0] : urls,
    error: state === 'failed' ? 'Prediction failed for an unknown reason.' : null,
    // `aborted`: the deadline ended a prediction before it started.
    status: isCanceled ? 'canceled' : words[state],
    data_removed: false,
    source: 'api',
    created_at: at(0),
    started_at: hasStarted ? at((found?.job.latencyMs ?? 0) / 2) : null,
    completed_at: state === 'done' || state === 'failed' ? at(found?.job.latencyMs ?? 0) : null,
    urls: { get: url, cancel: `${url}/cancel` },
    metrics: {},
  };
}

const problem = (status: number, title: string, detail: string, headers: Record<string, string> = {}): Reply =>
  json(status, { title, detail, status }, headers);
const notFound = json(404, { detail: 'The requested resource could not be found.', status: 404 });
const authRefused = problem(401, 'Unauthenticated', 'You did not pass a valid authentication token');
const refusals = {
  transient: problem(503, 'Service Unavailable', 'The service is temporarily unavailable.'),
  rate_limit: json(429, { detail: 'Request was throttled. Expected available in 7 seconds.' }, { 'retry-after': '7' }),
  refused: problem(400, 'Input refused', 'The input was flagged as sensitive. Please try again. (E005)'),
  auth: authRefused,
};
