import { objectOf, type Fields } from '../chat.ts';
import { json, type Family, type FamilyCall, type Reply } from '../family.ts';
import { requestOf, fetchFile, fileUrls, findProviderJob, stringOf, acceptProviderJob } from '../media-family.ts';
import type { FoundProviderJob } from '../provider-jobs.ts';

/**
 * Replicate's predictions, as https://replicate.com/docs/reference/http and …/docs/topics/predictions describe them (read on
 * 2026-11-21): create (held open with `Prefer: wait`), get, cancel, and the account.
 */
export const replicate: Family = async (call) => {
  const file = await fetchFile(call);
  if (file) return file;
  if (!/^bearer \S/i.test(call.headers.authorization ?? '')) return authRefused;
  if (call.path === '/account' && call.method === 'GET') {
    return json(200, { type: 'organization', username: 'sandbox', name: 'Sandbox' });
  }
  const model = /^\/models\/([\w.-]+\/[\w.-]+)\/predictions$/.exec(call.path)?.[1];
  if ((model !== undefined || call.path === '/predictions') && call.method === 'POST') return create(call, model);
  const [, id = '', leaf] = /^\/predictions\/([\w-]+)(\/cancel)?$/.exec(call.path) ?? [];
  if (id === '' || call.method !== (leaf === undefined ? 'GET' : 'POST')) return notFound;
  const found = findProviderJob(call, leaf === undefined ? 'poll' : 'cancel', id);
  if (!found) return notFound;
  // A running prediction is stopped, too. An ended one does not change.
  if (leaf !== undefined) call.providerJobs.cancel(found);
  return json(200, toPrediction(call, id));
};

function create(call: FamilyCall, named: string | undefined): Reply {
  const body = objectOf(call.body);
  const input = objectOf(body?.input);
  const model = named ?? stringOf(body?.version);
  const prompt = stringOf(input?.prompt);
  if (!input || model === '' || prompt === '') {
    return problem(422, 'Input validation failed', '- input.prompt: prompt is required');
  }
  return acceptProviderJob(call, { prompt, request: requestOf(model, input), refusals }, (found) => {
    const answer = (): Reply => json(201, toPrediction(call, found.id));
    const seconds = Number(/^wait(?:=(\d{1,2}))?$/.exec(stringOf(call.headers.prefer))?.[1] ?? 0);
    const ms = Math.min(found.providerJob.latencyMs + 5, seconds * 1_000);
    return seconds === 0 ? answer() : { kind: 'later', ms, reply: answer };
  });
}

const wordOf: Record<FoundProviderJob['state'], string> = {
  queued: 'starting',
  running: 'processing',
  canceled: 'canceled',
  done: 'succeeded',
  withheld: 'failed',
  failed: 'failed',
};

const errors: Partial<typeof wordOf> = {
  withheld: 'NSFW content detected. Try running it again, or try a different prompt.',
  failed: 'Prediction failed for an unknown reason.',
};

/** The prediction as it is now. */
function toPrediction(call: FamilyCall, id: string): Fields {
  const found = call.providerJobs.find(id);
  if (!found) return {};
  const { providerJob, state, hasStarted } = found;
  const url = `${call.baseUrl}/predictions/${id}`;
  const urls = fileUrls(call, found);
  const at = (ms: number) => new Date(providerJob.createdAt + ms).toISOString();
  return {
    id,
    model: 'sandbox/model',
    version: 'hidden',
    input: {},
    logs: '',
    output: state !== 'done' ? null : urls.length === 1 && providerJob.type === 'video' ? urls[0] : urls,
    error: errors[state] ?? null,
    status: wordOf[state],
    data_removed: false,
    source: 'api',
    created_at: at(0),
    started_at: hasStarted ? at(providerJob.latencyMs / 2) : null,
    completed_at: ['done', 'withheld', 'failed'].includes(state) ? at(providerJob.latencyMs) : null,
    urls: { get: url, cancel: `${url}/cancel` },
    metrics: {},
  };
}

const problem = (status: number, title: string, detail: string): Reply => json(status, { title, detail, status });
const notFound = json(404, { detail: 'The requested resource could not be found.', status: 404 });
const authRefused = problem(401, 'Unauthenticated', 'You did not pass a valid authentication token');
const refusals = {
  transient: problem(503, 'Service Unavailable', 'The service is temporarily unavailable.'),
  rate_limit: json(429, { detail: 'Request was throttled. Expected available in 7 seconds.' }),
  refused: problem(400, 'Input refused', 'The input was flagged as sensitive. Please try again. (E005)'),
  auth: authRefused,
};
