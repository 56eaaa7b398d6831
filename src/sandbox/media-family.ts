import { objectOf, type Fields } from './chat.ts';
import { isWireFault, json, type FamilyCall, type FamilyParts, type Reply } from './family.ts';
import type { Hit } from './hits.ts';
import type { MediaAsked } from './media-jobs.ts';
import { mediaSize } from './media-size.ts';
import type { FailKind } from './script.ts';

/** One media submit, read out of its family's own words. */
export interface MediaSubmit {
  family: string;
  prompt: string;
  asked: MediaAsked;
  /** What a submit is refused with, in the family's own words. A kind that is not here is accepted and goes wrong later. */
  refusals: Partial<Record<FailKind, Reply>>;
  /** Where the family has a place of its own for it; else the header counts. */
  idempotencyKey?: string | null;
  /** The provider gives the job of an earlier submit with the same key. */
  replays?: true;
}

/** Takes a job in, or says what came in between. */
export function takeJob(parts: FamilyParts, call: FamilyCall, submit: MediaSubmit): { id: string } | { reply: Reply } {
  const key = recordMedia(parts, call, 'submit', submit);
  const earlier = submit.replays && key !== null ? parts.jobs.underKey(key) : undefined;
  if (earlier !== undefined) return { id: earlier };
  const behaviour = parts.scripting.next(submit.prompt, call.channel);
  if (isWireFault(behaviour.fail)) return { reply: { kind: 'fault', fault: behaviour.fail } };
  const refusal = behaviour.fail && submit.refusals[behaviour.fail];
  if (refusal) return { reply: refusal };
  const id = parts.jobs.submit(submit.asked, behaviour, submit.prompt);
  if (key !== null) parts.jobs.rememberKey(key, id);
  return { id };
}

/**
 * A submit whose answer is the results. What can only befall an accepted job has its nearest likeness here: one that never
 * ends is an answer that never comes.
 */
export async function makeAtOnce(
  parts: FamilyParts,
  call: FamilyCall,
  submit: MediaSubmit,
  answer: (pictures: Buffer[]) => unknown,
): Promise<Reply> {
  recordMedia(parts, call, 'submit', submit);
  const behaviour = parts.scripting.next(submit.prompt, call.channel);
  if (behaviour.fail === 'never') return { kind: 'fault', fault: 'hang' };
  if (isWireFault(behaviour.fail)) return { kind: 'fault', fault: behaviour.fail };
  const refusal = behaviour.fail && submit.refusals[behaviour.fail];
  if (refusal) return refusal;

  const { fail, ...kind } = behaviour;
  const found = parts.jobs.find(parts.jobs.submit(submit.asked, { ...kind, fail: undefined }, submit.prompt));
  const pictures: Buffer[] = [];
  const count = found && fail !== 'no_output' ? found.job.outputs : 0;
  for (let index = 0; found && index < count; index += 1) pictures.push(await parts.jobs.output(found.job, index));
  return { kind: 'later', ms: found?.job.latencyMs ?? 0, reply: json(200, answer(pictures)) };
}

/** The file at `/files/{job}/{n}.png` or `.mp4`; null when the path is none. */
export async function fetchFile(parts: FamilyParts, call: FamilyCall, family: string): Promise<Reply | null> {
  const file = /^\/files\/([\w-]+)\/(\d{1,2})\.(?:png|mp4)$/.exec(call.path);
  if (!file || call.method !== 'GET') return null;
  return fetchOutput(parts, call, family, file[1] ?? '', Number(file[2]));
}

/** The n-th result's bytes, for a family with addresses of its own. */
export async function fetchOutput(
  parts: FamilyParts,
  call: FamilyCall,
  family: string,
  id: string,
  index: number,
): Promise<Reply> {
  recordMedia(parts, call, 'fetch', { family, prompt: parts.jobs.promptOf(id) });
  const found = parts.jobs.find(id);
  if (found?.state !== 'done' || index >= found.job.outputs) return json(404, { error: 'not found' });
  const type = found.job.type === 'video' ? 'video/mp4' : 'image/png';
  return { kind: 'bytes', type, bytes: await parts.jobs.output(found.job, index) };
}

/** The addresses of a job's results, as many as it made. */
export function fileUrls(parts: FamilyParts, call: FamilyCall, id: string): string[] {
  const job = parts.jobs.find(id)?.job;
  if (!job || job.fate === 'no_output') return [];
  const extension = job.type === 'video' ? 'mp4' : 'png';
  return Array.from({ length: job.outputs }, (_, index) => `${call.baseUrl}/files/${id}/${index}.${extension}`);
}

/** Notes a call under its job's prompt; answers its idempotency key, as the provider would keep it. */
export function recordMedia(
  parts: FamilyParts,
  call: FamilyCall,
  kind: Hit['kind'],
  { family, prompt, idempotencyKey }: Pick<MediaSubmit, 'family' | 'prompt' | 'idempotencyKey'>,
): string | null {
  const header = call.headers['idempotency-key'];
  const key = idempotencyKey ?? (typeof header === 'string' ? header : null);
  parts.hits.record(
    { channel: call.channel, family, route: `${call.method} ${call.path}`, kind, idempotency_key: key },
    prompt,
  );
  return key === null ? null : keptKey(call, family, key);
}

/** The key that `recordMedia` answers, for a look-up. */
export const keptKey = (call: FamilyCall, family: string, key: string): string => `${call.channel} ${family} ${key}`;

/** A duration as providers write it (`8`, `"8"`, `"8s"`), in seconds. */
export const secondsOf = (duration: unknown, otherwise = 5): number => {
  const text = typeof duration === 'string' || typeof duration === 'number' ? String(duration) : '';
  return Math.min(Math.max(Number(/^\d+(?:\.\d+)?/.exec(text)?.[0] ?? otherwise), 1), 600);
};

/** The sandbox has no catalog: a duration, or a name that video models go by, makes it a video. */
export function askedOf(model: string, input: Fields): MediaAsked {
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

/** How many results are asked for. */
export const countOf = (count: unknown): number =>
  typeof count === 'number' && count >= 1 ? Math.min(Math.trunc(count), 64) : 1;

/** A text, or nothing for what is none. */
export const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The fields of a JSON or multipart body, and the names of the files in it; null when it is neither. */
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
