import { objectOf, type Fields } from './chat.ts';
import { isWireFault, json, type FamilyCall, type FamilyParts, type Reply } from './family.ts';
import type { Hit } from './hits.ts';
import type { MediaAsked } from './media-jobs.ts';
import { mediaSize } from './media-size.ts';
import type { FailKind } from './script.ts';

/** A media submit, independent of the family that it arrived in. */
export interface MediaSubmit {
  family: string;
  prompt: string;
  asked: MediaAsked;
  /** The family's replies to refused submits. A failure without a reply here is accepted and fails later. */
  refusals: Partial<Record<FailKind, Reply>>;
  /** The idempotency key, for families with a field for it. Otherwise the header counts. */
  idempotencyKey?: string | null;
  /** Whether the provider returns the job of an earlier submit with the same key. */
  replays?: true;
}

/** Accepts a job, or returns the scripted failure. */
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
 * A submit that is answered with the results. Failures that only accepted jobs have become the nearest failure of an answer:
 * `never` means that no answer comes.
 */
export async function makeSynchronously(
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

/** The file at `/files/{job}/{n}.png` or `.mp4`. Null for any other path. */
export async function fetchFile(parts: FamilyParts, call: FamilyCall, family: string): Promise<Reply | null> {
  const file = /^\/files\/([\w-]+)\/(\d{1,2})\.(?:png|mp4)$/.exec(call.path);
  if (!file || call.method !== 'GET') return null;
  return fetchOutput(parts, call, family, file[1] ?? '', Number(file[2]));
}

/** The bytes of the n-th result, for a family with its own download URLs. */
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

/** The URLs of a job's results. */
export function fileUrls(parts: FamilyParts, call: FamilyCall, id: string): string[] {
  const job = parts.jobs.find(id)?.job;
  if (!job || job.fate === 'no_output') return [];
  const extension = job.type === 'video' ? 'mp4' : 'png';
  return Array.from({ length: job.outputs }, (_, index) => `${call.baseUrl}/files/${id}/${index}.${extension}`);
}

/** Records a call under the prompt of its job. Returns the idempotency key that the provider would store. */
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

/** The key that `recordMedia` returns, for a look-up. */
export const keptKey = (call: FamilyCall, family: string, key: string): string => `${call.channel} ${family} ${key}`;

/** Reads a duration as providers write it (`8`, `"8"`, `"8s"`), in seconds. */
export const secondsOf = (duration: unknown, otherwise = 5): number => {
  const text = typeof duration === 'string' || typeof duration === 'number' ? String(duration) : '';
  return Math.min(Math.max(Number(/^\d+(?:\.\d+)?/.exec(text)?.[0] ?? otherwise), 1), 600);
};

/** The sandbox has no catalog: a duration, or a model name that sounds like video, makes the job a video. */
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
