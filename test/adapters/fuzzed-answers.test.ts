import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { UpstreamCaller } from '../../src/adapters/upstream/call-upstream.ts';
import type { MediaRequest, SubmitResult } from '../../src/adapters/channel.ts';
import { createAdapters } from '../../src/adapters/registry.ts';
import type { AnswerBody } from '../../src/adapters/upstream/upstream-request.ts';
import type { PollResult } from '../../src/domain/channels/upstream.ts';
import { harmlessProse, mutate, mutateGently, randomFrom } from './mutate-answers.ts';

/** Kept, so that a finding repeats. A new finding adds its seed. */
const seeds = [1, 20_261_126];
const answersEach = 10_000;
const batch = answersEach / seeds.length;

interface Answer {
  status: number;
  body: unknown;
}
let answer: Answer = { status: 500, body: null };
/** Every call gets the same answer. Only readers run, so a socket would add nothing but time. */
const caller: UpstreamCaller = {
  call() {
    const body: AnswerBody = answer.body === undefined ? { unreadable: 'empty' } : { json: answer.body };
    return Promise.resolve({ kind: 'answered', status: answer.status, headers: {}, body });
  },
  stream: () => Promise.resolve({ kind: 'not_sent', detail: 'no streams' }),
  close: () => Promise.resolve(),
};
const adapters = createAdapters(caller);
const upstream = { channelId: 'c', baseUrl: 'https://provider.test', credential: 'a:b' };
const options = { signal: new AbortController().signal };
const request = (type: 'image' | 'video', model: string): MediaRequest => ({
  type,
  model,
  prompt: 'a fox',
  parameters: {},
  idempotencyKey: 'att_1',
});

/** A reference of a job of each family, and what it makes. Gemini has two kinds of jobs. */
const families = [
  { family: 'fal', types: ['image', 'video'], model: 'fal-ai/x', providerRef: { app: 'fal-ai/x', request_id: 'r' } },
  { family: 'replicate', types: ['image', 'video'], model: 'a/b', providerRef: { prediction_id: 'p' } },
  { family: 'kling', types: ['image', 'video'], model: 'k', providerRef: { path: '/videos/text2video', task_id: 't' } },
  { family: 'runway', types: ['image', 'video'], model: 'r', providerRef: { task_id: 't' } },
  { family: 'seedance', types: ['video'], model: 's', providerRef: { task_id: 't' } },
  { family: 'minimax', types: ['video'], model: 'm', providerRef: { task_id: 't' } },
  { family: 'dashscope', types: ['video'], model: 'd', providerRef: { task_id: 't' } },
  { family: 'xai', types: ['image', 'video'], model: 'x', providerRef: { request_id: 'r' } },
  { family: 'tollgate', types: ['image', 'video'], model: 't', providerRef: { task_id: 't' } },
  { family: 'openai', types: ['image', 'video'], model: 'o', providerRef: { video_id: 'v' } },
  { family: 'gemini', types: ['image', 'video'], model: 'veo', providerRef: { name: 'models/veo/operations/o' } },
  { family: 'gemini', types: ['video'], model: 'gemini-omni', providerRef: { interaction_id: 'i' } },
] as const;

/** The saved replies of a family, which are right ones. */
function savedAnswers(family: string): Answer[] {
  const folder = new URL(`./fixtures/${family}/`, import.meta.url);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => {
      const saved = JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Partial<Answer>;
      return saved.body === undefined ? [] : [{ status: saved.status ?? 200, body: saved.body }];
    });
}

const isRecognized = (result: SubmitResult | PollResult): boolean =>
  /^(?:ok|done|refused|transient|unknown|pending|failed|missing|unclear)$/.test(result.kind);

describe.each(families)(
  'answers of $family ($model) that were changed at random',
  ({ family, types, model, providerRef }) => {
    const adapter = adapters[family];
    const right = savedAnswers(family);
    const poll = () => adapter?.pollMedia?.(upstream, { ...providerRef }, options);
    const submit = (type: 'image' | 'video') => adapter?.submitMedia?.(upstream, request(type, model), options);

    it.each(seeds)('are always read as something, and never quote a prompt: seed %s', async (seed) => {
      const random = randomFrom(seed);
      for (let n = 0; n < batch; n += 1) {
        const saved = right[n % right.length] ?? { status: 200, body: {} };
        answer = { status: saved.status, body: mutate(saved.body, random) };
        const type = types[n % types.length] ?? 'video';
        const results = [await poll(), await submit(type)];
        for (const result of results) {
          if (!result || !isRecognized(result)) throw new Error(`no result for ${JSON.stringify(answer)}`);
          const detail = 'detail' in result ? result.detail : '';
          if (detail.length > 300 || detail.includes('secret-marker'))
            throw new Error(`${detail} of ${JSON.stringify(answer)}`);
        }
      }
    });

    it.each(seeds)('mean the same as before if a person is left in no doubt: seed %s', async (seed) => {
      const random = randomFrom(seed);
      const clear = right.filter(({ status }) => status < 500);
      for (let n = 0; n < batch / 2; n += 1) {
        const saved = clear[n % clear.length] ?? { status: 200, body: {} };
        const type = types[n % types.length] ?? 'video';
        answer = saved;
        const before = [await poll(), await submit(type)].map(meaningOf);
        const body = mutateGently(saved.body, random);
        answer = { status: saved.status, body };
        const after = [await poll(), await submit(type)].map(meaningOf);
        if (JSON.stringify(before) !== JSON.stringify(after)) {
          throw new Error(
            `${JSON.stringify(before)} became ${JSON.stringify(after)}: ${JSON.stringify(body).slice(0, 1_500)}`,
          );
        }
      }
    });

    it('never make a policy of prose that only has its words', async () => {
      const random = randomFrom(3);
      for (let n = 0; n < batch / 5; n += 1) {
        const saved = right[n % right.length] ?? { status: 200, body: {} };
        const prose = harmlessProse[n % harmlessProse.length] ?? '';
        answer = { status: saved.status, body: withProse(saved.body, prose, random) };
        const results = [await poll(), await submit(types[n % types.length] ?? 'video')];
        const byPolicy = results.some(
          (result) => result?.kind === 'refused' && result.code === 'content_policy_violation',
        );
        if (byPolicy) throw new Error(`a policy out of ${JSON.stringify(answer)}`);
      }
    });

    it('always show an error in a 200 that a person sees, at the submit', async () => {
      const errors = right.filter(({ status, body }) => status >= 400 && hasError(body));
      for (const { body } of errors) {
        for (const wrapped of [body, [body]]) {
          answer = { status: 200, body: wrapped };
          for (const type of types) {
            const result = await submit(type);
            if (result?.kind === 'unknown') throw new Error(`unknown: ${JSON.stringify(wrapped)}`);
          }
        }
      }
      expect(errors.length).toBeGreaterThan(0);
    });
  },
);

/** What a result comes to: its kind, the code of a refusal, and the addresses of its files. */
const meaningOf = (result: SubmitResult | PollResult | undefined): unknown => [
  result?.kind,
  result && 'code' in result ? result.code : null,
  result?.kind === 'done' ? result.outputs.map(({ url }) => url) : null,
];

/** Whether a body tells an error: any member named so, a detail, or a message beside a code. */
const hasError = (body: unknown): boolean => /"(?:error|detail|message|code)":/.test(JSON.stringify(body));

/** A right answer whose texts of prose are all this one, and whose words of a policy are gone. */
function withProse(body: unknown, prose: string, random: () => number): unknown {
  if (Array.isArray(body)) return body.map((each: unknown) => withProse(each, prose, random));
  if (typeof body !== 'object' || body === null) return body;
  const entries = Object.entries(body).map(([key, value]: [string, unknown]): [string, unknown] => {
    if (proseKeys.test(key) && typeof value === 'string') return [key, prose];
    if (codeKeys.test(key) && typeof value !== 'object' && value !== null)
      return [key, random() < 0.5 ? 'internal_error' : 'failed_500'];
    if (policyKeys.test(key)) return [key, null];
    return [key, withProse(value, prose, random)];
  });
  return Object.fromEntries(entries);
}
const proseKeys = /^(?:message|msg|detail|error|title|failure|task_status_msg|status_msg)$/;
const codeKeys = /^(?:code|type|reason|failureCode|finishReason|error_type)$/;
const policyKeys = /^(?:respect_moderation|has_nsfw_concepts|raiMediaFilteredCount|blockReason|metadata)$/;
