import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setChannel } from '../../../src/services/channels/set-channel.ts';
import { listChannelStates } from '../../../src/db/channels/channel-settings.ts';
import { checkChannels } from '../../../src/services/channels/check-channels.ts';
import {
  probeTrippedChannels,
  probeUnreachableChannels,
} from '../../../src/services/channels/probe-tripped-channels.ts';
import { listChannels, noteChannelFailure, noteChannelSuccess } from '../../../src/db/channels/channels.ts';
import type { Database } from '../../../src/db/database.ts';
import { channelStates } from '../../../src/domain/channels/health-states.ts';
import type { Built } from '../../../src/main/build-deps.ts';
import { newId, run } from '../../db/books.ts';
import { buildQuietDeps } from '../../support/built-deps.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let scratch: TestDatabase;
let db: Database;
let built: Built;
let provider: Server;
/** What the provider answers to the free call, which lists its models. */
let answer: { status: number; body?: unknown };
/** A credential that the provider refuses. */
let refused: string | null;
let baseUrl: string;
let channelId: string;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  built = await buildQuietDeps(scratch.url);
  provider = createServer((request, response) => {
    request.resume();
    const isRefused = refused !== null && request.headers.authorization === `Bearer ${refused}`;
    response.writeHead(isRefused ? 401 : answer.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer.body ?? { object: 'list', data: [{ id: 'some-model' }] }));
  });
  await once(provider.listen(0, '127.0.0.1'), 'listening');
  baseUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`;
});
afterAll(async () => {
  provider?.close();
  await built?.close();
  await scratch?.drop();
});

beforeEach(async () => {
  answer = { status: 200 };
  refused = null;
  channelId = newId('chn');
  await run(db, 'delete from channel_health');
  await run(db, 'delete from channel');
  await run(
    db,
    `insert into channel (id, name, adapter, base_url, credential, groups, priority, weight)
     values ($1, 'checked', 'openai', $2, $3, '{}', 1, 1)`,
    [channelId, baseUrl, built.deps.sealer.seal('secret', `channel|credential|${channelId}`)],
  );
  built.deps.channels.forget();
});

const check = () => checkChannels(built.deps);
/** How the draw sees the channel for all models. */
const states = async (): Promise<string[]> => {
  const { channels, nowMs } = await listChannels(db);
  const [channel] = channels;
  return channel ? channelStates(channel, nowMs).map(({ model, state }) => `${model} ${state}`) : [];
};
const changeChannel = async (set: string, values: unknown[] = []) => {
  await run(db, `update channel set ${set}`, values);
  built.deps.channels.forget();
};

describe('a check of every enabled channel', () => {
  it.each([
    ['is healthy', { status: 200 }, 0, []],
    ['refuses our account', { status: 401 }, 1, ['* cooling_down', '* alarm']],
    ['forbids the free call', { status: 403 }, 1, ['* cooling_down', '* alarm']],
    ['has no credit left', { status: 402 }, 1, ['* cooling_down', '* alarm']],
    ['has no list of models', { status: 404 }, 1, []],
    ['limits the free call', { status: 429 }, 1, []],
    ['does not understand the free call', { status: 400 }, 1, []],
    ['fails once', { status: 500 }, 1, []],
    ['is overloaded once', { status: 503 }, 1, []],
  ])('updates the state of a channel whose provider %s (%j)', async (_name, reply, unhealthy, expected) => {
    answer = reply;
    expect(await check()).toEqual({ checked: 1, unhealthy });
    expect(await states()).toEqual(expected);
  });

  it('trips a channel that cannot be reached for all of its models, and makes it available when it answers again', async () => {
    await changeChannel(`base_url = 'http://127.0.0.1:1/v1'`);
    expect(await check()).toEqual({ checked: 1, unhealthy: 1 });
    expect(await states()).toEqual(['* tripped']);
    // A tripped channel is asked by its probe alone.
    expect(await check()).toEqual({ checked: 0, unhealthy: 0 });
    expect(await probeTrippedChannels(built.deps)).toEqual({ probed: 1, reopened: 0, failed: 1 });
    expect(await states()).toEqual(['* tripped']);
    await changeChannel('base_url = $1', [baseUrl]);
    expect(await probeTrippedChannels(built.deps)).toEqual({ probed: 1, reopened: 1, failed: 0 });
    expect(await states()).toEqual([]);
  });

  it('trips a channel after five failed checks in a row, of which a success of a client takes the count away', async () => {
    answer = { status: 500 };
    for (let n = 0; n < 4; n += 1) await check();
    expect(await states()).toEqual([]);
    await noteChannelSuccess(db, { channelId, modelId: 'some-model', ageSeconds: 0 });
    built.deps.channels.forget();
    for (let n = 0; n < 4; n += 1) await check();
    expect(await states()).toEqual([]);
    answer = { status: 200 };
    await check();
    answer = { status: 500 };
    for (let n = 0; n < 4; n += 1) await check();
    expect(await states()).toEqual([]);
    await check();
    expect(await states()).toEqual(['* tripped']);
  });

  it('asks with each credential of a channel, rests those that the provider refuses, and notes how each ends', async () => {
    const { db: own, sealer } = built.deps;
    const add = (credentialAdd: string) =>
      setChannel({ db: own, sealer }, { channel: channelId, changes: {}, credentialAdd, actor: 'test' });
    await add('sk-refused');
    await add('sk-accepted');
    refused = 'sk-refused';
    built.deps.channels.forget();
    expect(await check()).toEqual({ checked: 1, unhealthy: 1 });
    expect(await states()).toEqual([]);
    const [channel] = await listChannelStates(db);
    expect(channel?.credentials.map(({ last4, alarm, until }) => [last4, alarm, until !== null])).toEqual([
      ['ret', null, false],
      ['used', 'account', true],
      ['pted', null, false],
    ]);
  });

  it('asks no disabled channel, and none whose family has no free call', async () => {
    await changeChannel('enabled = false');
    expect(await check()).toEqual({ checked: 0, unhealthy: 0 });
    await changeChannel(`enabled = true, adapter = 'unknown'`);
    expect(await check()).toEqual({ checked: 0, unhealthy: 0 });
    expect(await states()).toEqual([]);
  });
});

describe('the frequent probe of channels that could not be reached', () => {
  const bounds = { failuresMax: 5, trippedSeconds: 30, trippedMaxSeconds: 300 };
  const trip = async (reason: string, modelId = 'some-model') => {
    await noteChannelFailure(db, { channelId, modelId, ageSeconds: 0, reason, trip: true }, bounds);
    built.deps.channels.forget();
  };

  it.each([
    ['answers', 200],
    ['refuses our account', 401],
    ['forbids the free call', 403],
    ['has no list of models', 404],
    ['limits the free call', 429],
    ['does not understand the free call', 400],
  ])('ends the trip when the provider %s', async (_name, status) => {
    await trip('connect');
    answer = { status };
    expect(await probeUnreachableChannels(built.deps)).toBe(1);
    expect(await states()).toEqual(['some-model probing']);
  });

  it.each([500, 502, 503, 302])('leaves the trip while the provider answers %d', async (status) => {
    await trip('connect');
    answer = { status };
    expect(await probeUnreachableChannels(built.deps)).toBe(0);
    expect(await states()).toEqual(['some-model tripped']);
  });

  it('leaves the trip while the provider cannot be reached', async () => {
    await changeChannel(`base_url = 'http://127.0.0.1:1/v1'`);
    await trip('connect');
    expect(await probeUnreachableChannels(built.deps)).toBe(0);
    expect(await states()).toEqual(['some-model tripped']);
  });

  it.each(['provider_error', 'interrupted', 'unreadable', 'forbidden', 'redirect'])(
    'leaves a trip because of %s to its end',
    async (reason) => {
      await trip(reason);
      expect(await probeUnreachableChannels(built.deps)).toBe(0);
      expect(await states()).toEqual(['some-model tripped']);
    },
  );

  it('ends the trip of all models that a free call began', async () => {
    await trip('connect', '*');
    expect(await probeUnreachableChannels(built.deps)).toBe(1);
    expect(await states()).toEqual([]);
  });

  it('makes the next trip as short as a second one, however long the provider was away', async () => {
    for (let n = 0; n < 8; n++) {
      await run(db, `update channel_health set unavailable_until = null, tripped_at = tripped_at - interval '1 hour'`);
      await trip('connect');
    }
    await probeUnreachableChannels(built.deps);
    await run(db, `update channel_health set tripped_at = tripped_at - interval '1 hour'`);
    await trip('provider_error');
    const [row] = await db.query<{ seconds: number }>(
      '',
      'select round(extract(epoch from unavailable_until - tripped_at))::int as seconds from channel_health',
    );
    expect(row?.seconds).toBe(60);
  });
});
