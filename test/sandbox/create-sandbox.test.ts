import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { imageSize } from 'image-size';
import { clip } from '../../packages/sandbox/src/clip.ts';
import { createSandbox, type Sandbox } from '../../packages/sandbox/src/create-sandbox.ts';
import { stateOf, type ProviderJobState, type ProviderJob } from '../../packages/sandbox/src/provider-jobs.ts';
import { mediaSize } from '../../packages/sandbox/src/media-size.ts';
import { picture } from '../../packages/sandbox/src/picture.ts';
import { createScripting } from '../../packages/sandbox/src/script.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await createSandbox();
});
afterAll(() => sandbox.close());

const getJson = async <T>(path: string, init?: RequestInit): Promise<T> =>
  JSON.parse(await (await fetch(`${sandbox.url}${path}`, init)).text()) as T;
const submit = (prompt: string, channel = 'sandbox-a', more: object = {}, headers: Record<string, string> = {}) =>
  fetch(`${sandbox.url}/${channel}/fal/fal-ai/flux/dev`, {
    method: 'POST',
    headers: { authorization: 'Key k', ...headers },
    body: JSON.stringify({ prompt, ...more }),
  });
interface Submitted {
  request_id: string;
  status_url: string;
  response_url: string;
  cancel_url: string;
}
const submitted = async (prompt: string, channel?: string, more?: object) =>
  JSON.parse(await (await submit(prompt, channel, more)).text()) as Submitted;
const asKey = { headers: { authorization: 'Key k' } };

describe('a question without instructions', () => {
  const toolOf = async (content: string, names: string[], more: object[] = []) => {
    const answer = await getJson<{ choices: { message: { tool_calls?: { function: { name: string } }[] } }[] }>(
      '/sandbox-a/openai/chat/completions',
      {
        method: 'POST',
        headers: { authorization: 'Bearer k' },
        body: JSON.stringify({
          model: 'gpt-5-mini',
          messages: [{ role: 'user', content }, ...more],
          tools: names.map((name) => ({ type: 'function', function: { name } })),
        }),
      },
    );
    return answer.choices[0]?.message.tool_calls?.[0]?.function.name;
  };
  const call = { id: 'c', type: 'function', function: { name: 'get_weather', arguments: '{}' } };
  const answered = [
    { role: 'assistant', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c', content: 'rain' },
  ];
  const question = "What's the weather like in San Francisco?";
  it.each([
    ['calls the only tool, which it names', question, ['get_weather'], [], 'get_weather'],
    ['calls no tool that it does not name', question, ['get_stock'], [], undefined],
    ['calls none of several tools', question, ['get_weather', 'get_time'], [], undefined],
    ['calls no tool again', question, ['get_weather'], answered, undefined],
    ['with instructions follows them', `${question} [[tokens=2]]`, ['get_weather'], [], undefined],
  ])('%s', async (_what, content, names, more, expected) => {
    expect(await toolOf(content, names, more)).toBe(expected);
  });
});

describe('script words in a prompt', () => {
  const first = (prompt: string, channel = 'sandbox-a') => createScripting().next(prompt, channel);

  it('count only inside double brackets, in any order', () => {
    expect(first('fail=hang latency=5')).toEqual({ toolArguments: '{}' });
    expect(first('a [[ outputs=2   fail=hang latency=5 ]] fox')).toMatchObject({
      fail: 'hang',
      latencyMs: 5,
      outputs: 2,
    });
    expect(first('[[fail=unheard_of odd words = ]] [[latency=x]]')).toEqual({ toolArguments: '{}' });
    expect(first('[[never closed fail=hang')).toEqual({ toolArguments: '{}' });
  });

  it('apply `on` and `times` to their own group only', () => {
    const script = createScripting();
    const prompt = 'x [[fail=transient on=sandbox-a]] [[fail=rate_limit on=sandbox-b times=1]]';
    const fails = ['sandbox-a', 'sandbox-b', 'sandbox-b', 'sandbox-c', 'sandbox-a'].map(
      (on) => script.next(prompt, on).fail,
    );
    expect(fails).toEqual(['transient', 'rate_limit', undefined, undefined, 'transient']);
  });

  it('count the calls of each prompt over all channels, unless `on` names one', () => {
    const script = createScripting();
    const fails = (prompt: string, channels: string[]) => channels.map((on) => script.next(prompt, on).fail ?? 'ok');
    expect(fails('one [[fail=reset times=2]]', ['a', 'b', 'a'])).toEqual(['reset', 'reset', 'ok']);
    expect(fails('two [[fail=reset times=2]]', ['a', 'a', 'a'])).toEqual(['reset', 'reset', 'ok']);
    expect(fails('three [[on=b times=1 fail=reset]]', ['a', 'b', 'b'])).toEqual(['ok', 'reset', 'ok']);
  });

  it('may have arguments with brackets and spaces', () => {
    expect(first('[[tool=find args={"in": [[1], "]]"]} usage=3,4]]')).toMatchObject({
      tool: 'find',
      toolArguments: '{"in": [[1], "]]"]}',
      usage: { input: 3, output: 4 },
    });
    expect(first('[[usage=none]]').usage).toBe('none');
  });
});

describe('outputs', () => {
  it('are PNGs of exactly the requested size', async () => {
    for (const [width, height] of [
      [1, 1],
      [1023, 517],
      [1376, 768],
      [4096, 4096],
    ] as const) {
      expect(imageSize(await picture({ width, height, seed: 3 }))).toMatchObject({ type: 'png', width, height });
    }
  });

  it('are small and generated once', async () => {
    const one = await picture({ width: 2048, height: 2048, seed: 1 });
    expect(one.length).toBeLessThan(100_000);
    expect(await picture({ width: 2048, height: 2048, seed: 1 })).toBe(one);
  });

  it('are clips whose boxes have size and duration, and whose samples are at the offset in the table', () => {
    const bytes = clip({ width: 1920, height: 1080, seconds: 5, seed: 1 });
    const top = boxes(bytes);
    expect(top.map(({ type }) => type)).toEqual(['ftyp', 'moov', 'mdat']);
    const find = (path: string[]) =>
      path.reduce((within, type) => boxes(within).find((box) => box.type === type)?.body ?? Buffer.alloc(0), bytes);
    const mvhd = find(['moov', 'mvhd']);
    expect(mvhd.readUInt32BE(16) / mvhd.readUInt32BE(12)).toBe(5);
    const tkhd = find(['moov', 'trak', 'tkhd']);
    expect([tkhd.readUInt32BE(76) / 65_536, tkhd.readUInt32BE(80) / 65_536]).toEqual([1920, 1080]);
    const stbl = ['moov', 'trak', 'mdia', 'minf', 'stbl'];
    const dataAt = find([...stbl, 'stco']).readUInt32BE(8);
    const stsz = find([...stbl, 'stsz']);
    const sizes = Array.from({ length: stsz.readUInt32BE(8) }, (_, index) => stsz.readUInt32BE(12 + index * 4));
    expect(dataAt + sizes.reduce((sum, size) => sum + size, 0)).toBe(bytes.length);
    expect(bytes.readUInt32BE(dataAt) + 4).toBe(sizes[0]);
    expect(bytes[dataAt + 4]).toBe(0x65);
  });

  it.each<[unknown, unknown, 'image' | 'video', number, number]>([
    [{ width: 640, height: 481 }, undefined, 'image', 640, 481],
    ['landscape_16_9', undefined, 'image', 1024, 576],
    ['1024x1536', undefined, 'image', 1024, 1536],
    ['2K', '1:1', 'image', 2048, 2048],
    ['auto_3K', undefined, 'image', 3072, 3072],
    ['1K', '16:9', 'image', 1360, 768],
    [undefined, undefined, 'image', 1024, 1024],
    ['1080p', '16:9', 'video', 1920, 1080],
    ['1080p', '9:16', 'video', 1080, 1920],
    ['4k', '16:9', 'video', 3840, 2160],
    [undefined, 'auto', 'video', 1280, 720],
    [{ width: 1e9, height: 1e9 }, undefined, 'image', 4096, 4096],
    ['nonsense', '0:0', 'image', 1024, 1024],
  ])('with size %p and aspect ratio %p have the right size (%s)', (size, aspectRatio, type, width, height) => {
    expect(mediaSize({ sizes: [size], aspectRatio }, type)).toEqual({ width, height });
  });
});

describe('a job', () => {
  it.each<[ProviderJob['fate'], ProviderJobState[]]>([
    ['done', ['queued', 'queued', 'running', 'running', 'done', 'done']],
    ['no_output', ['queued', 'queued', 'running', 'running', 'withheld', 'withheld']],
    ['late_fail', ['queued', 'queued', 'running', 'running', 'failed', 'failed']],
    ['never', ['queued', 'queued', 'queued', 'queued', 'queued', 'queued']],
    ['lost', ['queued', 'queued', 'queued', 'queued', 'queued', 'queued']],
  ])('whose fate is %s waits for the first half of its latency and runs for the second', (fate, states) => {
    const providerJob = { fate, createdAt: 1_000, latencyMs: 300 };
    expect([0, 149, 150, 299, 300, 90_000].map((age) => stateOf(providerJob, 1_000 + age))).toEqual(states);
  });
});

describe('the sandbox over HTTP', () => {
  it('reports the states of a job as fal does', async () => {
    const providerJob = await submitted('walk [[latency=300]]');
    const words: string[] = [];
    for (let polls = 0; polls < 100 && words.at(-1) !== 'COMPLETED'; polls += 1) {
      const { status } = JSON.parse(await (await fetch(providerJob.status_url, asKey)).text()) as { status: string };
      if (status !== words.at(-1)) words.push(status);
      await sleep(20);
    }
    // The polls may miss a short state.
    const inOrder = ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED'].filter((word) => words.includes(word));
    expect(words).toEqual(inOrder);
    expect(words.at(-1)).toBe('COMPLETED');
  });

  it('still serves its jobs after a restart', async () => {
    const first = await createSandbox();
    const response = await fetch(`${first.url}/sandbox-a/fal/fal-ai/flux/dev`, {
      method: 'POST',
      headers: { authorization: 'Key k' },
      body: JSON.stringify({ prompt: 'restart [[latency=0]]', image_size: 'square' }),
    });
    const { request_id } = JSON.parse(await response.text()) as Submitted;
    await first.close();
    const result = await getJson<{ images: { url: string }[] }>(
      `/sandbox-a/fal/fal-ai/flux/requests/${request_id}`,
      asKey,
    );
    const bytes = new Uint8Array(await (await fetch(result.images[0]?.url ?? '')).arrayBuffer());
    expect(imageSize(bytes)).toMatchObject({ width: 512, height: 512 });
  });

  it('never puts a prompt into an id', async () => {
    const { request_id } = await submitted('marker-in-prompt');
    expect(request_id).not.toContain('marker');
    expect(Buffer.from(request_id, 'base64').toString()).not.toContain('marker');
  });

  it('lists the calls of a prompt, oldest first, with every call of the job', async () => {
    const providerJob = await submitted('listed [[latency=0]]', 'sandbox-b');
    await submit('another', 'sandbox-b', {}, { 'idempotency-key': 'k1' });
    await fetch(providerJob.status_url, asKey);
    const { images } = JSON.parse(await (await fetch(providerJob.response_url, asKey)).text()) as {
      images: { url: string }[];
    };
    await fetch(images[0]?.url ?? '');
    await fetch(providerJob.cancel_url, { method: 'PUT', ...asKey });
    const hits = await getJson<{ kind: string; channel: string; family: string; at: string }[]>(
      '/_sandbox/hits?contains=listed%20%5B%5B',
    );
    expect(hits.map(({ kind }) => kind)).toEqual(['submit', 'poll', 'poll', 'fetch', 'cancel']);
    expect(hits.every(({ channel, family }) => channel === 'sandbox-b' && family === 'fal')).toBe(true);
    const [other] = await getJson<object[]>('/_sandbox/hits?contains=another');
    expect(other).toEqual({
      channel: 'sandbox-b',
      family: 'fal',
      route: 'POST /fal-ai/flux/dev',
      kind: 'submit',
      idempotency_key: 'k1',
      at: expect.stringMatching(/^\d{4}-/),
    });
  });

  it('cancels a running prediction, as Replicate does, but not a finished one', async () => {
    const asUser = { headers: { authorization: 'Bearer k' } };
    interface Prediction {
      id: string;
      status: string;
      started_at: string | null;
      output: unknown;
    }
    const predictions = '/sandbox-a/replicate/predictions';
    const create = (prompt: string) =>
      getJson<Prediction>(predictions, {
        method: 'POST',
        ...asUser,
        body: JSON.stringify({ version: 'v', input: { prompt } }),
      });
    const cancel = ({ id }: Prediction) =>
      getJson<Prediction>(`${predictions}/${id}/cancel`, { method: 'POST', ...asUser });
    const poll = ({ id }: Prediction) => getJson<Prediction>(`${predictions}/${id}`, asUser);

    const waiting = await create('waiting [[fail=never]]');
    expect(await cancel(waiting)).toMatchObject({ status: 'canceled', started_at: null });
    const createdAt = Date.now();
    const clock = jest.spyOn(Date, 'now').mockReturnValue(createdAt);
    try {
      const running = await create('running [[latency=4000]]');
      clock.mockReturnValue(createdAt + 2_050);
      expect(await poll(running)).toMatchObject({ status: 'processing' });
      expect(await cancel(running)).toMatchObject({ status: 'canceled', started_at: expect.any(String), output: null });
      expect(await poll(running)).toMatchObject({ status: 'canceled' });
    } finally {
      clock.mockRestore();
    }
    const done = await create('done [[latency=0]]');
    expect(await cancel(done)).toMatchObject({ status: 'succeeded' });
  });

  it('serves its own families only and requires a credential', async () => {
    expect((await fetch(`${sandbox.url}/sandbox-a/constructor/x`)).status).toBe(404);
    expect((await fetch(`${sandbox.url}/`)).status).toBe(404);
    const bare = await fetch(`${sandbox.url}/sandbox-a/fal/fal-ai/flux`, { method: 'POST', body: '{"prompt":"x"}' });
    expect(bare.status).toBe(401);
    expect((await submit('')).status).toBe(422);
  });

  it('answers callbacks as scripted and lists them unchanged', async () => {
    const post = (query: string) =>
      fetch(`${sandbox.url}/_sandbox/inbox/box${query}`, {
        method: 'POST',
        headers: { 'webhook-id': 'msg_1' },
        body: '{ "a":  1 }',
        redirect: 'manual',
      });
    expect((await post('')).status).toBe(200);
    const refused = await post('?status=503&retry_after=9&delay=10&times=2');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '9']);
    expect((await post('?status=500&times=2')).status).toBe(200);
    const moved = await post('?status=302&location=http://127.0.0.1:1/');
    expect([moved.status, moved.headers.get('location')]).toEqual([302, 'http://127.0.0.1:1/']);
    expect((await post('?status=abc')).status).toBe(200);
    const received =
      await getJson<{ headers: Record<string, string>; body: string; at: string }[]>('/_sandbox/inbox/box/received');
    expect(received).toHaveLength(5);
    expect(received[0]).toMatchObject({ body: '{ "a":  1 }', headers: { 'webhook-id': 'msg_1' } });
    expect(await getJson('/_sandbox/inbox/nobody/received')).toEqual([]);
  });
});

describe('the sandbox as a process', () => {
  it('prints its address, and exits when its parent closes the pipe', async () => {
    const child = spawn(process.execPath, [new URL('../../packages/sandbox/src/main.ts', import.meta.url).pathname], {
      env: { PORT: '0', TOLLGATE_PARENT_PIPE: '1' },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const { listening } = JSON.parse(line.toString()) as { listening: string };
    expect((await fetch(`${listening}/_sandbox/hits`)).status).toBe(200);
    child.stdin.end();
    const [code] = (await once(child, 'exit')) as [number];
    expect(code).toBe(0);
  });
});

/** The boxes of an MP4, or of one box. */
function boxes(bytes: Buffer): { type: string; body: Buffer }[] {
  const found: { type: string; body: Buffer }[] = [];
  for (let at = 0; at + 8 <= bytes.length; at += bytes.readUInt32BE(at)) {
    found.push({
      type: bytes.toString('latin1', at + 4, at + 8),
      body: bytes.subarray(at + 8, at + bytes.readUInt32BE(at)),
    });
  }
  return found;
}
