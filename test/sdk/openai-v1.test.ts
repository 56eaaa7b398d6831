import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import { generateImage, generateText } from 'ai';
import OpenAI, { toFile } from 'openai';
import { probeBytes } from '../../src/platform/media/probe-media.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { eventually } from '../support/eventually.ts';
import { accountOf } from '../support/rows.ts';
import { runPython, whyNoPython } from './python-client.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { RATE_LIMIT_REST_SECONDS: '12' } });
});
afterAll(() => gateway?.stop());

let project: TestProject;
let client: OpenAI;

const picture = 'aurora-image-1';
const clip = 'veo-3.1';
const onePixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsItjRBObwwi+hcEKLNP1WgQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQELguHpmFpj8NWjwAAAABJRU5ErkJggg==';
const png = (name: string) =>
  toFile(Buffer.from(onePixel.slice(onePixel.indexOf(',') + 1), 'base64'), name, { type: 'image/png' });

/** Tests of the package `openai` with the base URL `/v1`, as its users have it. */
describe('openai under /v1', () => {
  beforeAll(async () => {
    project = await gateway.project({ credits: 100_000 });
    client = new OpenAI({ apiKey: project.apiKey, baseURL: `${gateway.baseUrl}/v1`, maxRetries: 0 });
  });
  afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

  describe('a chat', () => {
    const asking = (text: string) => ({ model: 'gpt-5-mini', messages: [{ role: 'user' as const, content: text }] });

    it('is answered and charged as under /api/v1', async () => {
      const before = await accountOf(gateway.database, project.projectId);
      const { data, response } = await client.chat.completions.create(asking('hello v1')).withResponse();
      expect(data.choices[0]?.message.content).toBe('Sandbox answer to: hello v1');
      expect(response.headers.has('x-tollgate-clamped')).toBe(false);
      const credits = Number(response.headers.get('x-tollgate-credits'));
      expect((await accountOf(gateway.database, project.projectId)).balance).toBe(before.balance - credits);
    });

    it('may ask for one token', async () => {
      const answer = await client.chat.completions.create({ ...asking('one token'), max_tokens: 1 });
      expect(answer.choices[0]?.finish_reason).toBe('length');
      expect(answer.usage?.completion_tokens).toBe(1);
    });

    it.each(['max_tokens', 'max_completion_tokens'])(
      'that asks for more tokens than the model writes gets as many as it writes, and learns so: %s',
      async (field) => {
        const { response } = await client.chat.completions
          .create({ ...asking(`much ${field}`), [field]: 1_000_000 })
          .withResponse();
        expect(response.headers.get('x-tollgate-clamped')).toBe(`${field}=128000`);
      },
    );

    it('is streamed, and clamped as well', async () => {
      const { data, response } = await client.chat.completions
        .create({ ...asking('streamed v1'), max_tokens: 1_000_000, stream: true })
        .withResponse();
      let text = '';
      for await (const chunk of data) text += chunk.choices[0]?.delta.content ?? '';
      expect(text).toBe('Sandbox answer to: streamed v1');
      expect(response.headers.get('x-tollgate-clamped')).toBe('max_tokens=128000');
    });

    it('is refused with the errors that the client knows', async () => {
      await expect(client.chat.completions.create({ ...asking('x'), model: 'gpt-1' })).rejects.toThrow(
        OpenAI.NotFoundError,
      );
      await expect(client.chat.completions.create({ ...asking('x'), max_tokens: 0 })).rejects.toMatchObject({
        status: 400,
        code: 'invalid_value',
        param: 'max_tokens',
      });
      await expect(client.withOptions({ apiKey: 'sk-nobody' }).chat.completions.create(asking('x'))).rejects.toThrow(
        OpenAI.AuthenticationError,
      );
    });

    it('takes the key as x-api-key too, and an Idempotency-Key, whose replay names the clamped length again', async () => {
      const post = (more: object) =>
        fetch(`${gateway.baseUrl}/v1/chat/completions`, {
          method: 'POST',
          headers: {
            'x-api-key': project.apiKey,
            'content-type': 'application/json',
            'idempotency-key': `v1-${JSON.stringify(more)}`,
          },
          body: JSON.stringify({ ...asking('once under v1'), max_tokens: 1_000_000, ...more }),
        });
      for (const more of [{}, { stream: true }]) {
        const first = await post(more);
        // A live stream has not ended with its headers.
        const text = await first.text();
        const again = await post(more);
        const textAgain = await again.text();
        if (!('stream' in more)) expect(textAgain).toBe(text);
        expect(again.headers.get('idempotent-replayed')).toBe('true');
        for (const answer of [first, again]) expect(answer.headers.get('x-tollgate-clamped')).toBe('max_tokens=128000');
      }
      expect(await gateway.hits('once under v1', 'chat')).toHaveLength(2);
    });
  });

  describe('models', () => {
    it('are listed and retrieved as OpenAI shows them', async () => {
      const ids: string[] = [];
      for await (const model of client.models.list()) {
        const { context_length: tokens, ...shown } = model as OpenAI.Model & { context_length: number | null };
        expect(tokens === null || tokens > 0).toBe(true);
        expect(shown).toEqual({
          id: model.id,
          object: 'model',
          created: 0,
          owned_by: expect.any(String),
          supported_endpoint_types: expect.any(Array),
          name: expect.any(String),
          description: expect.any(String),
        });
        ids.push(model.id);
      }
      expect(ids).toEqual(expect.arrayContaining(['gpt-5-mini', picture, clip]));
      expect(await client.models.retrieve(picture)).toMatchObject({ id: picture, object: 'model' });
      await expect(client.models.retrieve('gpt-1')).rejects.toThrow(OpenAI.NotFoundError);
    });

    it('keep their tag until the catalog changes', async () => {
      const ask = (headers: Record<string, string> = {}) =>
        fetch(`${gateway.baseUrl}/v1/models`, { headers: { authorization: `Bearer ${project.apiKey}`, ...headers } });
      const etag = (await ask()).headers.get('etag') ?? '';
      expect((await ask({ 'if-none-match': etag })).status).toBe(304);
      expect((await ask({ 'anthropic-version': '2023-06-01' })).headers.get('etag')).not.toBe(etag);
    });

    it('are listed in pages for the client of Anthropic', async () => {
      const anthropic = new Anthropic({ apiKey: project.apiKey, baseURL: gateway.baseUrl, maxRetries: 0 });
      const ids: string[] = [];
      for await (const model of anthropic.models.list({ limit: 5 })) {
        expect(model).toMatchObject({
          type: 'model',
          display_name: expect.any(String),
          created_at: expect.any(String),
        });
        ids.push(model.id);
      }
      expect(ids).toEqual(expect.arrayContaining(['claude-sonnet-4.5', 'gpt-5-mini']));
      expect(ids).not.toContain(picture);
      expect(new Set(ids).size).toBe(ids.length);
      const [first = '', second = ''] = ids;
      expect((await anthropic.models.list({ before_id: second })).data.map(({ id }) => id)).toEqual([first]);
      expect(await anthropic.models.retrieve(first)).toMatchObject({ id: first, type: 'model' });
      expect(await anthropic.beta.models.retrieve(first)).toMatchObject({ id: first, type: 'model' });
      // LibreChat, LobeChat and n8n read one page.
      const { data: all, has_more: hasMore } = await anthropic.beta.models.list();
      expect([all.map(({ id }) => id), hasMore]).toEqual([ids, false]);
      await expect(anthropic.models.list({ after_id: 'nothing' })).rejects.toMatchObject({ status: 400 });
    });

    it('take no query parameter of another vendor', async () => {
      const ask = (query: string, headers: Record<string, string> = {}) =>
        fetch(`${gateway.baseUrl}/v1/models?${query}`, {
          headers: { authorization: `Bearer ${project.apiKey}`, ...headers },
        });
      expect((await ask('limit=2')).status).toBe(200);
      expect((await ask('pageSize=2')).status).toBe(400);
      expect((await ask('pageSize=2', { 'anthropic-version': '2023-06-01' })).status).toBe(400);
      expect((await ask('limit=2', { 'anthropic-version': '2023-06-01' })).status).toBe(200);
      // LibreChat names its user.
      expect((await ask('user=u1')).status).toBe(200);
      expect((await ask('beta=true')).status).toBe(400);
    });
  });

  describe('pictures', () => {
    it('are generated as base64, and charged', async () => {
      const before = await accountOf(gateway.database, project.projectId);
      const { data, response } = await client.images
        .generate({ model: picture, prompt: 'a fox under v1', size: '1792x1024' })
        .withResponse();
      const bytes = Buffer.from(data.data?.[0]?.b64_json ?? '', 'base64');
      expect(await probeBytes(bytes)).toMatchObject({ mime_type: 'image/png' });
      expect(data).toMatchObject({ created: expect.any(Number), output_format: 'png' });
      expect(data.size).toMatch(/^\d+x\d+$/);
      const credits = Number(response.headers.get('x-tollgate-credits'));
      expect(credits).toBeGreaterThan(0);
      expect((await accountOf(gateway.database, project.projectId)).balance).toBe(before.balance - credits);
    });

    it('are generated as URLs', async () => {
      const { data } = await client.images.generate({ model: picture, prompt: 'a fox', response_format: 'url' });
      const file = await fetch(data?.[0]?.url ?? '', { signal: AbortSignal.timeout(60_000) });
      expect(file.headers.get('content-type')).toBe('image/png');
      expect(data?.[0]?.b64_json).toBeUndefined();
    });

    it('are edited from one file and from several', async () => {
      for (const image of [await png('one.png'), [await png('one.png'), await png('two.png')]]) {
        const made = await client.images.edit({ model: picture, prompt: 'make it snow', image });
        expect(made.data?.[0]?.b64_json).toMatch(/^[\w+/]+=*$/);
      }
      const json = await fetch(`${gateway.baseUrl}/v1/images/edits`, {
        method: 'POST',
        headers: { authorization: `Bearer ${project.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: picture, prompt: 'snow', images: [{ image_url: onePixel }] }),
      });
      expect(json.status).toBe(200);
    });

    it('are refused with the name of the field that the model does not take', async () => {
      const generate = (more: object) =>
        client.images.generate({
          model: picture,
          prompt: 'a fox',
          ...more,
        } as OpenAI.ImageGenerateParamsNonStreaming);
      for (const [more, param] of [
        [{ n: 2 }, 'n'],
        [{ size: '123x4567' }, 'size'],
        [{ quality: 'low' }, 'quality'],
        [{ background: 'transparent' }, 'background'],
        [{ output_format: 'webp' }, 'output_format'],
      ] as const) {
        await expect(generate(more)).rejects.toMatchObject({ status: 400, param });
      }
      const masked = client.images.edit({
        model: picture,
        prompt: 'x',
        image: await png('a.png'),
        mask: await png('m.png'),
      });
      await expect(masked).rejects.toMatchObject({ status: 400, code: 'unsupported_parameter', param: 'mask' });
      const text = await toFile(Buffer.from('no picture'), 'a.png', { type: 'image/png' });
      await expect(client.images.edit({ model: picture, prompt: 'x', image: text })).rejects.toMatchObject({
        status: 400,
        code: 'invalid_image',
        param: 'image',
      });
      await expect(generate({ prompt: '[[fail=refused]]' })).rejects.toMatchObject({
        status: 400,
        code: 'content_policy_violation',
      });
    });

    it('are bought once for an Idempotency-Key', async () => {
      const file = await png('same.png');
      const edit = () =>
        client.images
          .edit(
            { model: picture, prompt: 'once an edit', image: file },
            { headers: { 'idempotency-key': 'edit-once' } },
          )
          .withResponse();
      const first = await edit();
      const again = await edit();
      expect(again.data.data).toEqual(first.data.data);
      expect(again.response.headers.get('idempotent-replayed')).toBe('true');
      expect(await gateway.hits('once an edit', 'submit')).toHaveLength(1);
    });

    it('are made by ai with its OpenAI provider', async () => {
      const openai = createOpenAI({ apiKey: project.apiKey, baseURL: `${gateway.baseUrl}/v1` });
      const { image } = await generateImage({ model: openai.image(picture), prompt: 'a fox', size: '1024x1024' });
      expect(await probeBytes(Buffer.from(image.uint8Array))).toMatchObject({ mime_type: 'image/png' });
      const { text } = await generateText({ model: openai.chat('gpt-5-mini'), prompt: 'hi' });
      expect(text).toBe('Sandbox answer to: hi');
    });
  });

  describe('videos', () => {
    const asking = { model: clip, prompt: 'a boat', seconds: '8', size: '1280x720' } as const;
    const patience = { secondsMax: 120, what: 'the end of a video' };
    /** As the client for Python polls. */
    const finished = (id: string) =>
      eventually(async () => {
        const video = await client.videos.retrieve(id);
        return (video.status === 'completed' || video.status === 'failed') && video;
      }, patience);

    it('are created, polled, and downloaded whole and in ranges', async () => {
      const before = await accountOf(gateway.database, project.projectId);
      const made = await client.videos.create({ ...asking, input_reference: await png('first.png') });
      expect(made).toMatchObject({
        object: 'video',
        model: clip,
        status: 'queued',
        progress: 0,
        seconds: '8',
        size: '1280x720',
        prompt: 'a boat',
        error: null,
        completed_at: null,
        remixed_from_video_id: null,
      });
      const done = await finished(made.id);
      expect(done).toMatchObject({ id: made.id, status: 'completed', progress: 100, error: null });
      expect(done.size).toMatch(/^\d+x\d+$/);
      expect(done.expires_at).toBeGreaterThan(done.completed_at ?? Infinity);
      const task = await gateway.poll(project.apiKey, made.id);
      expect(task.input).toMatchObject({ duration: 8, resolution: '720p', aspect_ratio: '16:9' });
      expect((await accountOf(gateway.database, project.projectId)).balance).toBe(
        before.balance - task.credits.charged,
      );

      const whole = await client.videos.downloadContent(made.id);
      expect(whole.headers.get('content-type')).toBe('video/mp4');
      const bytes = Buffer.from(await whole.arrayBuffer());
      expect(bytes.length).toBe(task.output?.[0]?.bytes);
      // Earlier versions of LiteLLM repeat the id.
      const repeated = { query: { video_id: made.id } };
      expect((await client.videos.downloadContent(made.id, {}, repeated)).status).toBe(200);
      // Programs that are made for other gateways take the clip from the object.
      const { url, video_url: same } = { url: '', video_url: '', ...done };
      expect([same, Buffer.from(await (await fetch(url)).arrayBuffer()).equals(bytes)]).toEqual([url, true]);
      const part = await client.videos.downloadContent(made.id, {}, { headers: { range: 'bytes=4-7' } });
      expect([part.status, Buffer.from(await part.arrayBuffer()).toString()]).toEqual([206, 'ftyp']);

      expect(await client.videos.delete(made.id)).toEqual({ id: made.id, object: 'video.deleted', deleted: true });
      await expect(client.videos.retrieve(made.id)).rejects.toMatchObject({ status: 404 });
      await expect(client.videos.downloadContent(made.id)).rejects.toMatchObject({ status: 404 });
    });

    it('of a failed task have the error of the task and no content', async () => {
      const made = await client.videos.create({ ...asking, prompt: '[[fail=refused]]' });
      expect(await finished(made.id)).toMatchObject({
        status: 'failed',
        error: { code: 'content_policy_violation', message: expect.any(String) },
      });
      await expect(client.videos.downloadContent(made.id)).rejects.toMatchObject({ code: 'file_not_found' });
    });

    it('are listed in pages, the newest or the oldest first, without pictures and other projects', async () => {
      const own = await gateway.project({ credits: 10_000 });
      const mine = client.withOptions({ apiKey: own.apiKey });
      const ids: string[] = [];
      for (let made = 0; made < 3; made += 1) ids.push((await mine.videos.create(asking)).id);
      await mine.images.generate({ model: picture, prompt: 'a fox' });
      const listed = async (order?: 'asc' | 'desc') => {
        const found: string[] = [];
        for await (const { id } of mine.videos.list({ limit: 2, ...(order && { order }) })) found.push(id);
        return found;
      };
      expect(await listed('asc')).toEqual(ids);
      expect(await listed()).toEqual([...ids].reverse());
      await Promise.all(ids.map((id) => gateway.poll(own.apiKey, id)));
      expect(await listed('asc')).toEqual(ids);
      expect(await listed('desc')).toEqual([...ids].reverse());
      const [first = ''] = ids;
      await expect(client.videos.retrieve(first)).rejects.toMatchObject({ status: 404, code: 'task_not_found' });
      await expect(client.videos.list({ after: first })).rejects.toMatchObject({ status: 400, param: 'after' });
    });

    it('are refused with the name of the field', async () => {
      const create = (more: object) => client.videos.create({ ...asking, ...more });
      await expect(create({ seconds: '12' })).rejects.toMatchObject({ status: 400, param: 'seconds' });
      await expect(create({ size: '1024x1792' })).rejects.toMatchObject({ status: 400, param: 'size' });
      await expect(create({ remix: 'x' })).rejects.toMatchObject({ status: 400, param: 'remix' });
      await expect(create({ model: picture })).rejects.toMatchObject({ status: 400, code: 'model_type_mismatch' });
      const text = await toFile(Buffer.from('no picture'), 'a.png', { type: 'image/png' });
      await expect(create({ input_reference: text })).rejects.toMatchObject({
        status: 400,
        param: 'input_reference',
      });
    });
  });

  describe('the openai client for Python', () => {
    const lack = whyNoPython();
    const inPython = lack === null ? it : it.skip;
    inPython('reads models and makes pictures and a video', async () => {
      const seen = await runPython('media.py', {
        base_url: `${gateway.baseUrl}/v1`,
        api_key: project.apiKey,
        chat: 'gpt-5-mini',
        image: picture,
        video: clip,
        png: onePixel.slice(onePixel.indexOf(',') + 1),
      });
      expect(seen).toMatchObject({
        chat: 1,
        models: expect.arrayContaining([picture, clip]),
        model: 'model',
        made: expect.stringMatching(/^[\w+/]+=*$/),
        edited: expect.stringMatching(/^[\w+/]+=*$/),
        video: { object: 'video', status: 'completed', progress: 100, seconds: expect.any(String) },
        bytes: Buffer.from('ftyp').toString('base64'),
        refused: { status: 400, param: 'n', code: 'unsupported_parameter' },
      });
    });
  });
});
