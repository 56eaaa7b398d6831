import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createUpstreamCaller, type UpstreamCaller } from '../../src/channels/call-upstream.ts';
import type { MediaRequest } from '../../src/channels/channel.ts';
import { createGemini } from '../../src/channels/gemini.ts';
import { mediaAdapterSuite } from './media-adapter-suite.ts';
import { createReplyServer, type CannedReply, type ReplyServer } from './reply-server.ts';

const saved = (name: string) =>
  JSON.parse(readFileSync(new URL(`./fixtures/gemini/${name}.json`, import.meta.url), 'utf8')) as CannedReply;
const blocked = { kind: 'refused', code: 'content_policy_violation' } as const;

mediaAdapterSuite({
  family: 'gemini',
  create: createGemini,
  image: {
    model: 'gemini-3-pro-image-preview',
    parameters: { imageSize: '1K', aspectRatio: '1:1' },
    width: 1_024,
    height: 1_024,
  },
  video: { model: 'veo-3.1-generate-preview', parameters: { durationSeconds: 8, resolution: '720p' } },
  jobs: 'video',
  supports: { find: false, cancel: false, probe: true },
  submit: saved('operation'),
  pending: [saved('operation'), saved('operation-running')],
  secret: 'secret-marker',
  unusableSubmits: [
    {},
    [],
    'ok',
    null,
    { name: 17 },
    { name: '' },
    { name: 'abc123' },
    { name: '../../admin' },
    { name: 'models/x/operations/../../y' },
    { name: 'https://elsewhere.test/operations/a' },
    { name: `operations/${'x'.repeat(600)}` },
    { done: false },
  ],
  unusableLooks: [{}, [], null, 'done', { name: 7 }, { name: 'operations/a', done: 'true' }, { done: true }],
  atOnce: {
    replies: [
      {
        name: 'pictures among text',
        reply: saved('images'),
        comesTo: {
          kind: 'done',
          outputs: [
            { url: expect.stringMatching(/^data:image\/jpeg;base64,iVBOR/), mimeType: 'image/jpeg' },
            { url: expect.stringMatching(/^data:image\/png;base64,iVBOR/), mimeType: 'image/png' },
          ],
        },
      },
      {
        name: 'a sketch of a thinking model is not the result',
        reply: saved('image-with-sketch'),
        comesTo: { kind: 'done', outputs: [{ url: expect.stringMatching(/base64,iVBOR/), mimeType: 'image/png' }] },
      },
      { name: 'a picture that was held back', reply: saved('image-held-back'), comesTo: blocked },
      { name: 'text only', reply: saved('image-text-only'), comesTo: blocked },
      { name: 'a blocked prompt', reply: saved('image-blocked'), comesTo: blocked },
      {
        name: 'a finish reason that nobody has told us',
        reply: { status: 200, body: { candidates: [{ finishReason: 'TIRED' }] } },
        comesTo: blocked,
      },
    ],
    unusable: [
      {},
      [],
      null,
      'x',
      { candidates: 'x' },
      { candidates: [] },
      { candidates: [7] },
      { candidates: [{ content: { parts: [{ inlineData: { data: 5 } }] } }] },
    ],
  },
  looks: [
    {
      name: 'done',
      replies: [saved('operation-done')],
      comesTo: {
        kind: 'done',
        outputs: [
          {
            url: 'https://generativelanguage.googleapis.com/v1beta/files/iktfpk1syyqu:download?alt=media',
            mimeType: 'video/mp4',
          },
        ],
      },
    },
    { name: 'done, and every clip was filtered', replies: [saved('operation-filtered')], comesTo: blocked },
    { name: 'done without outputs', replies: [saved('operation-empty')], comesTo: blocked },
    { name: 'failed on their side', replies: [saved('operation-failed')], comesTo: { kind: 'failed' } },
    { name: 'failed on usage guidelines', replies: [saved('operation-guidelines')], comesTo: blocked },
    {
      name: 'failed on an input',
      replies: [saved('operation-bad-input')],
      comesTo: { kind: 'refused', code: 'upstream_failed' },
    },
  ],
  refusals: [
    {
      name: 'a bad key, which is a 400 there',
      reply: saved('key-invalid'),
      comesTo: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'a place that is not served',
      reply: saved('precondition'),
      comesTo: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'an unknown model',
      reply: saved('model-not-found'),
      comesTo: { kind: 'transient', errorClass: 'unknown_model' },
    },
    {
      name: 'an argument that is not acceptable',
      reply: saved('invalid-argument'),
      comesTo: { kind: 'refused', code: 'upstream_failed', errorClass: 'rejected' },
    },
    {
      name: "somebody else's JSON with 500",
      reply: { status: 500, body: { message: 'Internal Server Error' } },
      comesTo: { kind: 'unknown', errorClass: 'unreadable' },
    },
  ],
});

describe('what Gemini is sent', () => {
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
    replies.answer(saved('operation'));
    await createGemini(caller).submitMedia?.(
      { channelId: 'c', baseUrl: `${replies.url}/v1beta`, credential: 'AIza-secret' },
      { type: 'image', model: 'banana', prompt: 'a fox', parameters: {}, idempotencyKey: 'att_1', ...request },
      { signal: AbortSignal.timeout(5_000) },
    );
    const [asked] = replies.asked;
    const body: unknown = JSON.parse(asked?.body ?? 'null');
    return { asked, body };
  };
  const picture = { url: 'data:image/png;base64,AAAA' };

  it('is asked for a picture with the key in a header, the pictures behind the prompt', async () => {
    const { asked, body } = await sent({ image: picture, parameters: { aspectRatio: '16:9' } });
    expect(asked).toMatchObject({
      path: '/v1beta/models/banana:generateContent',
      headers: { 'x-goog-api-key': 'AIza-secret', 'idempotency-key': 'att_1' },
    });
    expect(body).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'a fox' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] }],
      generationConfig: { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { aspectRatio: '16:9' } },
    });
    expect((await sent({})).body).toMatchObject({ generationConfig: { responseModalities: ['TEXT', 'IMAGE'] } });
  });

  it('is asked for a clip by its own words, the first frame apart from the references', async () => {
    const { asked, body } = await sent({
      type: 'video',
      model: 'veo-3.1-generate-preview',
      image: picture,
      referenceImages: [picture],
      parameters: { durationSeconds: 8 },
    });
    expect(asked?.path).toBe('/v1beta/models/veo-3.1-generate-preview:predictLongRunning');
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
