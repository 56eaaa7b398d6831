import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { holdInputs } from '../../../src/services/tasks/attempt/inputs-for-upstream.ts';
import type { Config } from '../../../src/config/load-config.ts';
import { testConfig } from '../../support/test-config.ts';
import { createMemoryBudget } from '../../../src/platform/memory-budget.ts';
import { createEgress } from '../../../src/platform/egress/egress.ts';
import { createFileStore } from '../../../src/platform/files/file-store.ts';
import { createUrlSigner } from '../../../src/platform/crypto/signed-url.ts';
import { newId } from '../../../src/platform/crypto/ids.ts';
import { clip } from '../../../packages/sandbox/src/clip.ts';
import { mediaRoutes } from '../../support/api-client.ts';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';
import { startRecordingUpstream, type RecordingUpstream } from '../../support/recording-upstream.ts';
import { untilCalled } from '../../support/until-called.ts';
import { accountOf, countRows } from '../../support/rows.ts';
import { jpeg, png, webp } from '../../support/pictures.ts';
import { upload, type UploadedFile } from '../../support/upload.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { BOOKS_LAG_SECONDS: '0' } });
});
afterAll(() => gateway?.stop());

let recorder: RecordingUpstream;
let project: TestProject;
let otherProject: TestProject;

/** Tests of input images on their way to the provider. The channels lead nowhere afterwards. */
describe('input images', () => {
  beforeAll(async () => {
    recorder = await startRecordingUpstream(gateway.sandboxUrl);
    await gateway.database.query(
      'test-record-upstream',
      `update channel set base_url = $1 || substring(base_url from length($2) + 1)`,
      [recorder.url, gateway.sandboxUrl],
    );
    [project, otherProject] = await Promise.all([gateway.project({ credits: 10_000 }), gateway.project()]);
    await untilCalled(gateway, () => recorder.calls.length > 0);
  });
  afterAll(async () => {
    await recorder.close();
  });

  describe('an uploaded picture as an input', () => {
    it('can be used for a video: the upstream gets its bytes and the task shows its id', async () => {
      const file = await uploaded(await jpeg());
      const body = { model: 'veo-3.1', prompt: 'let it move', image: file.id };
      const task = await gateway.poll(project.apiKey, await gateway.accept(project.apiKey, mediaRoutes.video, body));
      expect(task).toMatchObject({ status: 'succeeded', input: { image: file.id } });
      expect(task.output?.[0]?.mime_type).toBe('video/mp4');
      expect(submitted('let it move')).toContain((await storedBytes(file)).toString('base64'));
    });

    it('can be named by its URL, even with an invalid signature, and in reference_images', async () => {
      const [first, second, third] = [
        await uploaded(await png(8, 8)),
        await uploaded(await webp()),
        await uploaded(await jpeg()),
      ];
      const taskId = await gateway.accept(project.apiKey, mediaRoutes.image, {
        model: 'aurora-image-1',
        prompt: 'put them together',
        image: first.url,
        reference_images: [second.id, third.url.replace(/signature=.*/, 'signature=old')],
      });
      const task = await gateway.poll(project.apiKey, taskId);
      expect(task).toMatchObject({
        status: 'succeeded',
        input: { image: first.id, reference_images: [second.id, third.id] },
      });
      const body = submitted('put them together');
      for (const file of [first, second, third]) expect(body).toContain(await dataUriOf(file));
    });

    it('can be used on the legacy route', async () => {
      const [first, second] = [await uploaded(await png(9, 9)), await uploaded(await png(7, 7))];
      const answer = await gateway.create(project.apiKey, '/api/v1/api/generate', {
        model: 'aurora-image-1',
        type: 'image',
        prompt: 'the old way',
        images: [first.url, second.id],
      });
      expect(answer.status).toBe(200);
      const task = await gateway.poll(project.apiKey, answer.taskId);
      expect(task).toMatchObject({ status: 'succeeded', input: { image: first.id, reference_images: [second.id] } });
      const body = submitted('the old way');
      for (const file of [first, second]) expect(body).toContain(await dataUriOf(file));
    });

    it('can be the output of an earlier task', async () => {
      const body = { model: 'aurora-image-1', prompt: 'a first draft' };
      const draft = await gateway.poll(project.apiKey, await gateway.accept(project.apiKey, mediaRoutes.image, body));
      const image = draft.output?.[0]?.url ?? '';
      const taskId = await gateway.accept(project.apiKey, mediaRoutes.image, {
        ...body,
        prompt: 'a second draft',
        image,
      });
      expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({
        status: 'succeeded',
        input: { image: expect.stringMatching(/^file_/) },
      });
    });

    it('is kept past the deadline of the task that uses it, and never expires earlier than before', async () => {
      const [short, long] = [await uploaded(await png()), await uploaded(await png())];
      await expireIn(short.id, 600);
      const create = (inputs: object) =>
        gateway.accept(project.apiKey, mediaRoutes.video, { model: 'veo-3.1', prompt: 'hold it', ...inputs });
      const taskIds = [await create({ image: short.id }), await create({ reference_images: [long.id] })];
      // A video's deadline is an hour away; an upload is kept for a day.
      expect(await secondsLeft(short.id)).toBeGreaterThan(3_600);
      expect(await secondsLeft(long.id)).toBeGreaterThan(80_000);
      for (const taskId of taskIds) expect((await gateway.poll(project.apiKey, taskId)).status).toBe('succeeded');
    });

    it("returns 404 for another project's, an unknown, an expired or a deleted file, and holds no credits", async () => {
      const foreign = await uploaded(await png(), otherProject);
      const [expired, deleted, own] = [
        await uploaded(await png()),
        await uploaded(await png()),
        await uploaded(await png()),
      ];
      await expireIn(expired.id, -1);
      await gateway.database.query('test-delete-file', 'update file set deleted_at = clock_timestamp() where id = $1', [
        deleted.id,
      ]);
      const before = await countRows(gateway.database);
      const lost = [foreign, expired, deleted].flatMap(({ id, url }) => [id, url]);
      const unknown = newId('file');
      const data = `data:image/png;base64,${(await png()).toString('base64')}`;
      for (const value of [...lost, unknown, own.url.replace(own.id, unknown), 'file_', 'file_x', `${own.id}0`]) {
        for (const [param, inputs] of [
          ['image', { image: value, reference_images: [data] }],
          ['reference_images', { image: data, reference_images: [own.id, data, value] }],
        ] as const) {
          const body = { model: 'aurora-image-1', prompt: 'not mine', ...inputs };
          const answer = await gateway.create(project.apiKey, mediaRoutes.image, body);
          expect({ value, status: answer.status, error: answer.body['error'] }).toMatchObject({
            value,
            status: 404,
            error: { code: 'file_not_found', param },
          });
        }
      }
      const legacy = { model: 'aurora-image-1', type: 'image', prompt: 'not mine', images: [own.id, foreign.url] };
      const answer = await gateway.create(project.apiKey, '/api/v1/api/generate', legacy);
      expect(answer.status).toBe(404);
      expect(answer.body).toMatchObject({ success: false, error: { code: 'file_not_found' } });
      expect(await countRows(gateway.database)).toEqual(before);
      expect((await accountOf(gateway.database, project.projectId)).reserved).toBe(0);
    });

    it('leaves nothing stored when a later input is refused', async () => {
      const before = await countRows(gateway.database);
      const data = `data:image/png;base64,${(await png()).toString('base64')}`;
      const answer = await gateway.create(project.apiKey, mediaRoutes.image, {
        model: 'aurora-image-1',
        prompt: 'half of it',
        image: data,
        reference_images: [data, 'data:image/png;base64,aGVsbG8='],
      });
      expect(answer).toMatchObject({
        status: 400,
        body: { error: { code: 'invalid_image', param: 'reference_images' } },
      });
      expect(await countRows(gateway.database)).toEqual(before);
    });

    it('must be of the kind that the parameter accepts, both as a file of ours and as a data: URI', async () => {
      const file = await uploaded(await png());
      const film = clip({ width: 64, height: 48, seconds: 1, seed: 1 });
      const before = await countRows(gateway.database);
      for (const [param, value, code] of [
        ['video_url', file.id, 'invalid_url'],
        ['video_url', await dataUriOf(file), 'invalid_url'],
        ['image', `data:image/png;base64,${film.toString('base64')}`, 'invalid_image'],
      ] as const) {
        const model = param === 'image' ? 'veo-3.1' : 'runway-aleph';
        const body = { model, prompt: 'again, at night', [param]: value };
        expect(await gateway.create(project.apiKey, mediaRoutes.video, body)).toMatchObject({
          status: 400,
          body: { error: { code, param } },
        });
      }
      expect(await countRows(gateway.database)).toEqual(before);
      const video_url = `data:video/mp4;base64,${film.toString('base64')}`;
      await gateway.accept(project.apiKey, mediaRoutes.video, { model: 'runway-aleph', prompt: 'by day', video_url });
    });

    it('must not be larger than the limit of the parameter, except for an upload that was accepted before', async () => {
      const [film, picture, sent] = [
        await uploaded(await png()),
        await uploaded(await png()),
        await uploaded(await png()),
      ];
      await changeFile(film.id, { purpose: 'output', mime_type: 'video/mp4', bytes: 50_000_001 });
      await changeFile(picture.id, { purpose: 'output', mime_type: 'image/png', bytes: 10_000_001 });
      await changeFile(sent.id, { purpose: 'upload', mime_type: 'image/png', bytes: 20_000_000 });
      for (const [model, param, value] of [
        ['runway-aleph', 'video_url', film.id],
        ['veo-3.1', 'image', picture.url],
      ] as const) {
        const body = { model, prompt: 'all of it', [param]: value };
        expect(await gateway.create(project.apiKey, mediaRoutes.video, body)).toMatchObject({
          status: 400,
          body: { error: { code: 'invalid_url', param } },
        });
      }
      await gateway.accept(project.apiKey, mediaRoutes.video, {
        model: 'veo-3.1',
        prompt: 'a large one',
        image: sent.id,
      });
    });
  });

  describe('the inputs of an attempt', () => {
    it('include a signed URL only if the provider accepts URLs and PUBLIC_BASE_URL is public https', async () => {
      const file = await uploaded(await png());
      const bytes = await dataUriOf(file);
      const sent = async (publicBaseUrl: string, asBytes: boolean): Promise<string | undefined> => {
        const config = testConfig({ ...gateway.env, PUBLIC_BASE_URL: publicBaseUrl });
        const held = await holdInputs(await inputDeps(config), {
          taskId: newId('task'),
          projectId: project.projectId,
          input: { image: file.id },
          asBytes,
          remainingMs: () => 10_000,
          signal: new AbortController().signal,
        });
        const report = await held?.read();
        return report?.kind === 'ready' ? report.inputs.image?.url : report?.detail;
      };
      const publicUrl = await sent('https://gateway.example', false);
      expect(publicUrl).toMatch(
        new RegExp(`^https://gateway\\.example/files/${file.id}\\?expires=${file.expires_at}&signature=`),
      );
      expect(await sent('https://gateway.example', true)).toBe(bytes);
      for (const hidden of ['http://gateway.example', 'https://127.0.0.1:8080', 'https://gateway.internal', '']) {
        expect(await sent(hidden, false)).toBe(bytes);
      }
    });
  });
});
const uploaded = (body: Buffer, { apiKey } = project): Promise<UploadedFile> =>
  upload({ baseUrl: gateway.baseUrl, apiKey }, body);

const storedBytes = async (file: UploadedFile): Promise<Buffer> => {
  const response = await fetch(file.url, { signal: AbortSignal.timeout(60_000) });
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
};

const dataUriOf = async (file: UploadedFile): Promise<string> =>
  `data:${file.mime_type};base64,${(await storedBytes(file)).toString('base64')}`;

/** The only body with this prompt that the upstream received. */
const submitted = (prompt: string): string => {
  const bodies = recorder.calls.filter(({ body }) => body.includes(prompt)).map(({ body }) => body);
  expect(bodies).toHaveLength(1);
  return bodies[0] ?? '';
};

const secondsLeft = async (fileId: string): Promise<number> => {
  const [row] = await gateway.database.query<{ left: number }>(
    'test-seconds-left',
    'select extract(epoch from expires_at - clock_timestamp())::float8 as left from file where id = $1',
    [fileId],
  );
  return row?.left ?? 0;
};

const expireIn = (fileId: string, seconds: number): Promise<unknown> =>
  gateway.database.query(
    'test-expire-in',
    'update file set expires_at = clock_timestamp() + make_interval(secs => $2) where id = $1',
    [fileId, seconds],
  );

const changeFile = (fileId: string, as: { purpose: string; mime_type: string; bytes: number }): Promise<unknown> =>
  gateway.database.query('test-change-file', 'update file set purpose = $2, mime_type = $3, bytes = $4 where id = $1', [
    fileId,
    as.purpose,
    as.mime_type,
    as.bytes,
  ]);

const inputDeps = async (config: Config) => ({
  config,
  db: gateway.database,
  egress: createEgress({ allowCidrs: [], callbackPorts: [] }),
  files: await createFileStore(config.files),
  inputMemory: createMemoryBudget(config.inputs.bufferedMaxBytes),
  logger: pino({ level: 'silent' }),
  urls: createUrlSigner({ keys: [Buffer.alloc(32, 7)], baseUrl: config.http.publicBaseUrl }),
});
