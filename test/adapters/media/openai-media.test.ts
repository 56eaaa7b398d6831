import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import { createOpenai } from '../../../src/adapters/openai.ts';
import { byPolicy, mediaAdapterSuite } from '../media-adapter-suite.ts';
import { openWire, type Wire } from '../open-wire.ts';
import type { ReceivedRequest } from '../reply-server.ts';
import { savedReplies } from '../saved-replies.ts';

const saved = savedReplies('openai');
const video = saved('video-queued').body as object;

mediaAdapterSuite({
  family: 'openai',
  create: createOpenai,
  image: { model: 'gpt-image-2.5-sunburst', parameters: { size: '1536x1024' }, width: 1536, height: 1024 },
  video: { model: 'sora-2', parameters: { seconds: '8', size: '1280x720' } },
  polledType: 'video',
  outputsMax: 1,
  supports: { find: false, cancel: false, probe: true },
  submit: saved('video-queued'),
  pending: [saved('video-queued'), saved('video-in-progress')],
  unusableSubmits: [{ id: '' }, { id: 'x'.repeat(600) }, { status: 'queued' }],
  unusablePolls: ['completed', { status: 7 }, { status: 'paused' }],
  synchronous: {
    replies: [
      {
        name: 'several pictures in base64',
        reply: saved('images'),
        expected: {
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
        expected: { kind: 'done', outputs: [{ url: expect.stringMatching(/^https:\/\/oaidalle/) }] },
      },
      { name: 'no picture', reply: saved('images-empty'), expected: { kind: 'transient', errorClass: 'job_failed' } },
      {
        name: 'blocked by moderation',
        reply: saved('images-moderation'),
        expected: { kind: 'refused', code: 'content_policy_violation', errorClass: 'content_policy', status: 400 },
      },
    ],
    unusable: [{ data: null }, { data: 'x' }, { data: [{ b64_json: 5 }] }, { data: [7] }],
  },
  polls: [
    {
      name: 'completed, with the file on the channel itself',
      replies: [saved('video-completed')],
      expected: {
        kind: 'done',
        outputs: [
          {
            url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/videos\/video_68d7512d\w+\/content$/),
            mimeType: 'video/mp4',
          },
        ],
      },
    },
    { name: 'progress', replies: [saved('video-in-progress')], expected: { kind: 'pending', progress: 33 } },
    { name: 'failed', replies: [saved('video-failed')], expected: { kind: 'failed' } },
    { name: 'failed by moderation', replies: [saved('video-moderated')], expected: byPolicy },
    {
      name: "another gateway's status for a failure",
      replies: [{ status: 200, body: { ...video, status: 'expired' } }],
      expected: { kind: 'failed' },
    },
    {
      name: 'an error of a wrong type with a good status',
      replies: [{ status: 200, body: { ...video, status: 'processing', error: 'secret-marker', progress: 'half' } }],
      expected: { kind: 'pending' },
    },
  ],
  refusals: [
    {
      name: 'moderation',
      reply: saved('images-moderation'),
      expected: { kind: 'refused', code: 'content_policy_violation', errorClass: 'content_policy' },
    },
    {
      name: 'an exhausted quota',
      reply: saved('insufficient-quota'),
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'an unknown parameter',
      reply: saved('unknown-parameter'),
      expected: { kind: 'refused', code: 'upstream_failed', errorClass: 'rejected' },
    },
    {
      name: 'a 500 with other JSON',
      reply: { status: 500, body: { message: 'Internal Server Error' } },
      expected: { kind: 'unknown', errorClass: 'unreadable' },
    },
    {
      name: "a 500 with the provider's error",
      reply: { status: 500, body: { error: { message: 'secret-marker', type: 'server_error', code: null } } },
      expected: { kind: 'transient', errorClass: 'provider_error' },
    },
  ],
});

describe('the OpenAI media adapter on the wire', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({
      create: createOpenai,
      credential: 'sk-secret',
      basePath: '/v1',
      submitted: saved('images'),
      defaults: { type: 'image', model: 'gpt-image-2.5-sunburst' },
    });
  });
  afterAll(() => wire.close());

  const formOf = ({ headers, body }: ReceivedRequest) =>
    new Response(body, { headers: { 'content-type': headers['content-type'] ?? '' } }).formData();
  const picture = { url: `data:image/png;base64,${Buffer.from('picture').toString('base64')}` };

  it('requests an image as JSON, and no parameter can replace model or prompt', async () => {
    const fields = { size: '1536x1024', quality: 'high', output_format: 'png', moderation: 'auto' } as const;
    const parameters = { n: 2, ...fields, prompt: 'another', model: 'dearer' };
    const { sent, body } = await wire.submit({ parameters });
    expect(sent).toMatchObject({
      method: 'POST',
      path: '/v1/images/generations',
      headers: { authorization: 'Bearer sk-secret', 'idempotency-key': 'att_1', 'content-type': 'application/json' },
    });
    expect(body).toEqual({
      n: 2,
      ...fields,
      model: 'gpt-image-2.5-sunburst',
      prompt: 'a fox',
    } satisfies OpenAI.ImageGenerateParamsNonStreaming);
  });

  it('sends input images as files of a form, together with the fields', async () => {
    const { sent } = await wire.submit({ image: picture, referenceImages: [picture], parameters: { n: 2 } });
    expect(sent.path).toBe('/v1/images/edits');
    const form = await formOf(sent);
    expect([form.get('prompt'), form.get('model'), form.get('n')]).toEqual(['a fox', 'gpt-image-2.5-sunburst', '2']);
    const files = form.getAll('image[]');
    expect(files).toHaveLength(2);
    const [file] = files;
    if (!(file instanceof File)) throw new Error('not a file');
    expect([file.type, file.name, await file.text()]).toEqual(['image/png', 'input.png', 'picture']);
  });

  it('requests a clip with the first frame as a file', async () => {
    const plain = await wire.submit({ type: 'video', model: 'sora-2', parameters: { seconds: '8' } });
    expect(plain.sent.path).toBe('/v1/videos');
    expect(plain.body).toEqual({ seconds: '8', model: 'sora-2', prompt: 'a fox' });
    const { sent } = await wire.submit({
      type: 'video',
      model: 'sora-2',
      parameters: { seconds: '8' },
      image: picture,
    });
    const form = await formOf(sent);
    expect([form.get('seconds'), form.get('input_reference') instanceof File]).toEqual(['8', true]);
  });
});
