import { objectOf, objectsOf, strangeField } from '../chat.ts';
import { json, type FamilyCall, type Refusals, type Reply } from '../family.ts';
import { findProviderJob, secondsOf, stringOf, acceptProviderJob } from '../media-family.ts';
import type { FoundProviderJob } from '../provider-jobs.ts';
import { mediaSize } from '../media-size.ts';

/**
 * Gemini Omni's clips, as https://ai.google.dev/gemini-api/docs/omni and the types of @google/genai 3.1.0 describe interactions
 * (read on 2026-11-22): create in the background, retrieve.
 */
export function interactions(call: FamilyCall, refusals: Refusals): Reply {
  const [, id] = /^\/interactions(?:\/([\w-]+))?$/.exec(call.path) ?? [];
  if (id === undefined) return call.method === 'POST' ? create(call, refusals) : invalid('Invalid interaction name');
  const found = call.method === 'GET' ? findProviderJob(call, 'poll', id) : null;
  return found ? json(200, toInteraction(call, found)) : invalid('Invalid interaction name');
}

function create(call: FamilyCall, refusals: Refusals): Reply {
  const body = objectOf(call.body);
  const parts = objectsOf(body?.input);
  const prompt = stringOf(body?.input) || parts.map(({ text }) => stringOf(text)).join('');
  if (!body || prompt === '') return invalid("'input' is required");
  const format = objectOf(body.response_format) ?? {};
  const strange =
    strangeField(body, 'model input background store response_format generation_config') ??
    strangeField(format, 'type delivery aspect_ratio resolution duration');
  if (strange !== undefined) return invalid(`Unknown name "${strange}"`);
  if (body.background !== true || format.type !== 'video' || format.delivery !== 'uri') {
    return invalid('The sandbox makes clips in the background only, delivered by URI');
  }
  if (parts.some(({ type, data }) => (type === 'image' || type === 'video') && stringOf(data) === '')) {
    return invalid("'input.data' is required");
  }
  const { duration, resolution = '720p' } = format;
  if (duration !== undefined && !/^\d+s$/.test(stringOf(duration))) {
    return invalid("Invalid value at 'response_format.duration'");
  }
  const size = mediaSize({ sizes: [resolution], aspectRatio: format.aspect_ratio }, 'video');
  const request = { type: 'video' as const, ...size, seconds: secondsOf(duration, 8), outputs: 1 };
  return acceptProviderJob(call, { prompt, request, refusals }, (found) => json(200, toInteraction(call, found)));
}

const wordOf: Record<FoundProviderJob['state'], string> = {
  queued: 'queued',
  running: 'in_progress',
  canceled: 'cancelled',
  done: 'completed',
  withheld: 'failed',
  failed: 'failed',
};

function toInteraction(call: FamilyCall, { id, providerJob, state }: FoundProviderJob) {
  const clips = Array.from({ length: state === 'done' ? providerJob.outputs : 0 }, (_, index) => ({
    type: 'video',
    mime_type: 'video/mp4',
    uri: `${call.baseUrl}/files/${id}-${index}:download?alt=media`,
  }));
  return {
    id,
    object: 'interaction',
    model: 'sandbox-omni',
    status: wordOf[state],
    created: new Date(providerJob.createdAt).toISOString(),
    ...(clips.length > 0 && { steps: [{ type: 'model_output', content: clips }] }),
    ...(state === 'withheld' && { errors: [{ code: 'SAFETY', message: 'The clip was blocked.' }] }),
    ...(state === 'failed' && { errors: [{ code: 'INTERNAL', message: 'An internal error has occurred.' }] }),
  };
}

const invalid = (message: string): Reply => json(400, { error: { code: 'invalid_request', message } });
