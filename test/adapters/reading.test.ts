import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createUpstreamCaller, type UpstreamCaller } from '../../src/adapters/upstream/call-upstream.ts';
import { parseExactly } from '../../src/adapters/reading/exact-json.ts';
import type { WordTable } from '../../src/adapters/reading/error-words.ts';
import { dashscopeWords } from '../../src/adapters/reading/dashscope-answers.ts';
import { falWords } from '../../src/adapters/reading/fal-answers.ts';
import { geminiErrorWords } from '../../src/adapters/reading/gemini-answers.ts';
import { klingWords } from '../../src/adapters/reading/kling-answers.ts';
import { minimaxWords } from '../../src/adapters/reading/minimax-answers.ts';
import { openaiWords } from '../../src/adapters/reading/openai-answers.ts';
import { replicateWords } from '../../src/adapters/reading/replicate-answers.ts';
import { runwayWords } from '../../src/adapters/reading/runway-answers.ts';
import { seedanceWords } from '../../src/adapters/reading/seedance-answers.ts';
import { problemOf } from '../../src/adapters/reading/problem.ts';
import { shapeOf } from '../../src/adapters/reading/shape.ts';
import { tollgateWords } from '../../src/adapters/reading/tollgate-answers.ts';
import { xaiWords } from '../../src/adapters/reading/xai-answers.ts';
import { createAdapters, type Adapters } from '../../src/adapters/registry.ts';
import { downloadResult } from '../../src/services/tasks/attempt/download-result.ts';
import { createEgress } from '../../src/platform/egress/egress.ts';
import { createReplyServer, type ReplyServer } from './reply-server.ts';

describe('JSON of a provider', () => {
  it.each(['9007199254740993', '12345678901234567890', '-98765432109876543210'])(
    'keeps every digit of an integer above 2^53: %s',
    (digits) => {
      const text = `{"id":${digits},"list":[ ${digits} ],"quoted":"${digits}","small":17,"share":0.25}`;
      expect(parseExactly(text)).toEqual({ id: digits, list: [digits], quoted: digits, small: 17, share: 0.25 });
    },
  );

  it('is described by its keys and types, without a value', () => {
    const json = { code: 0, data: { 'a fox in the rain': 'secret', list: [{ url: 'https://x.test' }, 7], none: null } };
    expect(shapeOf(json)).toBe('{code: number, data: {?: text, list: [{url: text}, …], none: null}}');
  });
});

describe('an id that tries to choose another path', () => {
  let replies: ReplyServer;
  let caller: UpstreamCaller;
  let adapters: Adapters;
  beforeAll(async () => {
    replies = await createReplyServer();
    caller = createUpstreamCaller();
    adapters = createAdapters(caller);
  });
  afterAll(async () => {
    await caller.close();
    await replies.close();
  });

  /** The saved reference of a job, and the segments of the path before its id. */
  const providerRefs: [string, (id: string) => Record<string, string>, string][] = [
    ['fal', (request_id) => ({ app: 'fal-ai/x', request_id }), '/fal-ai/x/requests/'],
    ['replicate', (prediction_id) => ({ prediction_id }), '/predictions/'],
    ['kling', (task_id) => ({ path: '/images/generations', task_id }), '/images/generations/'],
    ['runway', (task_id) => ({ task_id }), '/tasks/'],
    ['seedance', (task_id) => ({ task_id }), '/contents/generations/tasks/'],
    ['minimax', (task_id) => ({ task_id }), '/query/video_generation/'],
    ['dashscope', (task_id) => ({ task_id }), '/tasks/'],
    ['xai', (request_id) => ({ request_id }), '/videos/'],
    ['tollgate', (task_id) => ({ task_id }), '/api/v1/tasks/'],
    ['openai', (video_id) => ({ video_id }), '/videos/'],
    ['gemini', (interaction_id) => ({ interaction_id }), '/interactions/'],
    ['gemini', (id) => ({ name: `models/veo/operations/${id}` }), '/models/veo/operations/'],
  ];
  const ids = [
    '.',
    '..',
    '../../admin',
    '%2f',
    '%2e%2e',
    'a?b=c',
    'a#b',
    'a/b+c==',
    'vid:1~2',
    'käse 1',
    '12345678901234567890',
  ];

  it.each(providerRefs)('reaches the provider as one segment: %s, %#', async (family, providerRefOf, before) => {
    const upstream = { channelId: 'c', baseUrl: `${replies.url}/v1`, credential: 'a:b' };
    for (const id of ids) {
      replies.answer({ status: 404, body: {} });
      await adapters[family]?.pollMedia?.(upstream, providerRefOf(id), { signal: AbortSignal.timeout(60_000) });
      const path = replies.received[0]?.path ?? '';
      expect(path.startsWith(`/v1${before}`)).toBe(true);
      const [segment = '', ...rest] = path.slice(`/v1${before}`.length).split('/');
      expect([decodeURIComponent(segment), rest]).toEqual([id, family === 'fal' ? ['status'] : []]);
      expect(segment).not.toMatch(/^\.+$|[?#]/);
    }
  });
});

describe('an id of dots alone', () => {
  it.each(['.', '..'])('stays one segment of the address from which its clip is downloaded: %j', async (id) => {
    const replies = await createReplyServer();
    const caller = createUpstreamCaller();
    const egress = createEgress({ allowCidrs: [], callbackPorts: [] });
    const upstream = { channelId: 'c', baseUrl: `${replies.url}/v1`, credential: 'a:b' };
    replies.answer({ status: 200, body: { id, status: 'completed' } });
    const call = { signal: AbortSignal.timeout(60_000) };
    const polled = await createAdapters(caller)['openai']?.pollMedia?.(upstream, { video_id: id }, call);
    const url = polled?.kind === 'done' ? (polled.outputs[0]?.url ?? '') : '';
    const source = { url, channelBaseUrl: upstream.baseUrl, channelHeaders: {} };
    await downloadResult({ egress }, source, { timeoutMs: 60_000, maxBytes: 1_000 }, () => Promise.resolve(null));
    expect(replies.received.map(({ path }) => path)).toEqual([
      `/v1/videos/${id.replaceAll('.', '%2E')}`,
      `/v1/videos/${id.replaceAll('.', '%2E')}/content`,
    ]);
    await Promise.all([egress.close(), caller.close(), replies.close()]);
  });
});

describe('the error that a body tells', () => {
  const members = ['error', 'errors', 'err', 'detail'];
  const wells = [
    '',
    'none',
    'None',
    'null',
    '0',
    0,
    200,
    '200',
    'ok',
    'success',
    'false',
    'No',
    'n/a',
    'NA',
    false,
    null,
    [],
    {},
    ['none'],
    [0, ''],
  ];
  it.each(members.flatMap((member) => wells.map((well) => ({ [member]: well }))))('is none in %j', (body) => {
    expect(problemOf(body)).toBeNull();
    expect(problemOf({ id: 'x', code: 0, message: 'ok', ...body })).toBeNull();
  });

  it.each<[object, object]>([
    [{ error: 'It failed.' }, { prose: ['It failed.'] }],
    [{ error: ['none', 'It failed.'] }, { prose: ['It failed.'] }],
    [{ errors: [{ code: 0 }, { code: 'broken' }] }, { codes: ['broken'] }],
    [{ error: 'nonexistent model' }, { prose: ['nonexistent model'] }],
    [{ err: 17 }, { prose: ['17'] }],
    [{ success: false }, { codes: ['unsuccessful'] }],
    [{ code: 200, success: false }, { codes: ['unsuccessful'] }],
    [{ code: 0, success: 'false', message: 'It failed.' }, { prose: ['It failed.'] }],
    [{ code: 200, ok: false, error_code: 1102 }, { codes: ['1102'] }],
    [{ code: 200, error_code: 1102 }, { codes: ['1102'] }],
    [{ code: 1102, success: true }, { codes: ['1102'] }],
    [{ code: 1102, success: 0 }, { codes: ['1102'] }],
    [{ success: 0, message: 'It failed.' }, { prose: ['It failed.'] }],
  ])('is found in %j', (body, expected) => {
    expect(problemOf(body)).toMatchObject(expected);
  });

  it.each([
    { code: 200, success: true, message: 'ok' },
    { code: 0, success: 0 },
    { code: 0, ok: 0, message: 'It went well.' },
    { code: '0', success: '0' },
  ])('is none in a body that says that all went well: %j', (body) => {
    expect(problemOf({ ...body, data: { task_id: 'x' } })).toBeNull();
  });
});

describe('the words of failures', () => {
  const tables: Record<string, WordTable> = {
    dashscopeWords,
    falWords,
    geminiWords: geminiErrorWords,
    klingWords,
    minimaxWords,
    openaiWords,
    replicateWords,
    runwayWords,
    seedanceWords,
    tollgateWords,
    xaiWords,
  };

  it.each(Object.entries(tables))(
    'compare whole codes and whole words of a policy: %s',
    (_name, { codes, phrases }) => {
      for (const code of Object.values(codes).flat())
        if (code instanceof RegExp) expect(code.source).toMatch(/^\^.*\$$/);
      for (const phrase of phrases?.content_policy ?? []) expect(phrase.source).toMatch(/^(?:\\b|\^|\\\()/);
    },
  );
});
