import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createUpstreamCaller, type UpstreamCaller } from '../../../src/adapters/upstream/call-upstream.ts';
import { createAdapters } from '../../../src/adapters/registry.ts';
import { createReplyServer, type ReplyServer } from '../reply-server.ts';

describe.each([200, 201, 202])('a submit that is answered with %d', (status) => {
  let replies: ReplyServer;
  let caller: UpstreamCaller;
  beforeAll(async () => {
    replies = await createReplyServer();
    caller = createUpstreamCaller();
  });
  afterAll(() => Promise.all([caller.close(), replies.close()]));

  const submit = (family: string, type: 'image' | 'video', body: object) => {
    replies.answer({ status, body });
    const upstream = { channelId: 'c', baseUrl: replies.url, credential: 'a:b' };
    const request = { type, model: 'm', prompt: 'a fox', parameters: {}, idempotencyKey: 'att_1' };
    const options = { signal: AbortSignal.timeout(60_000) };
    return createAdapters(caller)[family]?.submitMedia?.(upstream, request, options);
  };
  const failed = { kind: 'transient', errorClass: 'job_failed' };
  const refused = { kind: 'refused', code: 'content_policy_violation' };

  it.each<[string, 'image' | 'video', object, object]>([
    ['dashscope', 'video', { output: { task_status: 'FAILED' } }, failed],
    ['kling', 'video', { code: 0, data: { task_status: 'failed' } }, failed],
    [
      'kling',
      'image',
      { code: 0, data: { task_status: 'failed', task_status_msg: 'Failure to pass the risk control system' } },
      refused,
    ],
    ['minimax', 'video', { task: { status: 'failed' } }, failed],
    ['openai', 'video', { status: 'failed' }, failed],
    ['openai', 'image', { data: [] }, failed],
    ['replicate', 'video', { status: 'failed' }, failed],
    ['runway', 'video', { status: 'FAILED' }, failed],
    ['runway', 'video', { status: 'FAILED', failureCode: 'SAFETY.INPUT.TEXT' }, refused],
    ['seedance', 'video', { status: 'failed' }, failed],
    ['xai', 'video', { status: 'failed' }, failed],
    ['xai', 'image', { data: [] }, failed],
    ['xai', 'image', { data: [{ respect_moderation: false, url: 'https://a.test/b.png' }] }, refused],
  ])('tells of a failure with that status: %s, %s %j', async (family, type, body, expected) => {
    expect(await submit(family, type, body)).toMatchObject({
      ...expected,
      status,
      detail: expect.stringMatching(new RegExp(`^HTTP ${status}\\b`)),
    });
  });

  const url = 'https://a.test/b.mp4';
  const accepted = { kind: 'ok' };
  const bought = { kind: 'done', outputs: [{ url }] };
  const failedThere = { kind: 'transient', errorClass: 'provider_error' };
  it.each<[string, 'image' | 'video', object, object]>([
    ['dashscope', 'video', { output: { task_id: 'v1' } }, accepted],
    ['dashscope', 'video', { output: { video_url: url } }, bought],
    ['fal', 'video', { request_id: 'v1' }, accepted],
    ['fal', 'video', { video: { url } }, bought],
    ['kling', 'video', { code: 0, data: { task_id: 'v1' } }, accepted],
    ['kling', 'video', { code: 0, data: { video_url: url } }, bought],
    ['minimax', 'video', { task: { task_id: 'v1' } }, accepted],
    ['minimax', 'video', { task: { video_url: url } }, bought],
    ['openai', 'video', { id: 'v1' }, accepted],
    ['openai', 'video', { video_url: url }, bought],
    ['openai', 'image', { data: [{ url }] }, bought],
    ['replicate', 'video', { id: 'v1' }, accepted],
    ['replicate', 'video', { output: [url] }, bought],
    ['replicate', 'video', { id: 'v1', output: [url] }, { ...bought, providerRef: { prediction_id: 'v1' } }],
    ['replicate', 'video', { error: 'It failed.', output: [url] }, failedThere],
    ['replicate', 'video', { id: 'v1', message: 'It failed.' }, failedThere],
    ['replicate', 'video', {}, failedThere],
    ['runway', 'video', { id: 'v1' }, accepted],
    ['runway', 'video', { output: [url] }, bought],
    ['seedance', 'video', { id: 'v1' }, accepted],
    ['seedance', 'video', { content: { video_url: url } }, bought],
    ['tollgate', 'video', { task_id: 'v1' }, accepted],
    ['tollgate', 'video', { output: [{ url }] }, bought],
    ['xai', 'video', { request_id: 'v1' }, accepted],
    ['xai', 'video', { video: { url } }, bought],
    ['xai', 'image', { data: [{ respect_moderation: false, url }] }, refused],
  ])(
    'and success: false is bought nowhere else if it has an id or results: %s, %s %j',
    async (family, type, body, expected) => {
      expect(await submit(family, type, { success: false, ...body })).toMatchObject(expected);
    },
  );
});
