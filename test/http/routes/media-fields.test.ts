import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../src/domain/json.ts';
import { startGateway, type Gateway } from '../../support/gateway.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway?.stop());

const onePixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const picture = { model: 'aurora-image-1', prompt: 'a fox' };

interface MediaRoute {
  path: string;
  body: JsonObject;
  /** Where the body has an object of the client, and a field in it that is unknown. */
  nested: { more: JsonObject; path: string } | null;
  /** Values that would change the price or what is made. */
  refused: JsonObject;
}

/** The routes under which clients of other vendors ask for pictures and clips. */
const routes: Record<string, MediaRoute> = {
  'POST /v1/images/generations': {
    path: '/v1/images/generations',
    body: { ...picture, async: true },
    nested: null,
    refused: {
      n: 2,
      quality: 'low',
      background: 'transparent',
      output_format: 'webp',
      stream: true,
      partial_images: 2,
      mask: 'data:image/png;base64,AAAA',
      negative_prompts: null,
      duration: 5,
      first_image: 'https://a.example/a.png',
    },
  },
  'POST /v1/images/edits': {
    path: '/v1/images/edits',
    body: { ...picture, async: true, images: [{ image_url: `data:image/png;base64,${onePixel}` }] },
    nested: {
      more: { images: [{ image_url: `data:image/png;base64,${onePixel}`, never_heard_of: 1 }] },
      path: 'images.0.never_heard_of',
    },
    refused: { n: 2, mask: 'data:image/png;base64,AAAA', quality: 'medium' },
  },
  'POST /v1/videos': {
    path: '/v1/videos',
    body: { model: 'veo-3.1', prompt: 'a boat', seconds: '8' },
    nested: {
      more: { input_reference: { image_url: `data:image/png;base64,${onePixel}`, never_heard_of: 1 } },
      path: 'input_reference.never_heard_of',
    },
    refused: { n: 2, remix_video_id: 'video_1', end_frame: 'https://a.example/a.png', stream: true },
  },
};

/** Unknown fields of requests for pictures and clips, as JSON and as forms: left out and named, refused if they would be missed. */
let apiKey: string;
beforeAll(async () => {
  ({ apiKey } = await gateway.project({ credits: 100_000 }));
});
const authorization = () => ({ authorization: `Bearer ${apiKey}` });
const send = async (path: string, body: JsonObject, headers: Record<string, string> = {}) => {
  const answer = await fetch(gateway.baseUrl + path, {
    method: 'POST',
    headers: { ...authorization(), 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return read(answer);
};
const read = async (answer: Response) => {
  const json = (await answer.json()) as { error?: { param: string; message: string } };
  return { status: answer.status, ignored: answer.headers.get('x-tollgate-ignored'), error: json.error };
};
const unknown = { never_heard_of: { a: 1 }, seed: 7, input_fidelity: 'high', asks_for_nothing: [] };

describe.each(Object.entries(routes))('an unknown field of %s', (name, { path, body, nested, refused }) => {
  it('is left out and named', async () => {
    const { status, ignored } = await send(path, { ...body, ...unknown });
    expect([status < 300, ignored]).toEqual([true, 'never_heard_of, seed, input_fidelity']);
  });

  // OpenAI's generations take no form.
  if (!name.endsWith('generations')) {
    it('is left out and named in a form, too', async () => {
      const form = new FormData();
      for (const [key, value] of Object.entries({ ...body, seed: 7, never_heard_of: 'x' }))
        if (typeof value !== 'object') form.append(key, String(value));
      const png = new Blob([Buffer.from(onePixel, 'base64')], { type: 'image/png' });
      if (name.endsWith('edits')) form.append('image', png, 'a.png');
      const request = { method: 'POST', headers: authorization(), body: form };
      const { status, ignored } = await read(await fetch(gateway.baseUrl + path, request));
      expect([status < 300, ignored]).toEqual([true, 'seed, never_heard_of']);
    });
  }

  it('is refused by its name where the client asks for it', async () => {
    const strictly = { 'x-tollgate-strict': 'true' };
    const { status, error } = await send(path, { ...body, never_heard_of: 1 }, strictly);
    expect([status, error]).toMatchObject([400, { param: 'never_heard_of' }]);
  });

  it.each(Object.entries(refused).filter(([, value]) => value !== null))(
    'is refused by its name if it would be missed: %s',
    async (field, value) => {
      const { status, error } = await send(path, { ...body, [field]: value });
      expect([field, status, error?.param]).toEqual([field, 400, field]);
    },
  );

  if (nested)
    it('is left out inside an object of the request', async () => {
      const { status, ignored } = await send(path, { ...body, ...nested.more });
      expect([status < 300, ignored]).toEqual([true, nested.path]);
    });

  it('does not make two requests with one Idempotency-Key the same', async () => {
    const key = { 'idempotency-key': `fields of ${name}` };
    const sent = { ...body, never_heard_of: 1 };
    expect((await send(path, sent, key)).status).toBeLessThan(300);
    expect((await send(path, { ...body, never_heard_of: 2 }, key)).status).toBe(422);
    expect((await send(path, sent, key)).status).toBeLessThan(300);
  });
});

it('a refusal says what to send instead', async () => {
  const { error } = await send('/v1/images/generations', { ...picture, n: 2 });
  expect(error?.message).toContain('send one request for each picture');
});

describe('an unknown field of a client of Google', () => {
  const contents = [{ role: 'user', parts: [{ text: 'a fox', thoughtSignature: 'x' }] }];
  const generationConfig = { temperature: 1, seed: 7, imageConfig: { personGeneration: 'ALLOW_ALL' } };
  const image = { contents, generationConfig, safetySettings: [{ category: 'A', threshold: 'B' }] };

  it('of pictures by generateContent is left out and named', async () => {
    const { status, ignored } = await send('/v1beta/models/aurora-image-1:generateContent', image);
    expect([status, ignored?.split(', ').sort()]).toEqual([
      200,
      [
        'contents.0.parts.0.thoughtSignature',
        'generationConfig.imageConfig.personGeneration',
        'generationConfig.seed',
        'generationConfig.temperature',
        'safetySettings',
      ],
    ]);
  });

  it('that would make another picture is refused by its name', async () => {
    const systemInstruction = { parts: [{ text: 'draw in blue' }] };
    const more = {
      contents: image.contents.map(({ role }) => ({ role, parts: [{ text: 'a fox' }] })),
      systemInstruction,
    };
    const { status, error } = await send('/v1beta/models/aurora-image-1:generateContent', more);
    expect([status, error?.message]).toEqual([400, expect.stringContaining('systemInstruction')]);
  });

  it('of pictures by predict is left out and named', async () => {
    const parameters = { sampleCount: 1, personGeneration: 'allow_adult', seed: 7 };
    const { status, ignored } = await send('/v1beta/models/aurora-image-1:predict', {
      instances: [{ prompt: 'a fox' }],
      parameters,
    });
    expect([status, ignored]).toEqual([200, 'parameters.personGeneration, parameters.seed']);
  });

  it('is refused on the routes of the specification', async () => {
    expect((await send('/api/v1beta/models/aurora-image-1:generateContent', image)).status).toBe(400);
  });
});

it('predict takes one instance without a list, and PNG or JPEG as the format of pictures', async () => {
  const asking = (mimeType: string) => ({
    instances: { prompt: 'a fox' },
    parameters: { sampleCount: 1, outputOptions: { mimeType } },
  });
  const path = '/models/aurora-image-1:predict';
  for (const mimeType of ['image/png', 'image/jpeg']) {
    const { status, ignored } = await send(`/v1beta${path}`, asking(mimeType));
    expect([status, ignored]).toEqual([200, null]);
  }
  expect((await send(`/v1beta${path}`, asking('image/webp'))).error?.message).toContain(
    'parameters.outputOptions.mimeType',
  );
  expect((await send(`/api/v1beta${path}`, asking('image/png'))).status).toBe(400);
});
