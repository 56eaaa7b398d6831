import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { imageSize } from 'image-size';
import {
  createUpstreamCaller,
  type UpstreamCaller,
  type UpstreamTimeouts,
} from '../../src/adapters/upstream/call-upstream.ts';
import type {
  Adapter,
  CallOptions,
  MediaRequest,
  ProviderRef,
  SubmitDone,
  Upstream,
} from '../../src/adapters/channel.ts';
import type { Attempt, PollResult } from '../../src/domain/channels/upstream.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import type { TaskType } from '../../src/domain/tasks/task.ts';
import { createSandbox, type Sandbox } from '../../packages/sandbox/src/create-sandbox.ts';
import { eventually } from '../support/eventually.ts';
import { createReplyServer, type CannedReply, type ReplyServer } from './reply-server.ts';

/** One family's part of the suite. */
export interface MediaFamily {
  /** The name in the sandbox's paths. */
  family: string;
  create: (caller: UpstreamCaller) => Adapter;
  /** The types that the family generates. */
  image?: { model: string; parameters: JsonObject; width: number; height: number };
  video?: { model: string; parameters: JsonObject };
  /** The type whose submit returns a reference to poll. */
  polledType: TaskType;
  /** The maximum of outputs of one such job. Without it, as many as requested. */
  outputsMax?: 1;
  /** Synchronous results: saved replies, and 2xx answers that are unusable. */
  synchronous?: {
    replies: { name: string; reply: CannedReply; expected: Expected<Attempt<ProviderRef> | SubmitDone> }[];
    unusable: unknown[];
  };
  /** The credential, by default `test-credential`, and the part of it that every call sends. */
  credential?: { whole: string; seen: string };
  supports: { find: boolean; cancel: boolean; probe: boolean };
  /** A saved good submit, and poll replies of a job that is still running. */
  submit: CannedReply;
  pending: CannedReply[];
  /** 2xx answers to a submit without a usable reference, beyond those that no family can use. */
  unusableSubmits: unknown[];
  /** 2xx answers to a poll with wrong types or undocumented values. */
  unusablePolls: unknown[];
  /**
   * The saved replies of one poll, in order, and the result. Their prose contains the word `secret-marker`, which must not
   * appear in a `detail`.
   */
  polls: { name: string; replies: CannedReply[]; expected: Expected<PollResult> }[];
  /** Saved refusals of a submit. */
  refusals: { name: string; reply: CannedReply; expected: Expected<Attempt<ProviderRef>> }[];
}

/** Some members of one of the kinds, by value or by matcher. */
type Expected<T> = T extends { kind: string } ? Pick<T, 'kind'> & { [K in keyof T]?: unknown } : never;

/** The result of a request or an output that the provider's policy refused. */
export const byPolicy = { kind: 'refused', code: 'content_policy_violation' } as const;

type MediaAdapter = Adapter & Required<Pick<Adapter, 'submitMedia' | 'pollMedia'>>;
const isMediaAdapter = (adapter: Adapter): adapter is MediaAdapter =>
  'submitMedia' in adapter && 'pollMedia' in adapter;

/** The result of a submit for each sandbox failure, the same for all families (rules "Routing", column Media submit). */
const submitFaults: [string, Partial<Attempt<ProviderRef>>][] = [
  ['transient', { kind: 'transient', errorClass: 'provider_error', status: 503 }],
  ['rate_limit', { kind: 'transient', errorClass: 'rate_limit', status: 429, retryAfterSeconds: 7 }],
  ['refused', { kind: 'refused', errorClass: 'content_policy', code: 'content_policy_violation' }],
  ['flagged', { kind: 'refused', errorClass: 'content_policy', code: 'content_policy_violation' }],
  ['auth', { kind: 'transient', errorClass: 'account', status: 401 }],
  ['forbidden', { kind: 'transient', errorClass: 'forbidden', status: 403 }],
  ['reset', { kind: 'unknown', errorClass: 'interrupted' }],
  ['malformed', { kind: 'unknown', errorClass: 'unreadable', status: 200 }],
  ['empty', { kind: 'unknown', errorClass: 'unreadable', status: 200 }],
  ['huge', { kind: 'unknown', errorClass: 'unreadable', status: 200 }],
];

/** The same for failures that only a time limit ends. Each has its own limit, because on a busy machine any answer may be late. */
const submitPauses: [string, Partial<UpstreamTimeouts>, Partial<Attempt<ProviderRef>>][] = [
  ['hang', { headersMs: 500 }, { kind: 'unknown', errorClass: 'interrupted', timedOut: 'unanswered' }],
  ['stall', { idleBodyMs: 500 }, { kind: 'unknown', errorClass: 'interrupted', timedOut: 'answering' }],
];

const piece = 'x'.repeat(65_536);

const keyOf = (prompt: string): string => `att_${prompt.replaceAll(/\W+/g, '_')}`;

/** 2xx answers that no family can use. */
const neverUsable: readonly unknown[] = [{}, [], null, 'ok'];

/** An operation is stored as JSON and must survive that. */
const stored = (providerRef: ProviderRef): ProviderRef => JSON.parse(JSON.stringify(providerRef)) as ProviderRef;

/** The contract of every media adapter, tested against the sandbox and against saved replies. */
export function mediaAdapterSuite(of: MediaFamily): void {
  describe(`the ${of.family} adapter`, () => {
    let sandbox: Sandbox;
    let replies: ReplyServer;
    const callers: UpstreamCaller[] = [];
    let adapter: MediaAdapter;

    beforeAll(async () => {
      sandbox = await createSandbox();
      replies = await createReplyServer();
      adapter = adapterWith({});
    });
    afterAll(async () => {
      await Promise.all(callers.map((caller) => caller.close()));
      await Promise.all([sandbox.close(), replies.close()]);
    });

    function adapterWith(timeouts: Partial<UpstreamTimeouts>): MediaAdapter {
      const caller = createUpstreamCaller(timeouts);
      callers.push(caller);
      const created = of.create(caller);
      if (!isMediaAdapter(created)) throw new Error('not a media adapter');
      return created;
    }

    const credential = of.credential?.whole ?? 'test-credential';
    const options = (): CallOptions => ({ signal: AbortSignal.timeout(60_000) });
    const inSandbox = (channel = 'sandbox-a'): Upstream => ({
      channelId: channel,
      baseUrl: `${sandbox.url}/${channel}/${of.family}`,
      credential,
    });
    const canned = (): Upstream => ({ channelId: 'canned', baseUrl: replies.url, credential });
    /** Each prompt has its own key, because some providers return the same job for the same key. */
    const requestFor = (prompt: string, type: TaskType = of.polledType): MediaRequest => ({
      type,
      model: of[type]?.model ?? '',
      prompt,
      parameters: of[type]?.parameters ?? {},
      idempotencyKey: keyOf(prompt),
    });
    const submit = (prompt: string, type?: TaskType) =>
      adapter.submitMedia(inSandbox(), requestFor(prompt, type), options());
    const accepted = async (prompt: string, type?: TaskType): Promise<ProviderRef> => {
      const attempt = await submit(prompt, type);
      // A finished submit may also have a reference.
      const providerRef =
        attempt.kind === 'ok' ? attempt.value : attempt.kind === 'done' ? attempt.providerRef : undefined;
      if (!providerRef) throw new Error(`not accepted: ${JSON.stringify(attempt)}`);
      return stored(providerRef);
    };
    const settled = async (providerRef: ProviderRef): Promise<PollResult> => {
      for (let polls = 0; polls < 800; polls += 1) {
        const result = await adapter.pollMedia(inSandbox(), providerRef, options());
        if (result.kind !== 'pending') return result;
        await sleep(25);
      }
      throw new Error('never settled');
    };
    const hits = async (text: string): Promise<{ kind: string; idempotency_key: string | null }[]> => {
      const response = await fetch(`${sandbox.url}/_sandbox/hits?contains=${encodeURIComponent(text)}`);
      return JSON.parse(await response.text()) as { kind: string; idempotency_key: string | null }[];
    };

    const fetched = (url: string) => fetch(url, { headers: adapter.outputHeaders?.(inSandbox()) ?? {} });

    const { image } = of;
    if (image) {
      it('makes an image of the requested size with one submit and returns its URL', async () => {
        const attempt = await submit('suite image [[latency=60]]', 'image');
        const result = attempt.kind === 'ok' ? await settled(stored(attempt.value)) : attempt;
        expect(result).toMatchObject({
          kind: 'done',
          outputs: [{ url: expect.stringMatching(of.synchronous ? /^data:image\/png;base64,/ : /^http:/) }],
        });
        if (result.kind !== 'done') return;
        const bytes = new Uint8Array(await (await fetched(result.outputs[0]?.url ?? '')).arrayBuffer());
        expect(imageSize(bytes)).toMatchObject({ type: 'png', width: image.width, height: image.height });
        const calls = await hits('suite image');
        expect(calls.filter(({ kind }) => kind === 'submit')).toHaveLength(1);
        expect(calls.find(({ kind }) => kind === 'submit')?.idempotency_key).toBe(keyOf('suite image [[latency=60]]'));
        expect(calls.at(-1)?.kind).toBe(of.synchronous ? 'submit' : 'fetch');
      });
    }

    if (of.video) {
      it('makes a clip', async () => {
        const result = await settled(await accepted('suite clip [[latency=20]]', 'video'));
        expect(result.kind).toBe('done');
        if (result.kind !== 'done') return;
        const response = await fetched(result.outputs[0]?.url ?? '');
        expect(response.headers.get('content-type')).toBe('video/mp4');
        const calls = await hits('suite clip');
        expect(calls.filter(({ kind }) => kind === 'submit')).toMatchObject([
          { idempotency_key: keyOf('suite clip [[latency=20]]') },
        ]);
      });
    }

    it('returns every output that the upstream made', async () => {
      const result = await settled(await accepted('suite many [[latency=0 outputs=3]]'));
      expect(result.kind === 'done' && result.outputs).toHaveLength(of.outputsMax ?? 3);
    });

    const { synchronous } = of;
    if (synchronous) {
      describe('with synchronous results', () => {
        const submitImage = (prompt: string, upstream = inSandbox()) =>
          adapter.submitMedia(upstream, requestFor(prompt, 'image'), options());

        it('returns every output that the upstream made', async () => {
          const attempt = await submitImage('suite at once many [[latency=0 outputs=3]]');
          expect(attempt.kind === 'done' && attempt.outputs).toHaveLength(3);
        });

        it.each<[string, Partial<Attempt<ProviderRef>>]>([
          ...submitFaults,
          ['no_output', { kind: 'refused', errorClass: 'content_policy', code: 'content_policy_violation' }],
          ['lost', { kind: 'transient', errorClass: 'unknown_model', status: 404 }],
          ['late_fail', { kind: 'transient', errorClass: 'provider_error', status: 500 }],
        ])('says what a submit came to that met %s', async (word, expected) => {
          expect(await submitImage(`suite at once ${word} [[latency=0 fail=${word}]]`)).toMatchObject(expected);
          expect((await hits(`suite at once ${word} `)).map(({ kind }) => kind)).toEqual(['submit']);
        });

        it.each(submitPauses)('interrupts a submit that meets %s', async (word, timeouts, expected) => {
          const request = requestFor(`suite at once ${word} [[latency=0 fail=${word}]]`, 'image');
          const limits = { ...options(), ...timeouts };
          expect(await adapterWith(timeouts).submitMedia(inSandbox(), request, limits)).toMatchObject(expected);
          expect((await hits(`suite at once ${word} `)).map(({ kind }) => kind)).toEqual(['submit']);
        });

        it.each(synchronous.replies.map((saved) => [saved.name, saved] as const))(
          'reads the saved reply: %s',
          async (_name, saved) => {
            replies.answer(saved.reply);
            const attempt = await submitImage('x', canned());
            expect(attempt).toMatchObject(saved.expected);
            expect('detail' in attempt ? attempt.detail : '').not.toContain('secret-marker');
          },
        );

        it('returns unknown for a submit whose answer has wrong types or is cut off', async () => {
          for (const body of [...neverUsable, ...synchronous.unusable]) {
            replies.answer({ status: 200, body });
            expect(await submitImage('x', canned())).toMatchObject({ kind: 'unknown', errorClass: 'unreadable' });
          }
          replies.answer({ status: 200, text: JSON.stringify(synchronous.replies[0]?.reply.body).slice(0, -9) });
          expect(await submitImage('x', canned())).toMatchObject({ kind: 'unknown', errorClass: 'unreadable' });
        });
      });
    }

    it.each(submitFaults)('says what a submit came to that met %s', async (word, expected) => {
      const prompt = `suite submit ${word} [[fail=${word}]]`;
      expect(await submit(prompt)).toMatchObject(expected);
      expect((await hits(`suite submit ${word} `)).map(({ kind }) => kind)).toEqual(['submit']);
    });

    it.each(submitPauses)('interrupts a submit that meets %s', async (word, timeouts, expected) => {
      const request = requestFor(`suite submit ${word} [[fail=${word}]]`);
      expect(await adapterWith(timeouts).submitMedia(inSandbox(), request, options())).toMatchObject(expected);
      expect((await hits(`suite submit ${word} `)).map(({ kind }) => kind)).toEqual(['submit']);
    });

    it.each<[string, Partial<PollResult>]>([
      ['no_output', { kind: 'refused', code: 'content_policy_violation' }],
      ['never', { kind: 'pending' }],
      ['lost', { kind: 'missing' }],
      ['late_fail', { kind: 'failed' }],
    ])('reports the result of an accepted job: %s', async (word, expected) => {
      const providerRef = await accepted(`suite job [[latency=0 fail=${word}]]`);
      expect(await adapter.pollMedia(inSandbox(), providerRef, options())).toMatchObject(expected);
    });

    it('lets another channel try if nothing was sent', async () => {
      const gone = await createReplyServer();
      await gone.close();
      const attempt = await adapter.submitMedia({ ...canned(), baseUrl: gone.url }, requestFor('x'), options());
      expect(attempt).toMatchObject({ kind: 'transient', errorClass: 'connect' });
    });

    it('never follows a redirect of a submit or a poll', async () => {
      const away: CannedReply = { status: 302, headers: { location: `${sandbox.url}/elsewhere` } };
      replies.answer(away);
      expect(await adapter.submitMedia(canned(), requestFor('x'), options())).toMatchObject({
        kind: 'transient',
        errorClass: 'redirect',
      });
      replies.answer(of.submit);
      const attempt = await adapter.submitMedia(canned(), requestFor('x'), options());
      if (attempt.kind !== 'ok') throw new Error('not accepted');
      replies.answer(away);
      expect(await adapter.pollMedia(canned(), attempt.value, options())).toMatchObject({ kind: 'unclear' });
      expect(replies.received).toHaveLength(1);
    });

    it('returns unknown for a submit whose answer has no usable reference', async () => {
      for (const body of [...neverUsable, ...of.unusableSubmits]) {
        replies.answer({ status: 200, body });
        expect(await adapter.submitMedia(canned(), requestFor('x'), options())).toMatchObject({
          kind: 'unknown',
          errorClass: 'unreadable',
        });
      }
    });

    describe('once a job is accepted', () => {
      let providerRef: ProviderRef;
      beforeAll(async () => {
        replies.answer(of.submit);
        const attempt = await adapter.submitMedia(canned(), requestFor('x'), options());
        if (attempt.kind !== 'ok') throw new Error('not accepted');
        providerRef = attempt.value;
      });
      const poll = () => adapter.pollMedia(canned(), providerRef, options());

      it('returns pending while the upstream works', async () => {
        for (const reply of of.pending) {
          replies.answer(reply);
          expect(await poll()).toMatchObject({ kind: 'pending' });
        }
      });

      it.each<[string, CannedReply]>([
        ['a 500 page', { status: 500, text: '<h1>oops</h1>' }],
        ['a 502 page', { status: 502, text: 'bad gateway' }],
        ['a 429', { status: 429, headers: { 'retry-after': '3' } }],
        ['a 401', { status: 401, body: {} }],
        ['HTML with 200', { status: 200, text: '<html></html>' }],
        ['a truncated body', { status: 200, text: '{"status":"COMP' }],
        ['NaN in JSON', { status: 200, text: '{"status":NaN}' }],
        ['an empty body', { status: 200, text: '' }],
        [
          'a compressed body that was not requested',
          { status: 200, text: 'x', headers: { 'content-encoding': 'gzip' } },
        ],
      ])('returns unclear for %s', async (_name, reply) => {
        replies.answer(reply);
        expect(await poll()).toMatchObject({ kind: 'unclear' });
      });

      it('returns unclear for wrong types and unknown values', async () => {
        for (const body of [...neverUsable, ...of.unusablePolls]) {
          replies.answer({ status: 200, body });
          expect(await poll()).toMatchObject({ kind: 'unclear' });
        }
      });

      it('returns missing for a 404', async () => {
        replies.answer({ status: 404, body: { detail: 'Request not found' } });
        expect(await poll()).toMatchObject({ kind: 'missing' });
      });

      it('ends a poll that hangs or is cut off, and returns unclear', async () => {
        replies.answer((request) => request.socket.destroy());
        expect(await poll()).toMatchObject({ kind: 'unclear' });
        replies.answer(() => undefined);
        const hasty = adapterWith({ headersMs: 500 });
        expect(await hasty.pollMedia(canned(), providerRef, options())).toMatchObject({ kind: 'unclear' });
      });

      it('stops reading an answer that never ends, and returns unclear', async () => {
        let sent = 0;
        let isGone = false;
        replies.answer((_request, response) => {
          response.once('close', () => (isGone = true));
          response.writeHead(200, { 'content-type': 'application/json' }).write('{"status":"');
          const pour = (): void => {
            // A limit, in case the adapter reads without end.
            while (!response.destroyed && (sent += 1) < 2_000) if (!response.write(piece)) return;
          };
          response.on('drain', pour);
          pour();
        });
        expect(await poll()).toMatchObject({ kind: 'unclear' });
        await eventually(() => Promise.resolve(isGone));
        expect(sent * piece.length).toBeLessThan(64_000_000);
      });

      it('ends immediately if its signal has aborted', async () => {
        replies.answer(() => undefined);
        const result = await adapter.pollMedia(canned(), providerRef, { signal: AbortSignal.abort() });
        expect(result).toMatchObject({ kind: 'unclear' });
        expect(replies.received).toHaveLength(0);
      });

      it('sends its credential to the channel only, whatever URLs the replies contain', async () => {
        replies.answer(...of.pending);
        await poll();
        expect(JSON.stringify(replies.received[0]?.headers)).toContain(of.credential?.seen ?? credential);
        expect(replies.received[0]?.headers.host).toBe(new URL(replies.url).host);
      });

      it.each(of.polls.map((saved) => [saved.name, saved] as const))(
        'reads the saved reply: %s',
        async (_name, saved) => {
          replies.answer(...saved.replies);
          const result = await poll();
          expect(result).toMatchObject(saved.expected);
          expect('detail' in result ? result.detail : '').not.toContain('secret-marker');
        },
      );
    });

    it.each(of.refusals.map((saved) => [saved.name, saved] as const))(
      'reads the saved refusal: %s',
      async (_name, saved) => {
        replies.answer(saved.reply);
        const attempt = await adapter.submitMedia(canned(), requestFor('x'), options());
        expect(attempt).toMatchObject(saved.expected);
        expect('detail' in attempt ? attempt.detail : '').not.toContain('secret-marker');
      },
    );

    it('has exactly the optional methods that its family declares', () => {
      expect({
        find: 'findMedia' in adapter,
        cancel: 'cancelMedia' in adapter,
        probe: 'probe' in adapter,
      }).toEqual(of.supports);
    });

    if (of.supports.find) {
      it('finds the job of a submit whose answer was lost, by its key, without a second job', async () => {
        const request = requestFor('suite find [[latency=0]]');
        const submitted = await adapter.submitMedia(inSandbox(), request, options());
        expect(submitted.kind).toBe('ok');
        const found = await adapter.findMedia?.(inSandbox(), request, options());
        expect(found).toEqual(submitted);
        replies.answer({ status: 502, text: 'bad gateway' });
        expect((await adapter.findMedia?.(canned(), request, options()))?.kind).not.toBe('ok');
      });
    }

    if (of.supports.cancel) {
      it('returns stopped only for a job that will certainly not run', async () => {
        for (const running of ['spare', 'stop'] as const) {
          const cancel = (providerRef: ProviderRef, where = inSandbox()) =>
            adapter.cancelMedia?.(where, providerRef, { ...options(), running });
          const queued = await accepted(`suite cancel ${running} [[latency=60000]]`);
          expect(await cancel(queued)).toBe('stopped');
          const done = await accepted('suite cancel done [[latency=0]]');
          expect(await cancel(done)).toBe('not_stopped');
          const lost = await accepted('suite cancel lost [[fail=lost]]');
          expect(await cancel(lost)).toBe('not_stopped');
          replies.answer({ status: 502, text: 'bad gateway' });
          expect(await cancel(queued, canned())).not.toBe('stopped');
          const calls = (await hits(`suite cancel ${running} [`)).map(({ kind }) => kind);
          expect(calls.filter((kind) => kind !== 'poll')).toEqual(['submit', 'cancel']);
        }
      });

      it('leaves a running job alone with spare, so that its results arrive', async () => {
        const createdAt = Date.now();
        const clock = jest.spyOn(Date, 'now').mockReturnValue(createdAt);
        try {
          const providerRef = await accepted('suite spared [[latency=4000]]');
          clock.mockReturnValue(createdAt + 2_100);
          expect(await adapter.cancelMedia?.(inSandbox(), providerRef, { ...options(), running: 'spare' })).toBe(
            'not_stopped',
          );
          clock.mockReturnValue(createdAt + 4_100);
          expect(await settled(providerRef)).toMatchObject({ kind: 'done' });
        } finally {
          clock.mockRestore();
        }
      });
    }

    if (of.supports.probe) {
      it('probes for free: success, no connection and a refused credential', async () => {
        expect(await adapter.probe?.(inSandbox(), options())).toEqual({ kind: 'ok', value: true });
        const gone = await createReplyServer();
        await gone.close();
        expect(await adapter.probe?.({ ...canned(), baseUrl: gone.url }, options())).toMatchObject({
          errorClass: 'connect',
        });
        expect(await adapter.probe?.({ ...inSandbox(), credential: '' }, options())).toMatchObject({
          errorClass: 'account',
        });
      });
    }
  });
}
