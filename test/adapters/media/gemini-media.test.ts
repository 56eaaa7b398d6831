import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createGemini } from '../../../src/adapters/gemini.ts';
import { byPolicy, mediaAdapterSuite } from '../media-adapter-suite.ts';
import { openWire, type Wire } from '../open-wire.ts';
import { savedReplies } from '../saved-replies.ts';

const saved = savedReplies('gemini');

mediaAdapterSuite({
  family: 'gemini',
  create: createGemini,
  image: {
    model: 'gemini-3-pro-image',
    parameters: { imageSize: '1K', aspectRatio: '1:1' },
    width: 1_024,
    height: 1_024,
  },
  video: { model: 'veo-3.1-generate-preview', parameters: { durationSeconds: 8, resolution: '720p' } },
  polledType: 'video',
  supports: { find: false, cancel: false, probe: true },
  submit: saved('operation'),
  pending: [saved('operation'), saved('operation-running')],
  unusableSubmits: [{ name: '' }, { name: `operations/${'x'.repeat(600)}` }, { done: false }],
  unusablePolls: ['done', { done: true, response: { generateVideoResponse: 'x' } }],
  synchronous: {
    replies: [
      {
        name: 'pictures among text',
        reply: saved('images'),
        expected: {
          kind: 'done',
          outputs: [
            { url: expect.stringMatching(/^data:image\/jpeg;base64,iVBOR/), mimeType: 'image/jpeg' },
            { url: expect.stringMatching(/^data:image\/png;base64,iVBOR/), mimeType: 'image/png' },
          ],
        },
      },
      {
        name: 'a draft in the thoughts of a model, which is not a result',
        reply: saved('image-with-sketch'),
        expected: { kind: 'done', outputs: [{ url: expect.stringMatching(/base64,iVBOR/), mimeType: 'image/png' }] },
      },
      { name: 'a withheld picture', reply: saved('image-held-back'), expected: byPolicy },
      { name: 'text only', reply: saved('image-text-only'), expected: { kind: 'transient', errorClass: 'job_failed' } },
      { name: 'a blocked prompt', reply: saved('image-blocked'), expected: byPolicy },
      ...['NO_IMAGE', 'IMAGE_OTHER', 'OTHER'].map((finishReason) => ({
        name: `no image because of ${finishReason}, which is no policy`,
        reply: { status: 200, body: { candidates: [{ finishReason }] } },
        expected: {
          kind: 'transient' as const,
          errorClass: 'job_failed',
          detail: expect.stringContaining(finishReason),
        },
      })),
      {
        name: 'an undocumented finish reason',
        reply: { status: 200, body: { candidates: [{ finishReason: 'TIRED' }] } },
        expected: { kind: 'transient', errorClass: 'job_failed' },
      },
    ],
    unusable: [
      { candidates: 'x' },
      { candidates: [] },
      { candidates: [7] },
      { candidates: [{ content: { parts: [{ inlineData: { data: 5 } }] } }] },
    ],
  },
  polls: [
    {
      name: 'done',
      replies: [saved('operation-done')],
      expected: {
        kind: 'done',
        outputs: [
          {
            url: 'https://generativelanguage.googleapis.com/v1beta/files/iktfpk1syyqu:download?alt=media',
            mimeType: 'video/mp4',
          },
        ],
      },
    },
    { name: 'done, and every clip was filtered', replies: [saved('operation-filtered')], expected: byPolicy },
    { name: 'done without outputs', replies: [saved('operation-empty')], expected: { kind: 'failed' } },
    { name: 'failed at the provider', replies: [saved('operation-failed')], expected: { kind: 'failed' } },
    { name: 'failed by usage guidelines', replies: [saved('operation-guidelines')], expected: byPolicy },
    {
      name: 'failed because of an input',
      replies: [saved('operation-bad-input')],
      expected: { kind: 'refused', code: 'upstream_failed' },
    },
  ],
  refusals: [
    {
      name: 'an invalid key, as a 400',
      reply: saved('key-invalid'),
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'an unsupported region',
      reply: saved('precondition'),
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'an unknown model',
      reply: saved('model-not-found'),
      expected: { kind: 'transient', errorClass: 'unknown_model' },
    },
    {
      name: 'an invalid argument',
      reply: saved('invalid-argument'),
      expected: { kind: 'refused', code: 'upstream_failed', errorClass: 'rejected' },
    },
    {
      name: 'a 500 with other JSON',
      reply: { status: 500, body: { message: 'Internal Server Error' } },
      expected: { kind: 'unknown', errorClass: 'unreadable' },
    },
  ],
});

describe('the Gemini media adapter on the wire', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({
      create: createGemini,
      credential: 'AIza-secret',
      basePath: '/v1beta',
      submitted: saved('operation'),
      defaults: { type: 'image', model: 'banana' },
    });
  });
  afterAll(() => wire.close());

  const picture = { url: 'data:image/png;base64,AAAA' };

  it('requests an image with the key in a header and the input images after the prompt', async () => {
    const { sent, body } = await wire.submit({ image: picture, parameters: { aspectRatio: '16:9' } });
    expect(sent).toMatchObject({
      path: '/v1beta/models/banana:generateContent',
      headers: { 'x-goog-api-key': 'AIza-secret', 'idempotency-key': 'att_1' },
    });
    expect(body).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'a fox' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] }],
      generationConfig: { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { aspectRatio: '16:9' } },
    });
    expect((await wire.submit({})).body).toMatchObject({ generationConfig: { responseModalities: ['TEXT', 'IMAGE'] } });
  });

  it('requests a clip with the first frame apart from the references', async () => {
    const { sent, body } = await wire.submit({
      type: 'video',
      model: 'veo-3.1-generate-preview',
      image: picture,
      referenceImages: [picture],
      parameters: { durationSeconds: 8 },
    });
    expect(sent.path).toBe('/v1beta/models/veo-3.1-generate-preview:predictLongRunning');
    expect(body).toEqual({
      instances: [
        {
          prompt: 'a fox',
          image: { bytesBase64Encoded: 'AAAA', mimeType: 'image/png' },
          referenceImages: [{ image: { bytesBase64Encoded: 'AAAA', mimeType: 'image/png' }, referenceType: 'asset' }],
        },
      ],
      parameters: { durationSeconds: 8 },
    });
  });
});
