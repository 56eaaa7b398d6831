import { objectOf, type Fields } from './chat.ts';
import { json, recordCall, scriptedRefusal, type FamilyCall, type Refusals, type Reply } from './family.ts';
import type { Hit } from './hits.ts';
import { fates, type FoundProviderJob, type MediaRequest } from './provider-jobs.ts';
import { mediaSize } from './media-size.ts';

/** A media submit, independent of the family that it arrived in. */
export interface MediaSubmit {
  prompt: string;
  request: MediaRequest;
  refusals: Refusals;
  /** The idempotency key, for families with a field for it. Otherwise the header counts. */
  idempotencyKey?: string | undefined;
  /** Whether the provider returns the job of an earlier submit with the same key. */
  replays?: true;
}

/** Accepts a job and answers it, or returns the scripted failure. A failure that an accepted job can have comes later. */
export function acceptProviderJob(
  call: FamilyCall,
  submit: MediaSubmit,
  answer: (found: FoundProviderJob) => Reply,
): Reply {
  const key = recordCall(call, 'submit', submit.prompt, submit.idempotencyKey);
  const earlier = submit.replays && key !== null ? call.providerJobs.find(idUnderKey(call, key) ?? '') : null;
  if (earlier) return answer(earlier);
  const behaviour = call.scripting.next(submit.prompt, call.channel);
  const isAccepted = fates.some((fate) => fate === behaviour.fail);
  const refusal = isAccepted ? undefined : scriptedRefusal(behaviour.fail, submit.refusals);
  if (refusal) return refusal;
  const found = call.providerJobs.submit(submit.request, behaviour, submit.prompt);
  if (key !== null) call.providerJobs.rememberKey(keptKey(call, key), found.id);
  return answer(found);
}

/**
 * A submit that is answered with the results. Failures that only accepted jobs have become the nearest failure of an answer:
 * `never` means that no answer comes.
 */
export async function makeSynchronously(
  call: FamilyCall,
  { prompt, request, refusals }: MediaSubmit,
  answer: (pictures: Buffer[]) => unknown,
): Promise<Reply> {
  recordCall(call, 'submit', prompt);
  const { fail, ...behaviour } = call.scripting.next(prompt, call.channel);
  const refusal = scriptedRefusal(fail === 'never' ? 'hang' : fail, refusals);
  if (refusal) return refusal;
  const { providerJob } = call.providerJobs.submit(request, behaviour, prompt);
  const count = fail === 'no_output' ? 0 : providerJob.outputs;
  const pictures = await Promise.all(
    Array.from({ length: count }, (_, index) => call.providerJobs.output(providerJob, index)),
  );
  return { kind: 'later', ms: providerJob.latencyMs, reply: json(200, answer(pictures)) };
}

/** The file at `/files/{job}/{n}.png` or `.mp4`. Null for any other path. */
export async function fetchFile(call: FamilyCall): Promise<Reply | null> {
  const [, id, index] = /^\/files\/([\w-]+)\/(\d{1,2})\.(?:png|mp4)$/.exec(call.path) ?? [];
  return id === undefined || call.method !== 'GET' ? null : fetchOutput(call, id, Number(index));
}

/** The bytes of the n-th result, for a family with its own download URLs. */
export async function fetchOutput(call: FamilyCall, id: string, index: number): Promise<Reply> {
  const found = findProviderJob(call, 'fetch', id);
  if (found?.state !== 'done' || index >= found.providerJob.outputs) return json(404, { error: 'not found' });
  const type = found.providerJob.type === 'video' ? 'video/mp4' : 'image/png';
  return { kind: 'bytes', type, bytes: await call.providerJobs.output(found.providerJob, index) };
}

/** The URLs of a job's results. */
export function fileUrls(call: FamilyCall, { id, providerJob, state }: FoundProviderJob): string[] {
  const extension = providerJob.type === 'video' ? 'mp4' : 'png';
  const count = state === 'done' ? providerJob.outputs : 0;
  return Array.from({ length: count }, (_, index) => `${call.baseUrl}/files/${id}/${index}.${extension}`);
}

/** Finds the job that a call is about, and lists the call under the job's prompt. Null for a job that was lost. */
export function findProviderJob(call: FamilyCall, kind: Hit['kind'], id: string): FoundProviderJob | null {
  recordCall(call, kind, call.providerJobs.promptOf(id));
  const found = call.providerJobs.find(id);
  return found?.providerJob.fate === 'lost' ? null : found;
}

/** The id of the job that was submitted with this idempotency key. */
export const idUnderKey = (call: FamilyCall, key: string): string | undefined =>
  call.providerJobs.underKey(keptKey(call, key));

const keptKey = ({ channel, family }: FamilyCall, key: string): string => `${channel} ${family} ${key}`;

/** Reads a duration as providers write it (`8`, `"8"`, `"8s"`), in seconds. */
export const secondsOf = (duration: unknown, otherwise = 5): number => {
  const text = typeof duration === 'string' || typeof duration === 'number' ? String(duration) : '';
  return Math.min(Math.max(Number(/^\d+(?:\.\d+)?/.exec(text)?.[0] ?? otherwise), 1), 600);
};

/** The sandbox has no catalog: a duration, or a model name that sounds like video, makes the job a video. */
export function requestOf(model: string, input: Fields): MediaRequest {
  const isVideo = 'duration' in input || videoNames.test(model);
  const type = isVideo ? 'video' : 'image';
  const size = mediaSize(
    { sizes: [input.image_size, input.img_size, input.size, input.resolution], aspectRatio: input.aspect_ratio },
    type,
  );
  return { type, ...size, seconds: secondsOf(input.duration), outputs: countOf(input.num_images ?? input.num_outputs) };
}
const videoNames =
  /video|veo|kling|sora|seedance|hailuo|minimax|ltx|pika|luma|vidu|pixverse|\bwan\b|wan-|hunyuan|runway/i;

/** The number of requested results. */
export const countOf = (count: unknown): number =>
  typeof count === 'number' && count >= 1 ? Math.min(Math.trunc(count), 64) : 1;

/** The value if it is a string, otherwise an empty string. */
export const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The fields of a JSON or multipart body, and the names of its files. Null for any other body. */
export function fieldsOf(call: FamilyCall): { fields: Fields; files: string[] } | null {
  const boundary = /^multipart\/form-data;.{0,100}boundary="?([^";]{1,70})/i.exec(
    call.headers['content-type'] ?? '',
  )?.[1];
  if (boundary === undefined) {
    const fields = objectOf(call.body);
    return fields && { fields, files: [] };
  }
  const fields: Fields = {};
  const files: string[] = [];
  for (const part of call.body.split(`--${boundary}`).slice(1, partsMax)) {
    const [, name = '', file] =
      /^\r\ncontent-disposition: form-data; name="([^"]{1,64})"(; filename=)?/i.exec(part) ?? [];
    const start = part.indexOf('\r\n\r\n');
    if (name === '' || start < 0) continue;
    if (file === undefined) fields[name] = part.slice(start + 4).replace(/\r\n$/, '');
    else files.push(name);
  }
  return { fields, files };
}
const partsMax = 200;
