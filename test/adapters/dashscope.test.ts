import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDashscope } from '../../src/adapters/dashscope.ts';
import { byPolicy, mediaAdapterSuite } from './media-adapter-suite.ts';
import { openWire, type Wire } from './open-wire.ts';
import { savedReplies } from './saved-replies.ts';

const saved = savedReplies('dashscope');

mediaAdapterSuite({
  family: 'dashscope',
  create: createDashscope,
  video: { model: 'wan3.0-video', parameters: { duration: 5, resolution: '720P', ratio: '16:9' } },
  polledType: 'video',
  outputsMax: 1,
  supports: { find: false, cancel: true, probe: true },
  submit: saved('created'),
  pending: [saved('created'), saved('running'), saved('suspended')],
  unusableSubmits: [{ output: {} }, { output: { task_id: '' } }, { request_id: 'a' }],
  unusablePolls: ['SUCCEEDED', { output: { task_status: 7 } }, { output: { task_status: 'RESTING' } }, { output: {} }],
  polls: [
    {
      name: 'succeeded',
      replies: [saved('succeeded')],
      expected: {
        kind: 'done',
        outputs: [{ url: expect.stringMatching(/^https:\/\/dashscope-result/), mimeType: 'video/mp4', duration: 5 }],
      },
    },
    { name: 'succeeded without a clip', replies: [saved('succeeded-empty')], expected: { kind: 'failed' } },
    { name: 'unknown, with status 200', replies: [saved('unknown')], expected: { kind: 'missing' } },
    { name: 'failed at the provider', replies: [saved('failed')], expected: { kind: 'failed' } },
    { name: 'failed by inspection', replies: [saved('failed-inspection')], expected: byPolicy },
    { name: 'failed as an infringement', replies: [saved('failed-infringement')], expected: byPolicy },
    {
      name: 'failed because of an input',
      replies: [saved('failed-parameter')],
      expected: { kind: 'refused', code: 'upstream_failed' },
    },
    { name: 'canceled', replies: [saved('canceled')], expected: { kind: 'failed' } },
  ],
  refusals: [
    { name: 'the inspection of the prompt', reply: saved('inspection'), expected: byPolicy },
    {
      name: 'an account in arrears, as a 400',
      reply: saved('arrears'),
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'a used free quota',
      reply: saved('free-tier'),
      expected: { kind: 'transient', errorClass: 'account' },
    },
    { name: 'throttled', reply: saved('throttled'), expected: { kind: 'transient', errorClass: 'rate_limit' } },
    {
      name: 'an unknown model',
      reply: saved('no-model'),
      expected: { kind: 'transient', errorClass: 'unknown_model' },
    },
    {
      name: 'an invalid parameter',
      reply: saved('invalid'),
      expected: { kind: 'refused', code: 'upstream_failed', errorClass: 'rejected' },
    },
    { name: 'an invalid key', reply: saved('invalid-key'), expected: { kind: 'transient', errorClass: 'account' } },
    { name: 'no access', reply: saved('denied'), expected: { kind: 'transient', errorClass: 'forbidden' } },
    {
      name: "a 500 with the provider's error",
      reply: saved('internal'),
      expected: { kind: 'transient', errorClass: 'provider_error' },
    },
    {
      name: 'a 500 with other JSON',
      reply: { status: 500, body: { error: 'Internal Server Error' } },
      expected: { kind: 'unknown', errorClass: 'unreadable' },
    },
  ],
});

describe('the DashScope adapter on the wire', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({ create: createDashscope, credential: 'sk-secret', submitted: saved('created') });
  });
  afterAll(() => wire.close());

  const first = { url: 'https://x.test/1' };
  const second = { url: 'data:image/png;base64,AAAA' };

  it('has the prompts and all inputs in `input`, and the parameters beside it', async () => {
    const { sent, body, attempt } = await wire.submit({
      model: 'wan3.0-video',
      parameters: { duration: 5, ratio: '16:9', audio: true, negative_prompt: 'blur' },
      image: first,
      referenceImages: [second],
      videoUrl: first,
      audioUrl: first,
    });
    expect(sent).toMatchObject({
      method: 'POST',
      path: '/services/aigc/video-generation/video-synthesis',
      headers: { authorization: 'Bearer sk-secret', 'x-dashscope-async': 'enable', 'idempotency-key': 'att_1' },
    });
    expect(body).toEqual({
      model: 'wan3.0-video',
      input: {
        prompt: 'a fox',
        negative_prompt: 'blur',
        audio_url: first.url,
        media: [
          { type: 'first_frame', url: first.url },
          { type: 'reference_image', url: second.url },
          { type: 'reference_video', url: first.url },
        ],
      },
      parameters: { duration: 5, ratio: '16:9', audio: true },
    });
    expect(attempt).toEqual({ kind: 'ok', value: { task_id: 'a8532587-1111-4222-8333-0c46b17950d1' } });
    expect((await wire.submit({ parameters: {} })).body).toEqual({
      model: 'm',
      input: { prompt: 'a fox' },
      parameters: {},
    });
  });

  it('returns stopped only if the task is canceled after the accepted cancel', async () => {
    const cancel = (...names: string[]) => {
      wire.replies.answer(...names.map((name) => saved(name)));
      return wire.adapter.cancelMedia?.(wire.upstream, { task_id: 'a-1' }, { ...wire.options(), running: 'stop' });
    };
    expect(await cancel('cancel-accepted', 'canceled')).toBe('stopped');
    expect(wire.replies.received.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /tasks/a-1/cancel',
      'GET /tasks/a-1',
    ]);
    expect(await cancel('cancel-refused')).toBe('not_stopped');
    expect(await cancel('cancel-accepted', 'running')).toBe('not_stopped');
    expect(await cancel('cancel-accepted', 'created')).toBe('unclear');
  });
});
