import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { mediaRoutes } from '../support/api-client.ts';
import type { Gateway, TestProject } from '../support/gateway.ts';
import { png } from '../support/pictures.ts';
import { upload } from '../support/upload.ts';
import { eventually } from '../faults/crowd.ts';

/** Requests of every kind that clients send, to several API servers in turn. */
export interface MixedLoad {
  failures: string[];
  counts: Record<Kind, number>;
  /** Sends requests to this API server too. */
  add: (baseUrl: string) => void;
  /** Sends it no more, and waits for its answers. */
  remove: (baseUrl: string) => Promise<void>;
  /** Resolves once requests of each kind were answered. `when` is named by what fails meanwhile. */
  more(when: string): Promise<void>;
  stop(): Promise<void>;
}

/** The text in every prompt. */
export const mixedLoadText = 'side by side';

export function startMixedLoad(gateway: Gateway, { apiKey }: TestProject): MixedLoad {
  const servers = createTurns();
  const kinds = kindsOf(createSender(servers, apiKey), gateway.sandboxUrl);
  const failures: string[] = [];
  const counts = Object.fromEntries(allKinds.map((kind) => [kind, 0])) as MixedLoad['counts'];
  let when = '';
  let isStopped = false;
  const lane = async (kind: Kind): Promise<void> => {
    await servers.present;
    while (!isStopped) {
      const n = counts[kind]++;
      await kinds[kind](n).catch((error: unknown) => failures.push(`${when}: ${kind} ${n}: ${String(error)}`));
    }
  };
  const lanes = [...allKinds, ...moreLanes].map(lane);
  return {
    failures,
    counts,
    add: servers.add,
    remove: servers.remove,
    async more(what) {
      when = what;
      const before = { ...counts };
      const short = () => allKinds.filter((kind) => counts[kind] < before[kind] + (kind === 'busy' ? 1 : 4));
      await eventually(300, () =>
        Promise.resolve(failures.length > 0 || short().length === 0 || `too few ${short().join(', ')}`),
      );
    },
    async stop() {
      isStopped = true;
      await Promise.all(lanes);
    },
  };
}

const allKinds = ['chats', 'streams', 'replays', 'tasks', 'busy', 'canceled', 'uploads', 'reads'] as const;
type Kind = (typeof allKinds)[number];
const moreLanes: Kind[] = ['chats', 'tasks', 'tasks'];

/** The servers that get requests, one after the other, as behind a load balancer. */
function createTurns() {
  const uses = new Map<string, Set<Promise<unknown>>>();
  const { promise: present, resolve } = Promise.withResolvers<void>();
  let turn = 0;
  return {
    /** Resolves with the first server. */
    present,
    at: async <T>(work: (baseUrl: string) => Promise<T>): Promise<T> => {
      const [baseUrl, running] = [...uses][turn++ % uses.size] ?? ['', new Set<Promise<unknown>>()];
      const result = work(baseUrl);
      running.add(result);
      return result.finally(() => running.delete(result));
    },
    add: (baseUrl: string): void => {
      uses.set(baseUrl, new Set());
      resolve();
    },
    remove: async (baseUrl: string): Promise<void> => {
      const running = [...(uses.get(baseUrl) ?? [])];
      uses.delete(baseUrl);
      await Promise.allSettled(running);
    },
  };
}

interface Sender {
  /** Sends a request that must succeed and returns the text of the answer. */
  post: (path: string, body: object, key?: string) => Promise<string>;
  get: (path: string) => Promise<string>;
  uploadPicture: (image: Buffer) => Promise<URL>;
}

function createSender(servers: ReturnType<typeof createTurns>, apiKey: string): Sender {
  const send = (method: string, path: string, body?: object, key?: string): Promise<string> =>
    servers.at(async (baseUrl) => {
      const answer = await fetch(`${baseUrl}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${apiKey}`,
          'content-type': 'application/json',
          'anthropic-version': '2023-06-01',
          ...(key !== undefined && { 'idempotency-key': key }),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (answer.status >= 300)
        throw new Error(`${method} ${path} at ${baseUrl}: ${answer.status} ${text.slice(0, 300)}`);
      return text;
    });
  return {
    post: (path, body, key) => send('POST', path, body, key),
    get: (path) => send('GET', path),
    uploadPicture: (image) => servers.at(async (baseUrl) => new URL((await upload({ baseUrl, apiKey }, image)).url)),
  };
}

const Created = z.object({ task_id: z.string() });
const Attempts = z.object({ data: z.array(z.unknown()) });
const Status = z.object({ status: z.string() });
const image = { route: mediaRoutes.image as string, model: 'aurora-image-1' };
/** Of a family that no other request uses. */
const video = { route: mediaRoutes.video as string, model: 'kling-3' };

/** What each dialect sends for a chat, and what a whole answer of it has. */
const dialects = [
  { path: '/api/v1/chat/completions', has: '"choices"' },
  { path: '/v1/chat/completions', has: '"choices"' },
  { path: '/v1/messages', has: '"stop_reason"' },
  { path: '/v1/responses', has: '"output"' },
  { path: '/api/v1beta/models/mistral-small-4:generateContent', has: '"candidates"' },
] as const;
const reads = ['key', 'usage', 'ledger?limit=50', 'tasks?limit=20', 'models'].map((path) => `/api/v1/${path}`);

function chatBody(path: string, words: string): object {
  const question = `${mixedLoadText} ${words} [[latency=150]]`;
  if (path.includes('generateContent')) return { contents: [{ role: 'user', parts: [{ text: question }] }] };
  if (path === '/v1/responses') return { model: 'mistral-small-4', store: false, input: question };
  return { model: 'mistral-small-4', max_tokens: 50, messages: [{ role: 'user', content: question }] };
}

function demand(text: string, has: string): void {
  if (!text.includes(has)) throw new Error(`an answer without ${has}: ${text.slice(-300)}`);
}

/** One request or a few that belong together, by their number. Rejects if an answer is not the expected one. */
function kindsOf(sender: Sender, sandboxUrl: string): Record<Kind, (n: number) => Promise<void>> {
  const { post, get, uploadPicture } = sender;
  const { create, untilEnded } = tasksOf(sender, sandboxUrl);
  return {
    async chats(n) {
      const { path, has } = dialects[n % dialects.length] ?? dialects[0];
      demand(await post(path, chatBody(path, `chat ${n}`)), has);
    },
    async streams(n) {
      const body = { ...chatBody('/v1/chat/completions', `stream ${n} [[tokens=20 rate=20]]`), stream: true };
      demand(await post('/v1/chat/completions', body), '[DONE]');
    },
    async replays(n) {
      const chat = () =>
        post('/api/v1/chat/completions', chatBody('/api/v1/chat/completions', `replay ${n}`), `replay-${n}`);
      const first = await chat();
      for (const replay of [await chat(), await chat()]) if (replay !== first) throw new Error('a replay differs');
    },
    async tasks(n) {
      const taskId = await create(n % 5 === 0 ? '[[latency=12000]]' : '[[latency=800]]', `task-${n}`);
      await untilEnded(taskId);
      for (const path of ['attempts', 'deliveries']) await get(`/api/v1/tasks/${taskId}/${path}`);
      if (n % 4 === 0) await post(`/api/v1/tasks/${taskId}/callback/redeliver`, {});
    },
    /** The first task makes all channels of its family cool down, so that the second one waits for them. Release 0.2.0 gives the first one up. */
    async busy(n) {
      const first = await create('[[fail=rate_limit times=3]]', `opener-${n}`, video);
      const attempts = async () => Attempts.parse(JSON.parse(await get(`/api/v1/tasks/${first}/attempts`))).data.length;
      while ((await attempts()) < 3) await sleep(100);
      await untilEnded(await create('', `busy-${n}`, video));
    },
    async canceled(n) {
      const taskId = await create('[[latency=3000]]', `canceled-${n}`);
      await post(`/api/v1/tasks/${taskId}/cancel`, {}).catch((error: unknown) => {
        if (!String(error).includes('task_not_cancelable')) throw error;
      });
      await untilEnded(taskId);
    },
    async uploads(n) {
      const { pathname, search } = await uploadPicture(await png(40, 30 + (n % 100)));
      await get(`${pathname}${search}`);
    },
    async reads(n) {
      await get(reads[n % reads.length] ?? '');
      await sleep(100);
    },
  };
}

function tasksOf({ post, get }: Sender, sandboxUrl: string) {
  return {
    /** Sends the create twice with one Idempotency-Key, mostly to different servers. */
    create: async (words: string, key: string, { route, model } = image): Promise<string> => {
      const body = {
        model,
        prompt: `${mixedLoadText} ${key} ${words}`,
        metadata: { key },
        callback_url: `${sandboxUrl}/_sandbox/inbox/${key}`,
      };
      const ids = [await post(route, body, key), await post(route, body, key)].map(
        (text) => Created.parse(JSON.parse(text)).task_id,
      );
      if (new Set(ids).size > 1) throw new Error(`the same create made ${ids.join(' and ')}`);
      return ids[0] ?? '';
    },
    /** Rejects if the task fails. */
    untilEnded: async (taskId: string): Promise<void> => {
      for (;;) {
        const text = await get(`/api/v1/tasks/${taskId}?wait=2`);
        const { status } = Status.parse(JSON.parse(text));
        if (status === 'failed') throw new Error(text);
        if (status === 'succeeded' || status === 'canceled') return;
      }
    },
  };
}
