import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createUpstreamCaller, type UpstreamCaller } from '../../src/channels/call-upstream.ts';
import type { MediaRequest } from '../../src/channels/channel.ts';
import { createOpenai } from '../../src/channels/openai.ts';
import { mediaAdapterSuite } from './media-adapter-suite.ts';
import { createReplyServer, type CannedReply, type ReplyServer } from './reply-server.ts';

const saved = (name: string) =>
  JSON.parse(readFileSync(new URL(`./fixtures/openai/${name}.json`, import.meta.url), 'utf8')) as CannedReply;
const video = saved('video-queued').body as object;

mediaAdapterSuite({
  family: 'openai',
  create: createOpenai,
  image: { model: 'gpt-image-1', parameters: { size: '1536x1024' }, width: 1536, height: 1024 },
  video: { model: 'sora-2', parameters: { seconds: '8', size: '1280x720' } },
  jobs: 'video',
  outputsMax: 1,
  supports: { find: false, cancel: false, probe: true },
  submit: saved('video-queued'),
  pending: [saved('video-queued'), saved('video-in-progress')],
  secret: 'secret-marker',
  unusableSubmits: [
    {},
    [],
    'ok',
    null,
    { id: 17 },
    { id: '' },
    { id: '../models' },
    { id: 'x'.repeat(600) },
    { status: 'queued' },
  ],
  unusableLooks: [{}, [], null, 'completed', { status: 7 }, { status: 'paused' }, { status: 'COMPLETED' }],
  atOnce: {
    replies: [
      {
        name: 'several pictures in base64',
        reply: saved('images'),
        comesTo: {
          kind: 'done',
          outputs: [
            { url: expect.stringMatching(/^data:image\/webp;base64,iVBOR/), mimeType: 'image/webp' },
            { url: expect.stringMatching(/^data:image\/webp;base64,iVBOR/), mimeType: 'image/webp' },
          ],
        },
      },
      {
        name: 'a picture by its URL',
        reply: saved('images-url'),
        comesTo: { kind: 'done', outputs: [{ url: expect.stringMatching(/^https:\/\/oaidalle/) }] },
      },
      {
        name: 'no picture',
        reply: saved('images-empty'),
        comesTo: { kind: 'refused', code: 'content_policy_violation' },
      },
      {
        name: 'blocked by moderation',
        reply: saved('images-moderation'),
        comesTo: { kind: 'refused', code: 'content_policy_violation', errorClass: 'content_policy', status: 400 },
      },
    ],
    unusable: [{}, [], null, 'x', { data: null }, { data: 'x' }, { data: [{ b64_json: 5 }] }, { data: [7] }],
  },
  looks: [
    {
      name: 'completed: the file is behind the key, on the channel itself',
      replies: [saved('video-completed')],
      comesTo: {
        kind: 'done',
        outputs: [
          {
            url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/videos\/video_68d7512d\w+\/content$/),
            mimeType: 'video/mp4',
          },
        ],
      },
    },
    { name: 'how far it is', replies: [saved('video-in-progress')], comesTo: { kind: 'pending', progress: 33 } },
    { name: 'failed', replies: [saved('video-failed')], comesTo: { kind: 'failed' } },
    {
      name: 'failed by moderation',
      replies: [saved('video-moderated')],
      comesTo: { kind: 'refused', code: 'content_policy_violation' },
    },
    {
      name: "another gateway's word for the end",
      replies: [{ status: 200, body: { ...video, status: 'expired' } }],
      comesTo: { kind: 'failed' },
    },
    {
      name: 'an error of a strange type beside a good status',
      replies: [{ status: 200, body: { ...video, status: 'processing', error: 'secret-marker', progress: 'half' } }],
      comesTo: { kind: 'pending' },
    },
  ],
  refusals: [
    {
      name: 'moderation',
      reply: saved('images-moderation'),
      comesTo: { kind: 'refused', code: 'content_policy_violation', errorClass: 'content_policy' },
    },
    {
      name: 'our quota is used up',
      reply: saved('insufficient-quota'),
      comesTo: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'a parameter nobody knows there',
      reply: saved('unknown-parameter'),
      comesTo: { kind: 'refused', code: 'upstream_failed', errorClass: 'rejected' },
    },
    {
      name: "somebody else's JSON with 500",
      reply: { status: 500, body: { message: 'Internal Server Error' } },
      comesTo: { kind: 'unknown', errorClass: 'unreadable' },
    },
    {
      name: 'an own error with 500',
      reply: { status: 500, body: { error: { message: 'secret-marker', type: 'server_error', code: null } } },
      comesTo: { kind: 'transient', errorClass: 'provider_error' },
    },
  ],
});

describe('what OpenAI is sent', () => {
  let replies: ReplyServer;
  let caller: UpstreamCaller;
  beforeAll(async () => {
    replies = await createReplyServer();
    caller = createUpstreamCaller();
  });
  afterAll(async () => {
    await caller.close();
    await replies.close();
  });

  const sent = async (request: Partial<MediaRequest>) => {
    replies.answer(saved('images'));
    await createOpenai(caller).submitMedia?.(
      { channelId: 'c', baseUrl: `${replies.url}/v1`, credential: 'sk-secret' },
      { type: 'image', model: 'gpt-image-1', prompt: 'a fox', parameters: {}, idempotencyKey: 'att_1', ...request },
      { signal: AbortSignal.timeout(5_000) },
    );
    const [asked] = replies.asked;
    if (!asked) throw new Error('nothing was sent');
    return asked;
  };
  const picture = { url: `data:image/png;base64,${Buffer.from('picture').toString('base64')}` };

  it('is asked for a picture as JSON, and no parameter can replace model or prompt', async () => {
    const asked = await sent({ parameters: { n: 2, prompt: 'another', model: 'dearer' } });
    expect(asked).toMatchObject({
      method: 'POST',
      path: '/v1/images/generations',
      headers: { authorization: 'Bearer sk-secret', 'idempotency-key': 'att_1', 'content-type': 'application/json' },
    });
    expect(JSON.parse(asked.body)).toEqual({ n: 2, model: 'gpt-image-1', prompt: 'a fox' });
  });

  it('is given pictures as files of a form, the fields beside them', async () => {
    const asked = await sent({ image: picture, referenceImages: [picture], parameters: { n: 2 } });
    expect(asked.path).toBe('/v1/images/edits');
    const type = asked.headers['content-type'] ?? '';
    const form = await new Response(asked.body, { headers: { 'content-type': type } }).formData();
    expect([form.get('prompt'), form.get('model'), form.get('n')]).toEqual(['a fox', 'gpt-image-1', '2']);
    const files = form.getAll('image[]');
    expect(files).toHaveLength(2);
    const [file] = files;
    if (!(file instanceof File)) throw new Error('not a file');
    expect([file.type, file.name, await file.text()]).toEqual(['image/png', 'input.png', 'picture']);
  });

  it('is asked for a clip, with the first frame as a file', async () => {
    const plain = await sent({ type: 'video', model: 'sora-2', parameters: { seconds: '8' } });
    expect(plain.path).toBe('/v1/videos');
    expect(JSON.parse(plain.body)).toEqual({ seconds: '8', model: 'sora-2', prompt: 'a fox' });
    const framed = await sent({ type: 'video', model: 'sora-2', parameters: { seconds: '8' }, image: picture });
    const type = framed.headers['content-type'] ?? '';
    const form = await new Response(framed.body, { headers: { 'content-type': type } }).formData();
    expect([form.get('seconds'), form.get('input_reference') instanceof File]).toEqual(['8', true]);
  });
});
