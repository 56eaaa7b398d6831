import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ensureChannel } from '../../packages/dev-stack/src/ensure-channel.ts';
import { testConfig } from '../support/test-config.ts';
import { createSealer } from '../../src/platform/crypto/seal.ts';
import { picture } from '../../packages/sandbox/src/picture.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { projectFolder } from '../support/program.ts';
import { accountOf } from '../support/rows.ts';

let gateway: Gateway;
/** Serves a picture at /picture.png and nothing else. */
let pictures: Server;
/** Enough for every shipped model, whatever its price. */
const startingCredits = 1_000_000_000;
let picturesUrl = '';
const folder = mkdtempSync(join(tmpdir(), 'tollgate-families-'));

beforeAll(async () => {
  const png = await picture({ width: 64, height: 64, seed: 1 });
  pictures = createServer((request, response) => {
    if (request.url !== '/picture.png') return response.writeHead(404).end();
    return response.writeHead(200, { 'content-type': 'image/png' }).end(png);
  });
  await new Promise<void>((resolve) => pictures.listen(0, '127.0.0.1', resolve));
  const address = pictures.address();
  picturesUrl = `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;

  const catalogFolder = join(folder, 'catalog');
  cpSync(join(projectFolder, 'catalog'), catalogFolder, { recursive: true });
  writeFileSync(join(catalogFolder, 'more.yaml'), `models:\n${moreModels}`);
  gateway = await startGateway({
    env: {
      CATALOG_FILE: relative(projectFolder, catalogFolder),
      SUBMIT_AT_ONCE_TIMEOUT_SECONDS: '15',
    },
  });
  // All families except fal serve the shipped models. fal serves the model behind the chained gateway.
  await gateway.database.query(
    'test-groups',
    `update channel set groups = case when adapter = 'fal' then array['inner'] else array_remove(array_remove(groups, 'inner'), 'chain') end`,
  );
  const { apiKey } = await gateway.project({ credits: startingCredits });
  const config = testConfig(gateway.env);
  await ensureChannel(
    { db: gateway.database, sealer: createSealer(config.secrets.masterKeys) },
    {
      name: 'another-gateway',
      adapter: 'tollgate',
      baseUrl: gateway.baseUrl,
      credential: apiKey,
      groups: ['chain'],
      priority: 1,
      weight: 1,
      actor: 'test',
    },
  );
});
afterAll(async () => {
  await gateway.stop();
  await new Promise((resolve) => pictures.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

const run = async (type: 'image' | 'video', body: { model: string; prompt: string; [parameter: string]: unknown }) => {
  const { apiKey, projectId } = await gateway.project({ credits: startingCredits });
  const taskId = await gateway.accept(apiKey, mediaRoutes[type], body);
  const task = await gateway.poll(apiKey, taskId);
  return { task, taskId, account: await accountOf(gateway.database, projectId) };
};
const attemptsOf = (taskId: string) =>
  gateway.database.query<{ operation: unknown; result: unknown; outcome: string; errorClass: string | null }>(
    'test-attempts',
    'select operation, result, outcome, error_class from attempt where request_id = $1 order by n',
    [taskId],
  );

describe('a job of each family', () => {
  it.each([
    ['openai', 'image', 'easel-1', { aspect_ratio: '16:9' }, { width: 1_536, height: 1_024 }],
    ['openai', 'image', 'gpt-image-2.5', { img_size: '2k', aspect_ratio: '16:9' }, { width: 2_560, height: 1_440 }],
    ['openai', 'video', 'reel-1', { duration: 8, aspect_ratio: '9:16' }, { width: 720, height: 1_280, duration: 8 }],
    ['gemini', 'image', 'nano-banana-pro', { img_size: '1k', aspect_ratio: '1:1' }, { width: 1_024, height: 1_024 }],
    ['gemini', 'video', 'gemini-omni-flash', { duration: 10 }, { width: 1_280, height: 720, duration: 10 }],
    ['replicate', 'image', 'flux-1.1-pro', { aspect_ratio: '1:1' }, { width: 1_024, height: 1_024 }],
    ['kling', 'video', 'kling-2.5-turbo', { duration: 10 }, { width: 1_920, height: 1_080, duration: 10 }],
    ['kling', 'video', 'kling-3-standard', { duration: 12, generate_audio: false }, { width: 1_280, height: 720 }],
    ['seedance', 'video', 'seedance-2', { resolution: '480p', aspect_ratio: '1:1' }, { width: 480, height: 480 }],
    ['xai', 'image', 'grok-imagine-image', { aspect_ratio: '1:1' }, { width: 1_024, height: 1_024 }],
    ['xai', 'video', 'grok-imagine-video', { duration: 5, resolution: '480p' }, { height: 480, duration: 5 }],
    ['dashscope', 'video', 'wan-3', { duration: 5, resolution: '720p' }, { width: 1_280, height: 720, duration: 5 }],
    ['minimax', 'video', 'hailuo-3', { duration: 5 }, { height: 768, duration: 5 }],
    ['runway', 'image', 'runway-gen-4-image', { aspect_ratio: '16:9' }, { width: 1_920, height: 1_080 }],
    ['runway', 'video', 'runway-gen-4.5', { duration: 8 }, { width: 1_280, height: 720, duration: 8 }],
    ['tollgate', 'video', 'wan-2.5', { resolution: '480p', aspect_ratio: '1:1' }, { width: 480, height: 480 }],
  ] as const)('is bought once, copied and settled: %s, %s', async (family, type, model, parameters, made) => {
    const prompt = `a fox by ${family} ${model} [[latency=50]]`;
    const { task } = await run(type, { model, prompt, ...parameters });
    expect(task).toMatchObject({ status: 'succeeded', output: [made], credits: { refunded: 0 } });
    expect(await gateway.hits(prompt, 'submit')).toMatchObject([{ family }]);
  });

  it('keeps no picture in a database row', async () => {
    const { task, taskId } = await run('image', { model: 'nano-banana-pro', prompt: 'inline [[latency=0]]' });
    expect(task.status).toBe('succeeded');
    expect(await attemptsOf(taskId)).toEqual([
      { operation: { answered_at_once: true }, result: null, outcome: 'ok', errorClass: null },
    ]);
  });

  it('is refused with 400 if no family with a channel makes it', async () => {
    const { apiKey, projectId } = await gateway.project({ credits: 100 });
    const body = { model: 'reel-1', prompt: 'a fox', duration: 4 };
    const answer = await gateway.create(apiKey, mediaRoutes.video, body);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_value', param: 'duration' } } });
    expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 100, reserved: 0 });
  });

  it('is refused with 400 if the adapter of its only channel would drop an input, also of an unchecked catalog', async () => {
    // fal sends references and kling does not. No channel of fal serves the model.
    await gateway.database.query(
      'test-references',
      `update model set entry = jsonb_set(entry, '{parameters,reference_images}', 'true'),
         private = jsonb_set(private, '{reference_images_max}', '3') where id = 'kling-3'`,
    );
    const { apiKey } = await gateway.project({ credits: startingCredits });
    const mark = randomUUID();
    const url = 'data:image/png;base64,iVBORw0KGgo=';
    const body = { model: 'kling-3', prompt: mark, reference_images: [url, url] };
    const answer = await eventually(async () => {
      const refusal = await gateway.create(apiKey, mediaRoutes.video, body);
      return JSON.stringify(refusal.body).includes('cannot send reference_images') && refusal;
    });
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { code: 'unsupported_parameter', param: 'reference_images' } },
    });
    expect(await gateway.hits(mark)).toEqual([]);
  });
});

describe('a synchronous picture', () => {
  it('fails with content_policy_violation and is refunded if the provider withholds it', async () => {
    const { task, account } = await run('image', { model: 'nano-banana-pro', prompt: 'held back [[fail=no_output]]' });
    expect(task).toMatchObject({ status: 'failed', error: { code: 'content_policy_violation' } });
    expect(account).toEqual({ balance: startingCredits, reserved: 0 });
  });

  it('is bought from the next channel if the first reports a failure', async () => {
    const prompt = 'elsewhere [[latency=0]] [[fail=late_fail times=1]]';
    expect((await run('image', { model: 'nano-banana-pro', prompt })).task.status).toBe('succeeded');
    expect(await gateway.hits('elsewhere', 'submit')).toHaveLength(2);
  });

  it('is not bought again if its worker dies after the submit', async () => {
    const { apiKey, projectId } = await gateway.project({ credits: startingCredits });
    const taskId = await gateway.accept(apiKey, mediaRoutes.image, {
      model: 'nano-banana-pro',
      prompt: 'lost on the way [[fail=hang]]',
    });
    await eventually(async () => (await gateway.hits('lost on the way', 'submit')).length === 1);
    await gateway.kill('worker-1');
    // As if the worker had saved the answer and died before it copied the pictures.
    await gateway.database.query(
      'test-answered',
      `update attempt set operation = '{"answered_at_once":true}', submitted_at = now() where request_id = $1`,
      [taskId],
    );
    await gateway.startWorker();
    expect(await gateway.poll(apiKey, taskId, { secondsMax: 200 })).toMatchObject({
      status: 'failed',
      error: { code: 'upstream_outcome_unknown' },
    });
    expect(await attemptsOf(taskId)).toMatchObject([{ outcome: 'unknown', errorClass: 'job_lost' }]);
    expect(await gateway.hits('lost on the way', 'submit')).toHaveLength(1);
    expect(await accountOf(gateway.database, projectId)).toEqual({ balance: startingCredits, reserved: 0 });
  });
});

describe('an input', () => {
  it('is fetched for a provider that accepts bytes only', async () => {
    const prompt = 'from a picture [[latency=0]]';
    const image = `${picturesUrl}/picture.png`;
    expect((await run('video', { model: 'reel-1', prompt, image })).task.status).toBe('succeeded');
  });

  it('that cannot be fetched fails the task before anything is bought', async () => {
    const prompt = 'from nothing [[latency=0]]';
    const { task, account } = await run('video', { model: 'reel-1', prompt, image: `${picturesUrl}/gone.png` });
    expect(task).toMatchObject({ status: 'failed', error: { code: 'upstream_failed' } });
    expect(await gateway.hits(prompt)).toEqual([]);
    expect(account).toEqual({ balance: startingCredits, reserved: 0 });
  });
});

describe('a submit whose answer is lost', () => {
  it('is repeated with the same key if the provider replays keys', async () => {
    const { task } = await run('video', { model: 'wan-2.5', prompt: 'replayed [[latency=0]] [[fail=reset times=1]]' });
    expect(task.status).toBe('succeeded');
    const keys = (await gateway.hits('replayed', 'submit')).map((hit) => hit.idempotency_key);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  it('is never repeated if the provider cannot report the outcome', async () => {
    const { task, account } = await run('video', { model: 'kling-2.5-turbo', prompt: 'not told [[fail=reset]]' });
    expect(task).toMatchObject({ status: 'failed', error: { code: 'upstream_outcome_unknown' } });
    expect(await gateway.hits('not told', 'submit')).toHaveLength(1);
    expect(account).toEqual({ balance: startingCredits, reserved: 0 });
  });
});

describe('a gateway behind a gateway', () => {
  const chained = (prompt: string, more: object = {}) => ({ model: 'chained-1', prompt, ...more });

  it('makes an image from an input', async () => {
    const image = `data:image/png;base64,${(await picture({ width: 64, height: 64, seed: 2 })).toString('base64')}`;
    const { task } = await run('image', chained('through two [[latency=0]]', { img_size: '2k', image }));
    expect(task).toMatchObject({ status: 'succeeded', output: [{ width: 2_048, height: 2_048 }] });
    expect(await gateway.hits('through two', 'submit')).toMatchObject([{ family: 'fal' }]);
  });

  it('passes the refusal of a request on', async () => {
    const { task } = await run('image', chained('refused behind [[fail=refused]]'));
    expect(task).toMatchObject({ status: 'failed', error: { code: 'content_policy_violation' } });
  });

  it('cancels the job at the last provider of the chain', async () => {
    const { apiKey, projectId } = await gateway.project({ credits: startingCredits });
    const taskId = await gateway.accept(apiKey, mediaRoutes.image, chained('taken back [[fail=never]]'));
    await eventually(async () => (await gateway.hits('taken back', 'poll')).length > 0);
    const answer = await gateway.create(apiKey, `/api/v1/tasks/${taskId}/cancel`, {});
    expect(answer).toMatchObject({ status: 200, body: { status: 'canceled' } });
    expect(await gateway.hits('taken back', 'cancel')).toHaveLength(1);
    expect(await accountOf(gateway.database, projectId)).toEqual({ balance: startingCredits, reserved: 0 });
  });
});

const moreModel = (id: string, upstream: string) => `
  - id: ${id}
    object: model
    type: image
    owned_by: test
    display_name: ${id}
    group: Test
    capability: image
    description: null
    status: active
    pricing:
      unit: request
      credits_per_request: 3
      credits_per_1k_input_tokens: 0
      credits_per_1k_output_tokens: 0
      min_credits_per_request: 3
    parameters:
      prompt: true
      image: true
      img_size: [1k, 2k]
      aspect_ratio: ['1:1', '16:9']
      fields:
        - { key: aspect_ratio, label: Ratio, type: enum, options: ['1:1', '16:9'], default: '1:1' }
    private:
${upstream}`;
const reel = `
  - id: reel-1
    type: video
    owned_by: test
    display_name: reel-1
    group: Test
    capability: video
    description: null
    status: active
    pricing:
      credits_per_request: 3
    parameters:
      prompt: true
      image: true
      duration: [4, 8]
      aspect_ratio: ['16:9', '9:16']
      fields:
        - { key: aspect_ratio, label: Ratio, type: enum, options: ['16:9', '9:16'], default: '16:9' }
        - { key: duration, label: Seconds, type: enum, options: [4, 8], default: 8 }
    private:
      groups: [videos]
      upstream:
        fal: { model: fal-ai/reel, cost: { per_request: 1 } }
        openai:
          model: sora-2
          cost: { per_request: 1 }
          only: { duration: [8] }
          parameters:
            aspect_ratio: { name: size, values: { '16:9': 1280x720, '9:16': 720x1280 } }
            duration: { name: seconds, values: { '8': '8' } }
`;
const moreModels = [
  reel,
  moreModel(
    'easel-1',
    `      groups: [images]
      upstream:
        openai:
          model: gpt-image-1
          cost: { per_request: 1 }
          parameters:
            img_size: null
            aspect_ratio: { name: size, values: { '1:1': 1024x1024, '16:9': 1536x1024 } }
`,
  ),
  moreModel(
    'chained-1',
    '      groups: [chain]\n      upstream: { tollgate: { model: inner-1, cost: { per_request: 1 } } }\n',
  ),
  moreModel(
    'inner-1',
    '      groups: [inner]\n      upstream: { fal: { model: fal-ai/inner, cost: { per_request: 1 } } }\n',
  ),
].join('');
