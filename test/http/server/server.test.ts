import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { AppMiddleware } from '../../../src/http/context.ts';
import { scopes } from '../../../src/domain/projects/scope.ts';
import { generateApiKey } from '../../../src/platform/crypto/api-key.ts';
import type { Route } from '../../../src/http/route.ts';
import { eventually } from '../../support/eventually.ts';
import { goodKey, openKey, startFrame, until, type Frame } from '../support.ts';

const auth = { authorization: `Bearer ${goodKey}` };
const frames: Frame[] = [];
const releases: (() => void)[] = [];
afterEach(async () => {
  for (const release of releases.splice(0)) release();
  for (const frame of frames.splice(0)) await frame.close({ drainSeconds: 0 });
});

/** A route that answers when the test calls `release`, and counts the requests that wait. */
function gate(): { route: Route; inside: () => number; release: () => void } {
  let inside = 0;
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  releases.push(release);
  const handler: AppMiddleware = async (ctx) => {
    inside += 1;
    await released;
    inside -= 1;
    ctx.body = { ok: true };
  };
  return {
    route: { method: 'POST', path: '/gate', auth: 'api_key', scopes, dialect: 'openai', body: 'json', handler },
    inside: () => inside,
    release,
  };
}

async function start(options: Parameters<typeof startFrame>[0]): Promise<Frame> {
  const frame = await startFrame(options);
  frames.push(frame);
  return frame;
}
const enter = (frame: Frame, init: RequestInit = {}): Promise<Response> =>
  fetch(`${frame.url}/gate`, {
    method: 'POST',
    headers: { ...auth, 'content-type': 'application/json' },
    body: '{}',
    ...init,
  });

describe('the in-flight limit', () => {
  it('refuses a request beyond the limit, still answers probes, and admits requests again afterwards', async () => {
    const { route, inside, release } = gate();
    const frame = await start({ routes: [route], settings: { HTTP_IN_FLIGHT_MAX: '1' } });
    const first = enter(frame);
    await until(() => inside() === 1);
    const second = await enter(frame);
    expect([second.status, second.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await second.json()).toMatchObject({ error: { code: 'overloaded' } });
    expect((await fetch(`${frame.url}/readyz`)).status).toBe(200);
    release();
    expect((await first).status).toBe(200);
    expect((await enter(frame)).status).toBe(200);
  });

  it('leaves places to another project, however many requests one project sends', async () => {
    const { route, inside, release } = gate();
    const otherKey = generateApiKey();
    const authenticate = (secret: string) =>
      Promise.resolve({ ...openKey, projectId: secret === otherKey ? 'prj_2' : 'prj_1' });
    const frame = await start({ routes: [route], settings: { HTTP_IN_FLIGHT_MAX: '8' }, deps: { authenticate } });
    const answers: Response[] = [];
    const calls = Array.from({ length: 20 }, () => enter(frame).then((answer) => answers.push(answer)));
    await until(() => inside() === 7 && answers.length === 13);
    expect(new Set(answers.map(({ status, headers }) => `${status} ${headers.get('retry-after')}`))).toEqual(
      new Set(['503 1']),
    );
    expect(await answers[0]?.text()).toContain('more than its share');
    const other = enter(frame, { headers: { 'x-api-key': otherKey, 'content-type': 'application/json' } });
    await until(() => inside() === 8);
    release();
    expect((await other).status).toBe(200);
    await Promise.all(calls);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(7);
  });

  it('admits requests while the bodies of others do not arrive', async () => {
    const { route, release } = gate();
    release();
    const frame = await start({ routes: [route], settings: { HTTP_IN_FLIGHT_MAX: '1' } });
    const { hostname, port } = new URL(frame.url);
    const slow = Array.from({ length: 5 }, () => connect(Number(port), hostname));
    for (const socket of slow) {
      socket.write(
        `POST /gate HTTP/1.1\r\nHost: a\r\nx-api-key: ${goodKey}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
      );
    }
    await until(() => frame.lookups.length === 5);
    expect((await enter(frame)).status).toBe(200);
    for (const socket of slow) socket.destroy();
  });

  it('frees the place of a client that hangs up, before or after its body arrives', async () => {
    const { route, inside, release } = gate();
    // One project has five of six places: the last one is left to another project.
    const frame = await start({ routes: [route], settings: { HTTP_IN_FLIGHT_MAX: '6' } });
    const aborts = Array.from({ length: 5 }, () => new AbortController());
    const calls = aborts.map(({ signal }) => enter(frame, { signal }).catch(() => null));
    await until(() => inside() === 5);
    for (const abort of aborts) abort.abort();
    await Promise.all(calls);
    expect((await enter(frame)).status).toBe(503);
    release();
    await until(() => inside() === 0);
    const { hostname, port } = new URL(frame.url);
    for (let tries = 0; tries < 20; tries += 1) {
      const lookupsBefore = frame.lookups.length;
      const socket = connect(Number(port), hostname);
      socket.write(
        `POST /gate HTTP/1.1\r\nHost: a\r\nx-api-key: ${goodKey}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
      );
      await until(() => frame.lookups.length > lookupsBefore);
      socket.destroy();
      await once(socket, 'close');
    }
    await until(() => frame.lines.filter(({ status }) => status === 499).length >= 20);
    expect((await Promise.all(Array.from({ length: 5 }, () => enter(frame)))).map(({ status }) => status)).toEqual([
      200, 200, 200, 200, 200,
    ]);
  });
});

describe('probes', () => {
  it('answer /livez without a check and /readyz from a check result that is at most two seconds old', async () => {
    let checks = 0;
    const isReady = (): Promise<boolean> => {
      checks += 1;
      return Promise.resolve(false);
    };
    const frame = await start({ routes: [], deps: { isReady } });
    expect((await fetch(`${frame.url}/livez`)).status).toBe(200);
    expect((await fetch(`${frame.url}/livez`, { method: 'HEAD' })).status).toBe(200);
    expect(checks).toBe(0);
    const began = performance.now();
    for (let tries = 0; tries < 5; tries += 1) expect((await fetch(`${frame.url}/readyz`)).status).toBe(503);
    expect(checks).toBeLessThanOrEqual(1 + Math.floor((performance.now() - began) / 2_000));
    expect((await fetch(`${frame.url}/livez`, { method: 'POST' })).status).toBe(404);
  });

  it('report ready if the check was answered while the process paused', async () => {
    const still = new Int32Array(new SharedArrayBuffer(4));
    const isReady = async (): Promise<boolean> => {
      await nextTurn();
      const answered = stat(process.execPath);
      // Longer than a check may take. The answer is there when the process goes on.
      Atomics.wait(still, 0, 0, 1_500);
      return (await answered).isFile();
    };
    const frame = await start({ routes: [], deps: { isReady } });
    expect((await fetch(`${frame.url}/readyz`)).status).toBe(200);
  });

  it('report not ready if the check fails or does not answer', async () => {
    for (const isReady of [() => Promise.reject(new Error('away')), () => new Promise<boolean>(() => undefined)]) {
      const frame = await start({ routes: [], deps: { isReady } });
      expect((await fetch(`${frame.url}/readyz`)).status).toBe(503);
    }
  });
});

describe('shutdown', () => {
  it('reports not ready immediately, still serves during the ready delay, and finishes running requests', async () => {
    const { route, inside, release } = gate();
    // Longer than this process may pause before it has read the answer of the probe.
    const frame = await start({ routes: [route], settings: { SHUTDOWN_READY_DELAY_SECONDS: '12' } });
    const call = enter(frame);
    await until(() => inside() === 1);
    const closed = frame.close();
    const probe = await fetch(`${frame.url}/readyz`);
    expect([probe.status, probe.headers.get('connection')]).toEqual([503, 'close']);
    let over = false;
    const ended = closed.then(() => (over = true));
    const refused = () =>
      fetch(`${frame.url}/livez`).then(
        () => false,
        () => true,
      );
    await eventually(refused);
    expect(over).toBe(false);
    release();
    expect((await call).status).toBe(200);
    await ended;
  });

  it('waits for the handler of a request whose client hung up', async () => {
    const { route, inside, release } = gate();
    const frame = await start({ routes: [route] });
    const abort = new AbortController();
    const call = enter(frame, { signal: abort.signal }).catch(() => null);
    await until(() => inside() === 1);
    abort.abort();
    await call;
    const closed = frame.close().then(() => inside());
    release();
    expect(await closed).toBe(0);
  });

  it('closes the remaining connections when the drain time is over', async () => {
    const { route, inside } = gate();
    const frame = await start({ routes: [route] });
    const call = enter(frame);
    call.catch(() => undefined);
    await until(() => inside() === 1);
    await frame.close({ drainSeconds: 0.05 });
    await expect(call).rejects.toThrow();
  });
});

describe('requests that are pipelined on one connection', () => {
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
  /** Answers what was begun, in its order, each when the test says so. */
  function ordered() {
    const begun: string[] = [];
    const steps = new Map<string, () => void>();
    const open = { method: 'GET', auth: 'none', dialect: 'openai', body: 'none' } as const;
    const handler: AppMiddleware = async (ctx) => {
      const name = ctx.params['name'] ?? '';
      begun.push(name);
      const released = new Promise<void>((resolve) => steps.set(name, resolve));
      if (ctx.path.startsWith('/stream/')) {
        ctx.respond = false;
        ctx.res.statusCode = 200;
        ctx.res.write(`begin ${name};`);
        await released;
        ctx.res.end(`end ${name}`);
        return;
      }
      await released;
      ctx.body = name;
    };
    const release = (name: string): void => steps.get(name)?.();
    releases.push(() => steps.forEach((step) => step()));
    return {
      routes: ['/whole/:name', '/stream/:name'].map((path): Route => ({ ...open, path, handler })),
      begun,
      release,
    };
  }
  /** A connection that has sent these bytes, and what it was answered so far. */
  function connected(frame: Frame, bytes: string) {
    const { hostname, port } = new URL(frame.url);
    const socket = connect(Number(port), hostname);
    const seen = { text: '', closed: new Promise((resolve) => socket.once('close', resolve)) };
    socket.on('error', () => undefined).on('data', (data) => (seen.text += data.toString('latin1')));
    socket.write(bytes);
    return { socket, seen };
  }

  it('begin one after another, each when the answer before it has left', async () => {
    const { routes, begun, release } = ordered();
    const frame = await start({ routes });
    const { socket, seen } = connected(frame, get('/whole/first') + get('/stream/second') + get('/whole/third'));
    await until(() => begun.length === 1);
    for (const [index, name] of ['first', 'second', 'third'].entries()) {
      expect(begun).toHaveLength(index + 1);
      release(name);
      await until(() => begun.length > index + 1 || seen.text.endsWith('third'));
    }
    expect(begun).toEqual(['first', 'second', 'third']);
    expect(seen.text.match(/HTTP\/1.1 200/g)).toHaveLength(3);
    socket.destroy();
  });

  it('do not begin once their connection has closed', async () => {
    const { routes, begun } = ordered();
    const frame = await start({ routes });
    const { socket } = connected(frame, get('/whole/first') + get('/whole/second'));
    await until(() => begun.length === 1);
    socket.destroy();
    await until(() => frame.lines.some(({ status }) => status === 499));
    await (await fetch(`${frame.url}/livez`)).text();
    expect(begun).toEqual(['first']);
  });

  it('close the connection if more than a hundred wait', async () => {
    const { routes, begun } = ordered();
    const frame = await start({ routes });
    const { seen } = connected(frame, get('/whole/first') + get('/whole/next').repeat(101));
    await seen.closed;
    expect(begun.length).toBeLessThan(2);
    expect(seen.text).toBe('');
  });

  it.each(['/stream/first', '/whole/first'])(
    'get no error of the parser in the answer to GET %s, which is whole, and then the connection is closed',
    async (path) => {
      const { routes, begun, release } = ordered();
      const frame = await start({ routes });
      const { socket, seen } = connected(frame, `${get(path)}${get('/whole/second')}HELLO\r\n\r\n`);
      await until(() => begun.length === 1 && (path === '/whole/first' || seen.text.includes('begin')));
      for (let more = 0; more < 20; more += 1) socket.write('HELLO\r\n\r\n');
      await (await fetch(`${frame.url}/livez`)).text();
      release('first');
      await seen.closed;
      expect(seen.text.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200']);
      if (path === '/whole/first') expect(seen.text).toMatch(/\r\nConnection: close\r\n/i);
      expect(seen.text).toMatch(path === '/whole/first' ? /first$/ : /begin first;\r\n9\r\nend first/);
      expect(begun).toEqual(['first']);
    },
  );
});
