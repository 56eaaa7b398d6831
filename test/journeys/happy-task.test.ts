import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { imageSize } from 'image-size';
import { mediaRoutes, type Task } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { startRecordingUpstream } from '../support/recording-upstream.ts';
import { accountOf, entriesOf } from '../support/rows.ts';
import { spec } from '../spec/spec.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ apis: 2 });
});
afterAll(() => gateway?.stop());

/** Tests of tasks from the create to the download of the result. */
describe('tasks that succeed', () => {
  beforeAll(() => {});
  afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

  describe('a media task', () => {
    it('produces an image whose downloaded bytes match the reported size, dimensions and hash', async () => {
      const { apiKey } = await gateway.project();
      const created = await gateway.create(apiKey, mediaRoutes.image, {
        model: 'aurora-image-1',
        prompt: 'a red fox',
        img_size: '2k',
        aspect_ratio: '16:9',
      });
      expect(created.status).toBe(202);
      expect(created.headers.get('location')).toBe(`/api/v1/tasks/${created.taskId}`);
      expect(created.body).toMatchObject({
        object: 'task',
        type: 'image',
        model: 'aurora-image-1',
        output: null,
        error: null,
      });
      expect(created.body['request_id']).toBe(created.headers.get('x-request-id'));

      const task = await gateway.poll(apiKey, created.taskId);
      expect(task).toMatchObject({
        task_id: created.taskId,
        status: 'succeeded',
        error: null,
        attempts: 1,
        input: { prompt: 'a red fox', img_size: '2k', aspect_ratio: '16:9' },
      });
      const { output, bytes } = await download(task);
      expect(imageSize(bytes)).toMatchObject({ type: 'png', width: output.width, height: output.height });
      expect(output.mime_type).toBe('image/png');
    });

    it('produces a video whose downloaded bytes match the reported size, duration and hash', async () => {
      const { apiKey } = await gateway.project();
      const taskId = await gateway.accept(apiKey, mediaRoutes.video, {
        model: 'kling-2.5-turbo',
        prompt: 'a dancer turns',
      });
      const task = await gateway.poll(apiKey, taskId);
      expect(task).toMatchObject({
        type: 'video',
        status: 'succeeded',
        input: { duration: 5, aspect_ratio: '16:9' },
      });
      const { output, bytes } = await download(task);
      expect(output.mime_type).toBe('video/mp4');
      expect(output.duration).toBeCloseTo(5, 0);
      expect(bytes.subarray(4, 8).toString('latin1')).toBe('ftyp');
    });

    it('charges the quoted and reserved credits once', async () => {
      const { apiKey, projectId } = await gateway.project({ credits: 100 });
      const created = await gateway.create(apiKey, mediaRoutes.image, {
        model: 'aurora-image-1',
        prompt: 'a fox',
        img_size: '4k',
      });
      expect(created.body['credits']).toEqual({ quoted: 16, reserved: 16, charged: 0, refunded: 0 });
      const task = await gateway.poll(apiKey, created.taskId);
      expect(task.credits).toEqual({ quoted: 16, reserved: 16, charged: 16, refunded: 0 });
      expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 84, reserved: 0 });
      expect(await entriesOf(gateway.database, created.taskId)).toEqual({ settle: 1 });
    });

    it('stores every output of the upstream', async () => {
      const { apiKey } = await gateway.project();
      const taskId = await gateway.accept(apiKey, mediaRoutes.image, {
        model: 'aurora-image-1',
        prompt: 'foxes [[outputs=3]]',
      });
      const { output } = await gateway.poll(apiKey, taskId);
      expect(new Set(output?.map(({ sha256 }) => sha256)).size).toBe(3);
    });

    it('serves ranges of an output by its signed URL, and 404 if the signature is changed', async () => {
      const { apiKey } = await gateway.project();
      const taskId = await gateway.accept(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: 'a fox' });
      const { output, bytes } = await download(await gateway.poll(apiKey, taskId));
      const part = await fetch(output.url, { headers: { range: 'bytes=1-3' } });
      expect(part.status).toBe(206);
      expect(Buffer.from(await part.arrayBuffer())).toEqual(bytes.subarray(1, 4));
      expect((await fetch(`${output.url}x`)).status).toBe(404);
    });
  });

  describe('an image as data: URI', () => {
    it('is stored as a file, reaches the upstream as the same bytes, and the task shows only the file id', async () => {
      spec('4.4 image');
      const { apiKey } = await gateway.project();
      const recorder = await startRecordingUpstream(gateway.sandboxUrl);
      try {
        await gateway.database.query(
          'test-record-upstream',
          `update channel set base_url = $1 || substring(base_url from length($2) + 1)`,
          [recorder.url, gateway.sandboxUrl],
        );
        // The worker caches the channels for up to two seconds.
        await eventually(async () => {
          await gateway.poll(
            apiKey,
            await gateway.accept(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: 'a fox' }),
          );
          return recorder.calls.length > 0;
        });
        const taskId = await gateway.accept(apiKey, mediaRoutes.image, {
          model: 'aurora-image-1',
          prompt: 'in watercolour',
          image: `data:image/png;base64,${picture}`,
        });
        const task = await gateway.poll(apiKey, taskId);
        expect(task.status).toBe('succeeded');
        expect(task.input).toMatchObject({ image: expect.stringMatching(/^file_[0-9a-z]{26}$/) });
        const files = await gateway.database.query<{ purpose: string; sha256: string }>(
          'test-input-files',
          'select purpose, sha256 from file where id = $1',
          [task.input?.['image']],
        );
        expect(files).toEqual([{ purpose: 'input', sha256: sha256(Buffer.from(picture, 'base64')) }]);
        const submits = recorder.calls.filter(({ body }) => body.includes('in watercolour'));
        expect(submits).toHaveLength(1);
        expect(submits[0]?.body).toContain(picture);
      } finally {
        await gateway.database.query(
          'test-restore-upstream',
          `update channel set base_url = $2 || substring(base_url from length($1) + 1) where base_url like $1 || '%'`,
          [recorder.url, gateway.sandboxUrl],
        );
        await recorder.close();
      }
    });
  });

  describe('a task', () => {
    it('gets other projects the same 404 as an unknown task', async () => {
      const [owner, otherProject] = [await gateway.project(), await gateway.project()];
      const taskId = await gateway.accept(owner.apiKey, mediaRoutes.image, {
        model: 'aurora-image-1',
        prompt: 'a fox',
      });
      await gateway.poll(owner.apiKey, taskId);
      const foreign = await gateway.get(otherProject.apiKey, `/api/v1/tasks/${taskId}`);
      const unknown = await gateway.get(otherProject.apiKey, `/api/v1/tasks/task_${'0'.repeat(26)}`);
      const nonsense = await gateway.get(otherProject.apiKey, '/api/v1/tasks/nonsense');
      expect(foreign.status).toBe(404);
      expect(foreign.body).toMatchObject({ error: { code: 'task_not_found' } });
      expect([unknown.status, unknown.body]).toEqual([404, foreign.body]);
      expect([nonsense.status, nonsense.body]).toEqual([404, foreign.body]);
    });

    it('is visible to every key of its project', async () => {
      const project = await gateway.project();
      const taskId = await gateway.accept(project.apiKey, mediaRoutes.image, {
        model: 'aurora-image-1',
        prompt: 'a fox',
      });
      const { apiKey } = await gateway.key(project.projectId);
      expect(await gateway.poll(apiKey, taskId)).toMatchObject({ status: 'succeeded' });
    });
  });

  describe('a key with a model allowlist', () => {
    it('lists and uses only the allowed models', async () => {
      const { apiKey, projectId } = await gateway.project({ models: ['flux-1.1-pro'] });
      const list = await gateway.get(apiKey, '/api/v1/models');
      expect(list.body['data']).toEqual([expect.objectContaining({ id: 'flux-1.1-pro' })]);
      expect(await gateway.get(apiKey, '/api/v1/models/aurora-image-1')).toMatchObject({ status: 404 });

      const refused = await gateway.create(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: 'a fox' });
      expect(refused).toMatchObject({ status: 403, body: { error: { code: 'model_not_allowed', param: 'model' } } });
      expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 1_000, reserved: 0 });

      const taskId = await gateway.accept(apiKey, mediaRoutes.image, { model: 'flux-1.1-pro', prompt: 'a teapot' });
      expect(await gateway.poll(apiKey, taskId)).toMatchObject({ status: 'succeeded' });
    });
  });
});
/** Downloads the first output and checks its reported type, size and hash. */
async function download(task: Task) {
  const [output] = task.output ?? [];
  if (!output) throw new Error(`${task.task_id} has no output`);
  const response = await fetch(output.url);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe(output.mime_type);
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(bytes.length).toBe(output.bytes);
  expect(sha256(bytes)).toBe(output.sha256);
  return { output, bytes };
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** 64 by 64 pixels. */
const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsItjRBObwwi+hcEKLNP1WgQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQELguHpmFpj8NWjwAAAABJRU5ErkJggg==';
