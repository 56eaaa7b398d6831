import { randomBytes } from 'node:crypto';
import { clip } from './clip.ts';
import { picture, seeds } from './picture.ts';
import type { Behaviour } from './script.ts';

/** A submitted job. Its id encodes all of it, so that the job continues after a restart of the sandbox. */
export interface MediaJob {
  type: 'image' | 'video';
  width: number;
  height: number;
  /** Seconds, for a video. */
  seconds: number;
  outputs: number;
  seed: number;
  /** Unix milliseconds. */
  createdAt: number;
  latencyMs: number;
  fate: 'done' | 'no_output' | 'never' | 'lost' | 'late_fail';
}

export type JobState = 'missing' | 'queued' | 'running' | 'done' | 'failed';

export interface MediaAsked {
  type: 'image' | 'video';
  width: number;
  height: number;
  seconds: number;
  /** The number of results that the request asks for. */
  outputs: number;
}

/** Media jobs, independent of the family: when a job is done, what it returns, and its prompt. */
export function createMediaJobs() {
  // Prompts are kept here, for the list of hits, and not in the id, because ids end up in databases and logs.
  const prompts = new Map<string, string>();
  /** The canceled jobs, and whether each had started by then. */
  const canceled = new Map<string, { ran: boolean }>();
  /** The job of each idempotency key, for families that support such keys. */
  const keyed = new Map<string, string>();
  return {
    rememberKey(key: string, id: string): void {
      keyed.set(key, id);
      if (keyed.size > jobsMax) {
        const oldest = keyed.keys().next();
        if (!oldest.done) keyed.delete(oldest.value);
      }
    },

    underKey: (key: string): string | undefined => keyed.get(key),

    submit(asked: MediaAsked, behaviour: Behaviour, prompt: string): string {
      const job: MediaJob = {
        ...asked,
        outputs: Math.min(behaviour.outputs ?? asked.outputs, outputsMax),
        seed: seedOf(prompt),
        createdAt: Date.now(),
        latencyMs: behaviour.latencyMs ?? defaultLatencyMs,
        fate: fates.find((fate) => fate === behaviour.fail) ?? 'done',
      };
      const id = encode(job);
      prompts.set(id, prompt);
      if (prompts.size > jobsMax) {
        const oldest = prompts.keys().next();
        if (!oldest.done) prompts.delete(oldest.value);
      }
      return id;
    },

    find(id: string): { job: MediaJob; state: JobState } | null {
      const job = decode(id);
      return job ? { job, state: canceled.has(id) ? 'missing' : stateOf(job, Date.now()) } : null;
    },

    isCanceled(id: string): boolean {
      return canceled.has(id);
    },

    promptOf: (id: string): string => prompts.get(id) ?? '',

    /** Whether the job had started before it was canceled. */
    ranUntilCanceled: (id: string): boolean => canceled.get(id)?.ran ?? false,

    /** Removes a queued job, or stops a running one. */
    cancel(id: string): void {
      if (canceled.has(id)) return;
      const job = decode(id);
      canceled.set(id, { ran: job !== null && stateOf(job, Date.now()) === 'running' });
      if (canceled.size > jobsMax) {
        const oldest = canceled.keys().next();
        if (!oldest.done) canceled.delete(oldest.value);
      }
    },

    /** The bytes of the n-th result. */
    async output(job: MediaJob, index: number): Promise<Buffer> {
      const seed = (job.seed + index) % seeds;
      return job.type === 'video' ? clip({ ...job, seed }) : picture({ ...job, seed });
    },
  };
}
export type MediaJobs = ReturnType<typeof createMediaJobs>;

const defaultLatencyMs = 300;
const outputsMax = 64;
const jobsMax = 50_000;
const fates = ['no_output', 'never', 'lost', 'late_fail'] as const;

/** A job is queued for the first half of its latency and can be removed from the queue. Then it runs. */
export function stateOf(job: Pick<MediaJob, 'fate' | 'createdAt' | 'latencyMs'>, now: number): JobState {
  if (job.fate === 'lost') return 'missing';
  const age = now - job.createdAt;
  if (job.fate === 'never' || age < job.latencyMs / 2) return 'queued';
  if (age < job.latencyMs) return 'running';
  return job.fate === 'late_fail' ? 'failed' : 'done';
}

const seedOf = (prompt: string): number => {
  let sum = 0;
  for (let index = 0; index < Math.min(prompt.length, 200); index += 1)
    sum = (sum * 31 + prompt.charCodeAt(index)) % 9_973;
  return sum % seeds;
};

/** `sbx-`, the job's numbers in base 36 in a fixed order, and random characters. Nothing of the request's text. */
const encode = (job: MediaJob): string =>
  [
    'sbx',
    job.type === 'video' ? 'v' : 'i',
    ...[
      job.width,
      job.height,
      Math.round(job.seconds * 1_000),
      job.outputs,
      job.seed,
      job.createdAt,
      job.latencyMs,
    ].map((number) => number.toString(36)),
    job.fate,
    randomBytes(8).toString('hex'),
  ].join('-');

function decode(id: string): MediaJob | null {
  const match = /^sbx-([iv])-(\w+)-(\w+)-(\w+)-(\w+)-(\w+)-(\w+)-(\w+)-(\w+)-[0-9a-f]{16}$/.exec(id);
  if (!match) return null;
  const [width = 0, height = 0, milliseconds = 0, outputs = 0, seed = 0, createdAt = 0, latencyMs = 0] = match
    .slice(2, 9)
    .map((text) => parseInt(text, 36));
  const fate = fates.find((known) => known === match[9]) ?? 'done';
  const type = match[1] === 'v' ? 'video' : 'image';
  return { type, width, height, seconds: milliseconds / 1_000, outputs, seed, createdAt, latencyMs, fate };
}
