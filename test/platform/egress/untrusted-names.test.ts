import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createEgress } from '../../../src/platform/egress/egress.ts';
import type { ResolvedAddress } from '../../../src/platform/egress/resolve-name.ts';
import { eventually } from '../../support/eventually.ts';
import { type Query, type Reply, startNameserver } from './nameserver.ts';
import { certificate, closers, length, limits, receiver, tlsReceiver } from './egress-scene.ts';

afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

describe('the name in an untrusted URL', () => {
  const V4 = '93.184.216.34';
  const V6 = '2606:2800:220:1::1';

  it.each<[string, Reply, Reply, string[]]>([
    ['IPv4', [V4], [], [V4]],
    ['IPv6', [], [V6], [V6]],
    ['both families', [V4], [V6], [V4, V6]],
    ['IPv4 at a nameserver that denies the name in IPv6', [V4], 'nxdomain', [V4]],
    ['IPv6 at a nameserver that cannot answer for IPv4', 'servfail', [V6], [V6]],
    [
      'many addresses',
      ['9.9.9.1', '9.9.9.2', '9.9.9.3', '9.9.9.4', '9.9.9.5'],
      [V6],
      ['9.9.9.1', V6, '9.9.9.2', '9.9.9.3'],
    ],
  ])('is reached at the addresses from the nameservers: %s', async (_what, v4, v6, expected) => {
    const { egress, url, queries, dialled } = await guarded(({ family }) => (family === 4 ? v4 : v6));
    expect(await egress.fetch(url, limits)).toMatchObject({ kind: 'answer', status: 200 });
    expect(dialled.flat().map(({ address }) => address)).toEqual(expected);
    expect(new Set(queries.map(({ name, family }) => `${name} ${family}`))).toEqual(
      new Set(['hooks.example 4', 'hooks.example 6']),
    );
  });

  it.each<[string, Reply, Reply]>([
    ['in IPv4', ['127.0.0.1'], [V6]],
    ['in IPv6', [V4], ['::1']],
    ['behind public ones', [V4, V4, V4, V4, '10.0.0.1'], [V6]],
    ['and none in the other family', ['169.254.169.254'], []],
  ])('is blocked for a private address %s', async (_what, v4, v6) => {
    const { egress, url, dialled } = await guarded(({ family }) => (family === 4 ? v4 : v6));
    expect(await egress.fetch(url, limits)).toEqual({ kind: 'blocked', reason: 'address' });
    expect(dialled).toEqual([]);
  });

  it.each<[string, Reply]>([
    ['that does not exist', 'nxdomain'],
    ['without an address', []],
    ['whose nameserver is broken', 'servfail'],
  ])('%s fails fast with dns', async (_what, reply) => {
    const { egress, url } = await guarded(() => reply);
    // Two tries of a query without an answer take longer. So may a process that pauses, but not each time.
    const answer = await eventually(async () => {
      const ended = await egress.fetch(url, { ...limits, timeoutMs: 5_000 });
      return ended.kind === 'failed' && ended.reason === 'timeout' ? null : ended;
    });
    expect(answer).toEqual({ kind: 'failed', reason: 'dns' });
  });

  it('delays only its own call if its nameserver is silent, also in large numbers', async () => {
    // After six seconds of silence the resolver gives a name up by itself, which a machine may need for the whole test. Then it begins again.
    const found = await eventually(async () => {
      const begunAt = performance.now();
      const facts = await besideSilentNames();
      return performance.now() - begunAt < 6_000 && facts;
    });
    expect(found).toEqual({ before: 0, ends: Array.from({ length: 64 }, () => 'aborted'), after: 64 });
  });

  /** Fetches by name while 64 other names get no answer, then aborts one of these after the other. Says how many had ended before and after. */
  async function besideSilentNames(): Promise<{ before: number; ends: string[]; after: number }> {
    const { egress, url, queries } = await guarded(({ name }) => (name === 'hooks.example' ? [V4] : 'silence'));
    const calls = Array.from({ length: 64 }, () => new AbortController());
    const silent = calls.map(({ signal }, index) =>
      egress.download(`https://silent-${index}.example/`, { ...limits, timeoutMs: 60_000, signal }, length),
    );
    let answered = 0;
    for (const call of silent) void call.then(() => (answered += 1));
    await eventually(() => Promise.resolve(queries.length >= 128), { what: 'the queries' });
    expect(await egress.fetch(url, limits)).toMatchObject({ kind: 'answer', status: 200 });
    // The system's lookup threads for the names of providers are free, too.
    await expect(lookup('localhost')).resolves.toBeDefined();
    const before = answered;
    const ends: string[] = [];
    // They end one after the other, and none ends another.
    for (const [index, call] of calls.entries()) {
      call.abort();
      const end = await silent[index];
      ends.push(end !== undefined && 'reason' in end ? end.reason : 'saved');
    }
    return { before, ends, after: answered };
  }

  it('is not queried after its call has ended', async () => {
    const { egress, url, queries } = await guarded(() => 'silence');
    const untilQueried = (count: number) =>
      eventually(() => Promise.resolve(queries.length === count), { what: `${count} queries` });
    // Long enough for the queries to be sent, and shorter than it takes to repeat them.
    expect(await egress.fetch(url, { ...limits, timeoutMs: 1_000 })).toEqual({ kind: 'failed', reason: 'timeout' });
    await untilQueried(2);
    const controller = new AbortController();
    const output = url.replace(/:\d+/, '');
    const download = egress.download(output, { ...limits, signal: controller.signal }, length);
    await untilQueried(4);
    controller.abort();
    expect(await download).toEqual({ kind: 'failed', reason: 'aborted' });
    for (const { port } of queries) expect(await isFree(port)).toBe(true);
    // A call whose signal has aborted sends no query.
    await egress.download(output, { ...limits, signal: AbortSignal.abort() }, length);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(queries).toHaveLength(4);
  });

  it('is resolved by the system if an operator configured it, because it may be in /etc/hosts', async () => {
    const { egress, queries } = await guarded(() => 'silence');
    const own = (await receiver((_request, response) => response.end('x'))).replace('127.0.0.1', 'localhost');
    expect(await egress.download(own, { ...limits, trustedOrigins: [own] }, length)).toMatchObject({ kind: 'saved' });
    expect(queries).toEqual([]);
    await egress.close();
  });

  /** A guard that uses our nameserver, and a URL whose name only this nameserver knows. */
  async function guarded(script: (query: Query) => Reply) {
    const nameserver = await startNameserver(script);
    closers.push(() => nameserver.close());
    const { port } = await tlsReceiver();
    const dialled: ResolvedAddress[][] = [];
    const { dial } = namedSettings(port, () => [], dialled);
    const nameservers = [nameserver.address];
    const egress = createEgress({ allowCidrs: [], callbackPorts: [port], nameservers, dial, ca: certificate });
    return { egress, url: `https://hooks.example:${port}/`, queries: nameserver.queries, dialled };
  }

  /** Whether a UDP port of loopback is unused. */
  const isFree = (port: number) =>
    new Promise<boolean>((resolve) => {
      const socket = createSocket('udp4');
      socket.on('error', () => resolve(false));
      socket.bind(port, '127.0.0.1', () => socket.close(() => resolve(true)));
    });
});

/** A guard that really checks the resolved addresses, but connects to our receiver instead of a public address. */
function namedSettings(port: number, answer: () => ResolvedAddress[], dialled: ResolvedAddress[][]) {
  return {
    allowCidrs: [],
    callbackPorts: [port],
    resolver: () => Promise.resolve(answer()),
    dial: (addresses: ResolvedAddress[], to: number) => {
      dialled.push(addresses);
      return connect({ host: '127.0.0.1', port: to });
    },
  };
}
