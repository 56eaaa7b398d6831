import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { clip } from './clip.ts';
import { picture, seeds } from './picture.ts';
import type { Behaviour } from './script.ts';

/** What a request asks for. */
export interface MediaRequest {
  type: 'image' | 'video';
  width: number;
  height: number;
  /** Seconds, for a video. */
  seconds: number;
  /** The number of results. */
  outputs: number;
}

/** A submitted job. Its id encodes all of it, so that the job continues after a restart of the sandbox. */
export interface ProviderJob extends MediaRequest {
  seed: number;
  /** Unix milliseconds. */
  createdAt: number;
  latencyMs: number;
  fate: 'done' | 'no_output' | 'never' | 'lost' | 'late_fail';
}

/** `withheld`: ended, and the content policy withholds the result, in the words of the family. */
export type ProviderJobState = 'queued' | 'running' | 'done' | 'withheld' | 'failed';

/** A job as it is now. */
export interface FoundProviderJob {
  id: string;
  providerJob: ProviderJob;
  state: ProviderJobState | 'canceled';
  /** Whether it has started, or had started before it was canceled. */
  hasStarted: boolean;
}

/** Media jobs, independent of the family: when a job is done, what it returns, and its prompt. */
export function createProviderJobs() {
  // Prompts are kept here, for the list of hits, and not in the id, because ids end up in databases and logs.
  const prompts = new LRUCache<string, string>({ max: providerJobsMax });
  /** The canceled jobs, and whether each had started by then. */
  const canceled = new LRUCache<string, boolean>({ max: providerJobsMax });
  /** The job of each idempotency key, for families that support such keys. */
  const keyed = new LRUCache<string, string>({ max: providerJobsMax });

  const see = (id: string, providerJob: ProviderJob): FoundProviderJob => {
    const hadStarted = canceled.get(id);
    if (hadStarted !== undefined) return { id, providerJob, state: 'canceled', hasStarted: hadStarted };
    const state = stateOf(providerJob, Date.now());
    return { id, providerJob, state, hasStarted: state !== 'queued' };
  };

  return {
    rememberKey(key: string, id: string): void {
      keyed.set(key, id);
    },

    underKey: (key: string): string | undefined => keyed.get(key),

    submit(request: MediaRequest, behaviour: Behaviour, prompt: string): FoundProviderJob {
      const providerJob: ProviderJob = {
        ...request,
        outputs: Math.min(behaviour.outputs ?? request.outputs, outputsMax),
        seed: crc32(prompt) % seeds,
        createdAt: Date.now(),
        latencyMs: behaviour.latencyMs ?? defaultLatencyMs,
        fate: fates.find((fate) => fate === behaviour.fail) ?? 'done',
      };
      const id = encode(providerJob);
      prompts.set(id, prompt);
      return see(id, providerJob);
    },

    /** Finds a lost job, too. Null for an id of another server. */
    find(id: string): FoundProviderJob | null {
      const providerJob = decode(id);
      return providerJob && see(id, providerJob);
    },

    promptOf: (id: string): string => prompts.get(id) ?? '',

    /** Removes a queued job, or stops a running one. A canceled or ended job does not change. */
    cancel({ id, state, hasStarted }: FoundProviderJob): void {
      if (state === 'queued' || state === 'running') canceled.set(id, hasStarted);
    },

    /** The bytes of the n-th result. */
    async output(providerJob: ProviderJob, index: number): Promise<Buffer> {
      const seed = (providerJob.seed + index) % seeds;
      return providerJob.type === 'video' ? clip({ ...providerJob, seed }) : picture({ ...providerJob, seed });
    },
  };
}
export type ProviderJobs = ReturnType<typeof createProviderJobs>;

const defaultLatencyMs = 300;
const outputsMax = 64;
const providerJobsMax = 50_000;

/** The failures of a job that was accepted. */
export const fates = ['no_output', 'never', 'lost', 'late_fail'] as const;

/** A job is queued for the first half of its latency and can be removed from the queue. Then it runs. */
export function stateOf(
  providerJob: Pick<ProviderJob, 'fate' | 'createdAt' | 'latencyMs'>,
  now: number,
): ProviderJobState {
  const age = now - providerJob.createdAt;
  if (providerJob.fate === 'never' || providerJob.fate === 'lost' || age < providerJob.latencyMs / 2) return 'queued';
  if (age < providerJob.latencyMs) return 'running';
  return providerJob.fate === 'late_fail' ? 'failed' : providerJob.fate === 'no_output' ? 'withheld' : 'done';
}

/** `sbx-`, the job's numbers in base 36 in a fixed order, and random characters. Nothing of the request's text. */
function encode(providerJob: ProviderJob): string {
  const { type, width, height, seconds, outputs, seed, createdAt, latencyMs, fate } = providerJob;
  const numbers = [width, height, Math.round(seconds * 1_000), outputs, seed, createdAt, latencyMs];
  const texts = numbers.map((number) => number.toString(36));
  return ['sbx', type === 'video' ? 'v' : 'i', ...texts, fate, randomBytes(8).toString('hex')].join('-');
}

function decode(id: string): ProviderJob | null {
  const match = /^sbx-([iv])((?:-\w+){7})-(\w+)-[0-9a-f]{16}$/.exec(id);
  if (!match) return null;
  const [, kind, numbers = '', last] = match;
  const [width = 0, height = 0, milliseconds = 0, outputs = 0, seed = 0, createdAt = 0, latencyMs = 0] = numbers
    .slice(1)
    .split('-')
    .map((text) => parseInt(text, 36));
  const fate = fates.find((candidate) => candidate === last) ?? 'done';
  const type = kind === 'v' ? 'video' : 'image';
  return { type, width, height, seconds: milliseconds / 1_000, outputs, seed, createdAt, latencyMs, fate };
}
