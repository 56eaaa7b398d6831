import type { Interactions } from '@google/genai';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createGemini } from '../../../src/adapters/gemini.ts';
import type { MediaRequest } from '../../../src/adapters/channel.ts';
import { byPolicy, mediaAdapterSuite } from '../media-adapter-suite.ts';
import { openWire, type Wire } from '../open-wire.ts';
import { savedReplies } from '../saved-replies.ts';

const saved = savedReplies('gemini');
type Sent = Interactions.InteractionCreateParams.CreateModelInteractionParamsNonStreaming;

mediaAdapterSuite({
  family: 'gemini',
  create: createGemini,
  video: {
    model: 'gemini-omni-1.1-flash',
    parameters: { duration: '8s', resolution: '720p', aspect_ratio: '16:9' },
  },
  polledType: 'video',
  supports: { find: false, cancel: false, probe: true },
  submit: saved('omni-created'),
  pending: [saved('omni-created'), saved('omni-queued')],
  unusableSubmits: [{ id: '' }, { name: 'a' }],
  unusablePolls: ['completed', { status: 7 }, { status: 'paused' }, { status: 'completed', steps: 'x' }],
  polls: [
    {
      name: 'a clip among thoughts and text',
      replies: [saved('omni-done')],
      expected: {
        kind: 'done',
        outputs: [
          {
            url: 'https://generativelanguage.googleapis.com/v1beta/files/abc123:download?alt=media',
            mimeType: 'video/mp4',
          },
        ],
      },
    },
    {
      name: 'text only, which no word calls a refusal',
      replies: [saved('omni-text-only')],
      expected: { kind: 'failed' },
    },
    { name: 'failed at the provider', replies: [saved('omni-failed')], expected: { kind: 'failed' } },
    { name: 'failed for safety', replies: [saved('omni-failed-safety')], expected: byPolicy },
    { name: 'cancelled', replies: [saved('omni-cancelled')], expected: { kind: 'failed' } },
    { name: 'incomplete', replies: [saved('omni-incomplete')], expected: { kind: 'failed' } },
    { name: 'an unknown interaction, as a 400', replies: [saved('omni-unknown')], expected: { kind: 'missing' } },
  ],
  refusals: [
    { name: 'a blocked prompt', reply: saved('omni-blocked'), expected: byPolicy },
    {
      name: 'an invalid key, as a 400',
      reply: saved('key-invalid'),
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'an invalid argument',
      reply: saved('omni-invalid'),
      expected: { kind: 'refused', code: 'upstream_failed', errorClass: 'rejected' },
    },
    {
      name: 'a 500 with other JSON',
      reply: { status: 500, body: { message: 'Internal Server Error' } },
      expected: { kind: 'unknown', errorClass: 'unreadable' },
    },
  ],
});

describe('the Gemini Omni adapter on the wire', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({
      create: createGemini,
      credential: 'AIza-secret',
      basePath: '/v1beta',
      submitted: saved('omni-created'),
      defaults: { model: 'gemini-omni-1.1-flash' },
    });
  });
  afterAll(() => wire.close());

  const picture = { url: 'data:image/png;base64,AAAA' };

  it('requests a clip in the background, by URI, with the parameters in the response format', async () => {
    const { sent, body } = await wire.submit({ parameters: { duration: '8s', aspect_ratio: '9:16', type: 'text' } });
    expect(sent).toMatchObject({
      method: 'POST',
      path: '/v1beta/interactions',
      headers: { 'x-goog-api-key': 'AIza-secret', 'idempotency-key': 'att_1' },
    });
    expect(body).toEqual({
      model: 'gemini-omni-1.1-flash',
      input: 'a fox',
      background: true,
      response_format: { type: 'video', delivery: 'uri', duration: '8s', aspect_ratio: '9:16' },
    } satisfies Sent);
  });

  it.each<['image_to_video' | 'reference_to_video' | 'edit', Partial<MediaRequest>, 'image' | 'video']>([
    ['image_to_video', { image: picture }, 'image'],
    ['reference_to_video', { referenceImages: [picture] }, 'image'],
    ['edit', { videoUrl: { url: 'data:video/mp4;base64,AAAA' } }, 'video'],
  ])('names the task of an input: %s', async (task, input, type) => {
    expect((await wire.submit(input)).body).toMatchObject({
      input: [
        { type, data: 'AAAA', mime_type: `${type}/${type === 'video' ? 'mp4' : 'png'}` },
        { type: 'text', text: 'a fox' },
      ],
      generation_config: { video_config: { task } },
    } satisfies Partial<Sent>);
  });
});
