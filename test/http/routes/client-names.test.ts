import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../src/domain/json.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway } from '../../support/gateway.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway?.stop());

/** The routes of a chat: their path and body, and where an answer and an event say the model. */
const chats = {
  'POST /api/v1/chat/completions': openai('/api/v1/chat/completions'),
  'POST /v1/chat/completions': openai('/v1/chat/completions'),
  'POST /v1/messages': {
    path: () => '/v1/messages',
    body: (model: string, prompt: string) => ({
      model,
      max_tokens: 100,
      messages: [{ role: 'user', content: prompt }],
    }),
    field: 'model',
  },
  'POST /v1/responses': {
    path: () => '/v1/responses',
    body: (model: string, prompt: string) => ({ model, input: prompt, max_output_tokens: 100 }),
    field: 'model',
  },
  'POST /v1beta/models/{model}:generateContent': gemini('/v1beta'),
  'POST /v1/models/{model}:generateContent': gemini('/v1'),
  'POST /api/v1beta/models/{model}:generateContent': gemini('/api/v1beta'),
};

function openai(path: string) {
  return {
    path: () => path,
    body: (model: string, prompt: string) => ({
      model,
      max_tokens: 100,
      messages: [{ role: 'user', content: prompt }],
    }),
    field: 'model',
  };
}

function gemini(prefix: string) {
  return {
    path: (model: string, isStream: boolean) =>
      `${prefix}/models/${model}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: (_model: string, prompt: string) => ({
      contents: [{ role: 'user', parts: [{ text: prompt }] }],
      generationConfig: { maxOutputTokens: 100 },
    }),
    field: 'modelVersion',
  };
}

const routes = Object.entries(chats);
/** An alias of a model of each family: what Claude Code, Gemini CLI and opencode ask for when the user names no model. */
const aliases = {
  'claude-opus-5-5': 'claude-opus-5.5',
  'gemini-3.1-pro-preview': 'gemini-3.1-pro',
  'gpt-5.4-nano': 'gpt-5-mini',
};

/** What programs expect of names, of live streams and of pictures, beside what the specification says. */
let apiKey: string;
let projectId: string;
beforeAll(async () => {
  ({ apiKey, projectId } = await gateway.project());
});
const post = (path: string, body: JsonObject, key = apiKey) =>
  fetch(gateway.baseUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const get = async (path: string, key = apiKey, headers: Record<string, string> = {}) => {
  const answer = await fetch(gateway.baseUrl + path, { headers: { authorization: `Bearer ${key}`, ...headers } });
  return { status: answer.status, text: await answer.text() };
};

describe('an alias of a chat model', () => {
  const cases = routes.flatMap(([name, route]) =>
    Object.keys(aliases).flatMap((alias) => [false, true].map((isStream) => ({ name, route, alias, isStream }))),
  );
  it.each(cases)(
    'is taken by $name and named in the answer: $alias, stream $isStream',
    async ({ route, ...options }) => {
      const { alias, isStream } = options;
      const isGemini = route.field === 'modelVersion';
      const body = { ...route.body(alias, 'hello'), ...(isStream && !isGemini && { stream: true }) };
      const answer = await post(route.path(alias, isStream), body);
      const text = await answer.text();
      expect([answer.status, text.slice(0, 300)]).toEqual([200, expect.any(String)]);
      const named = [...text.matchAll(new RegExp(`"${route.field}":"([^"]*)"`, 'g'))].map(([, model]) => model);
      expect(named.length).toBeGreaterThan(0);
      expect(new Set(named)).toEqual(new Set([alias]));
    },
  );

  it.each([
    ['/api/v1/models/claude-opus-5-5', {}, '"id":"claude-opus-5-5"'],
    ['/v1/models/claude-opus-5-5', {}, '"id":"claude-opus-5-5"'],
    ['/v1/models/anthropic%2Fclaude-opus-5.5', {}, '"id":"anthropic/claude-opus-5.5"'],
    ['/v1/models/claude-opus-5-5', { 'anthropic-version': '2023-06-01' }, '"type":"model","id":"claude-opus-5-5"'],
    ['/v1beta/models/gemini-3.1-pro-preview', {}, '"name":"models/gemini-3.1-pro-preview"'],
  ])('is shown by %s %j under that name', async (path, headers, part) => {
    const { status, text } = await get(path, apiKey, headers);
    expect([status, text]).toEqual([200, expect.stringContaining(part)]);
  });

  it('is a place in the list of models of the Anthropic SDK', async () => {
    const headers = { 'anthropic-version': '2023-06-01' };
    const [byAlias, byId] = await Promise.all(
      ['claude-opus-5-5', 'claude-opus-5.5'].map((id) => get(`/v1/models?after_id=${id}`, apiKey, headers)),
    );
    expect(byAlias).toEqual(byId);
  });

  it.each([
    [['claude-opus-5.5'], 200],
    [['claude-opus-5-5'], 200],
    [['anthropic/claude-opus-5.5'], 200],
    [['claude-sonnet-5.5', 'claude-sonnet-5-5'], 403],
  ])('is allowed to a key with the models %j: %i', async (models, status) => {
    const { apiKey: limited } = await gateway.key(projectId, { models });
    for (const model of ['claude-opus-5.5', 'claude-opus-5-5']) {
      const { path, body } = chats['POST /v1/messages'];
      expect([model, (await post(path(), body(model, 'hello'), limited)).status]).toEqual([model, status]);
      expect((await get(`/v1/models/${model}`, limited)).status).toBe(status === 200 ? 200 : 404);
    }
    const list = (await get('/v1/models', limited)).text;
    expect(list.includes('"claude-opus-5.5"')).toBe(status === 200);
  });
});

describe('a streamed chat', () => {
  it.each(routes)('of %s is live under /v1 and /v1beta, and buffered under /api', async (name, route) => {
    const isGemini = route.field === 'modelVersion';
    const body = { ...route.body('gpt-5-mini', 'count [[tokens=12 rate=60]]'), ...(!isGemini && { stream: true }) };
    const isLive = !name.includes(' /api/');
    const answered = async (): Promise<number> => {
      const answer = await post(route.path('gpt-5-mini', true), body);
      const text = await answer.text();
      expect(answer.status).toBe(200);
      const streamHeader = answer.headers.get('x-tollgate-stream');
      if (isLive || !isGemini) expect(streamHeader).toBe(isLive ? 'live' : 'buffered');
      return [...text.matchAll(/"(?:content|text|delta)":"[^"]/g)].length;
    };
    // Pieces that arrive together, because a process paused, become one.
    if (isLive) await eventually(async () => (await answered()) > 5, { what: 'an answer in more than five pieces' });
    else await answered();
  });

  const begunWith = async (model: string, words: string): Promise<unknown> => {
    const { path, body } = chats['POST /v1/messages'];
    const text = await (await post(path(), { ...body(model, words), stream: true })).text();
    const [, usage = '{}'] = /"type":"message_start".*?"usage":(\{.*\})\}\}\n/.exec(text) ?? [];
    return JSON.parse(usage);
  };

  it('tells an estimate of its input tokens in message_start where the provider counts them at the end', async () => {
    const usage = (await begunWith('gpt-5-mini', 'a long question '.repeat(200))) as { input_tokens: number };
    expect(usage.input_tokens).toBeGreaterThan(300);
    expect(usage.input_tokens).toBeLessThan(2_000);
  });

  it('tells what Anthropic counted in message_start, for clients that read no later count', async () => {
    const usage = await begunWith('claude-sonnet-5.5', 'a question [[usage=400,7 cached=40]]');
    expect(usage).toMatchObject({ input_tokens: 360, cache_read_input_tokens: 40, output_tokens: 0 });
  });
});

describe('pictures under /v1/images', () => {
  const request = { model: 'aurora-image-1', prompt: 'a fox' };
  it('answer 202 with the task at once with async: true', async () => {
    const answer = await post('/v1/images/generations', { ...request, async: true });
    const task = (await answer.json()) as { task_id: string };
    expect([answer.status, task]).toMatchObject([202, { task_id: expect.stringMatching(/^task_/), object: 'task' }]);
    expect(answer.headers.get('location')).toBe(`/api/v1/tasks/${task.task_id}`);
    const ended = await gateway.poll(apiKey, task.task_id);
    expect(ended).toMatchObject({ status: 'succeeded', model: 'aurora-image-1' });
  });

  it('answer an edit in a form with 202 too', async () => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ ...request, async: 'true' })) form.append(name, value);
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
      'base64',
    );
    form.append('image', new Blob([png], { type: 'image/png' }), 'a.png');
    const answer = await fetch(`${gateway.baseUrl}/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      body: form,
    });
    const task = (await answer.json()) as { task_id: string };
    expect([answer.status, task]).toMatchObject([202, { object: 'task' }]);
    await gateway.poll(apiKey, task.task_id);
  });

  // OpenAI's DALL·E answers with a URL, and LibreChat, CrewAI and LangChain read only that.
  it.each([
    ['gpt-image-1', 'b64_json'],
    ['dall-e-3', 'url'],
    ['openai/dall-e-3', 'url'],
    ['openai/gpt-image-1', 'b64_json'],
  ])('take the name %s, and answer with %s as its model does', async (model, usual) => {
    const asking = { ...request, model, size: '1024x1536', quality: 'hd' };
    const made = await post('/v1/images/generations', asking);
    expect([made.status, await made.text()]).toEqual([200, expect.stringContaining(`"${usual}":`)]);
    for (const format of ['b64_json', 'url']) {
      const named = await post('/v1/images/generations', { ...asking, response_format: format });
      expect(await named.text()).toContain(`"${format}":`);
    }
    const core = await post('/api/v1/images/generate', { ...request, model });
    expect(core.status).toBe(404);
  });
});

describe('clips under /v1/videos', () => {
  const create = async (body: JsonObject) => {
    const answer = await post('/v1/videos', { prompt: 'a boat', ...body });
    return { status: answer.status, video: (await answer.json()) as JsonObject };
  };

  it.each([
    [
      { model: 'sora-2', seconds: '5' },
      { model: 'kling-3', seconds: '5' },
    ],
    [{ model: 'kling-turbo-10s' }, { model: 'kling-2.5-turbo', seconds: '10' }],
  ])('take the names and presets of %j', async (body, made) => {
    expect(await create(body)).toMatchObject({ status: 200, video: made });
    expect((await post('/api/v1/video/generate', { prompt: 'a boat', model: body.model })).status).toBe(404);
  });

  it.each([
    [{}, { size: '1280x720', seconds: '5' }],
    [{ size: '720x1280' }, { size: '720x1280' }],
    [{ aspect_ratio: '1:1' }, { size: '720x720' }],
  ])('have a size and a length before they are made, though the model has no sizes: %j', async (body, made) => {
    expect(await create({ model: 'kling-3', ...body })).toMatchObject({ status: 200, video: made });
  });
});

describe('the list of models', () => {
  const idsOf = (text: string): string[] => (JSON.parse(text) as { data: { id: string }[] }).data.map(({ id }) => id);

  it('has the first models for a client of OpenAI that sends a limit', async () => {
    const all = idsOf((await get('/v1/models')).text);
    const { status, text } = await get('/v1/models?limit=2');
    expect([status, idsOf(text)]).toEqual([200, all.slice(0, 2)]);
    expect(idsOf((await get('/v1/models?limit=1000')).text)).toEqual(all);
  });

  it('begins with the chat models, with one of which chat-ui and codecompanion.nvim begin', async () => {
    const list = JSON.parse((await get('/v1/models')).text) as { data: { supported_endpoint_types: string[] }[] };
    const isChat = list.data.map(({ supported_endpoint_types: types }) => types.includes('anthropic'));
    expect(isChat).toEqual(isChat.toSorted((one, other) => Number(other) - Number(one)));
    expect(new Set(isChat).size).toBe(2);
    // The route of the specification has the order of the catalog.
    const own = JSON.parse((await get('/api/v1/models')).text) as { data: { type: string }[] };
    expect(own.data[0]).toMatchObject({ type: 'video' });
  });

  it('shows a model by the name with which Claude Code marks a long context', async () => {
    for (const name of ['claude-opus-5.5[1m]', 'claude-opus-5-5[1m]']) {
      const { status, text } = await get(`/v1/models/${encodeURIComponent(name)}`);
      expect([status, JSON.parse(text)]).toMatchObject([200, { id: name, object: 'model' }]);
    }
    expect((await get(`/v1/models/${encodeURIComponent('[1m]')}`)).status).toBe(404);
  });

  it.each(['0', '1001', '-1', 'two'])('refuses the limit %j by its name', async (limit) => {
    const { status, text } = await get(`/v1/models?limit=${limit}`);
    expect([status, JSON.parse(text)]).toMatchObject([400, { error: { param: 'limit' } }]);
  });

  it('takes no limit on the route of the specification', async () => {
    expect((await get('/api/v1/models?limit=2')).status).toBe(400);
  });

  it('has each model once, by its id, and every other name is shown when it is asked for', async () => {
    const all = idsOf((await get('/v1/models')).text);
    for (const alias of ['claude-opus-5-5', 'openai/gpt-image-1', 'dall-e-3']) {
      expect(all).not.toContain(alias);
      const { status, text } = await get(`/v1/models/${encodeURIComponent(alias)}`);
      expect([status, JSON.parse(text)]).toMatchObject([200, { id: alias, object: 'model' }]);
    }
    expect((await get('/api/v1/models/dall-e-3')).status).toBe(404);
  });
});
