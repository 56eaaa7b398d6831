import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { claimChannelCall, endChannelCall } from '../../../src/db/channels/channel-calls.ts';
import { coolDownChannel, listChannels, type ChannelRow } from '../../../src/db/channels/channels.ts';
import type { Database } from '../../../src/db/database.ts';
import { createSealer } from '../../../src/platform/crypto/seal.ts';
import { unsealCredential } from '../../../src/services/channels/unseal-credential.ts';
import { run } from '../../db/books.ts';
import { commandLine } from '../../support/command-line.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';
import { lastAuditOf } from '../../support/rows.ts';
import { testConfig } from '../../support/test-config.ts';

let home: TestHome;
let db: Database;
let settings: Record<string, string>;

beforeAll(async () => {
  home = await createTestHome();
  ({ db, settings } = home);
});
afterAll(() => home?.drop());

const { tollgate, done, refused } = commandLine(() => settings);

const Credential = z.looseObject({ id: z.string(), last4: z.string().nullable(), state: z.string() });
const Listed = z.object({
  data: z.array(z.looseObject({ name: z.string(), state: z.string(), credentials: z.array(Credential) })),
});

async function listed(name: string) {
  const { printed } = await tollgate('channels', 'list');
  if (!('data' in printed)) throw new Error(JSON.stringify(printed));
  const channel = Listed.parse(printed).data.find((row) => row.name === name);
  if (!channel) throw new Error(`no channel ${name}`);
  return channel;
}

async function rowOf(name: string): Promise<ChannelRow> {
  const channel = (await listChannels(db)).channels.find((row) => row.name === name);
  if (!channel) throw new Error(`no channel ${name}`);
  return channel;
}

/** The secrets of a channel in the order of its list. */
async function secretsOf(name: string): Promise<string[]> {
  const channel = await rowOf(name);
  const sealer = createSealer(testConfig(settings).secrets.masterKeys);
  return channel.credentials.map((credential) => unsealCredential(sealer, { credential }));
}

async function pool(name: string, ...secrets: [string, ...string[]]): Promise<string> {
  const [first, ...more] = secrets;
  const { channel_id: id } = await done(
    'channels',
    'add',
    '--name',
    name,
    '--adapter',
    'openai',
    '--base-url',
    'https://upstream.example/v1',
    '--credential',
    first,
    '--groups',
    'chat',
  );
  for (const secret of more) await done('channels', 'set', name, '--credential-add', secret);
  return z.string().parse(id);
}

describe('tollgate channels set --credential-add', () => {
  it('adds sealed credentials, lists each with its state and last characters, and shows no secret anywhere', async () => {
    const id = await pool('pool', 'sk-first-1111');
    const { printed } = await tollgate('channels', 'set', 'pool', '--credential-add', 'sk-second-2222');
    expect(printed).toMatchObject({ name: 'pool', credential_id: expect.stringMatching(/^crd_/) });
    await done('channels', 'set', 'pool', '--credential-add', 'sk-third-3333');
    const { credentials, state } = await listed('pool');
    expect(state).toBe('ready');
    expect(credentials.map(({ last4, state: own }) => [last4, own])).toEqual([
      ['1111', 'ready'],
      ['2222', 'ready'],
      ['3333', 'ready'],
    ]);
    expect(await secretsOf('pool')).toEqual(['sk-first-1111', 'sk-second-2222', 'sk-third-3333']);
    const [entry] = await lastAuditOf(db, id);
    expect(entry).toMatchObject({ action: 'channels.set', after: { credentials: credentials.map((one) => one.id) } });
    const everything = JSON.stringify([printed, entry, credentials, (await tollgate('channels', 'list')).printed]);
    expect(everything).not.toMatch(/sk-|second|third/);
  });

  it('refuses a credential that the channel has already, and shows at most half of a short one', async () => {
    await pool('short', 'abcd', 'efgh');
    expect((await listed('short')).credentials.map(({ last4 }) => last4)).toEqual(['cd', 'gh']);
    expect(await refused('channels', 'set', 'short', '--credential-add', 'abcd')).toContain('already');
    expect(await refused('channels', 'set', 'short', '--credential-add', 'efgh')).toContain('already');
  });

  it('leaves to the first credential what the channel waited for while it was the only one', async () => {
    const channelId = await pool('rested', 'sk-rested-0001');
    await coolDownChannel(db, { channelId, modelId: '*', seconds: 600, reason: 'rate_limit' });
    expect(await listed('rested')).toMatchObject({ state: 'resting' });
    await done('channels', 'set', 'rested', '--credential-add', 'sk-rested-0002');
    expect(await listed('rested')).toMatchObject({
      state: 'ready',
      credentials: [{ state: 'resting', reason: 'rate_limit' }, { state: 'ready' }],
    });
  });

  it('cools the channel down only while all of its credentials cool down', async () => {
    const channelId = await pool('all', 'sk-all-0001', 'sk-all-0002');
    const until = `clock_timestamp() + interval '1 minute' * k.n`;
    const rest = `update channel_credential c set unavailable_until = ${until}, reason = 'account', since = clock_timestamp()
      from (select id, row_number() over (order by created_at) as n from channel_credential where channel_id = $1) k
      where k.id = c.id and k.n <= $2`;
    await run(db, rest, [channelId, 1]);
    expect(await listed('all')).toMatchObject({
      state: 'ready',
      credentials: [{ state: 'resting' }, { state: 'ready' }],
    });
    expect((await rowOf('all')).unavailableUntil).toEqual({});
    await run(db, rest, [channelId, 2]);
    expect(await listed('all')).toMatchObject({ state: 'resting', reasons: [{ kind: 'resting', model: '*' }] });
    const { credentials, unavailableUntil } = await rowOf('all');
    expect(unavailableUntil['*']).toBe(credentials[0]?.unavailableUntilMs);
    await done('channels', 'set', 'all', '--base-url', 'https://elsewhere.example/v1');
    expect(await listed('all')).toMatchObject({
      state: 'ready',
      credentials: [{ state: 'ready' }, { state: 'ready' }],
    });
  });
});

describe('tollgate channels set --credential-remove', () => {
  it('removes a credential by its id or its last characters, also the first one', async () => {
    const id = await pool('removed', 'sk-one-0001', 'sk-two-0002', 'sk-three-0003');
    await done('channels', 'set', 'removed', '--credential-remove', '0001');
    expect(await secretsOf('removed')).toEqual(['sk-two-0002', 'sk-three-0003']);
    const { credentials } = await listed('removed');
    await done('channels', 'set', 'removed', '--credential-remove', credentials[1]?.id ?? '');
    expect(await secretsOf('removed')).toEqual(['sk-two-0002']);
    expect(await lastAuditOf(db, id)).toMatchObject([
      { before: { credentials: credentials.map((one) => one.id) }, after: { credentials: [credentials[0]?.id] } },
    ]);
  });

  it('refuses an unknown, an ambiguous and the only credential, and then changes nothing', async () => {
    await pool('kept', 'sk-one-7777', 'sk-two-7777');
    expect(await refused('channels', 'set', 'kept', '--credential-remove', '9999')).toContain('no such credential');
    const both = ['--credential-remove', '7777', '--weight', '9'];
    expect(await refused('channels', 'set', 'kept', ...both)).toContain('by its id');
    expect(await listed('kept')).toMatchObject({ weight: 1, credentials: [{}, {}] });
    await pool('single', 'sk-single-0001');
    expect(await refused('channels', 'set', 'single', '--credential-remove', '0001')).toContain('only one');
  });

  it('replaces the first credential only, and ends what that one waited for', async () => {
    const channelId = await pool('replaced', 'sk-old-0001', 'sk-kept-0002');
    await run(
      db,
      `update channel_credential set unavailable_until = clock_timestamp() + interval '1 hour', reason = 'account' where channel_id = $1`,
      [channelId],
    );
    await done('channels', 'set', 'replaced', '--credential', 'sk-new-0003');
    expect(await secretsOf('replaced')).toEqual(['sk-new-0003', 'sk-kept-0002']);
    expect(await listed('replaced')).toMatchObject({
      credentials: [
        { last4: '0003', state: 'ready' },
        { last4: '0002', state: 'resting' },
      ],
    });
  });
});

describe('tollgate channels set --rpm --tpm --parallel', () => {
  const none = { rpm: null, tpm: null, parallel: null };
  const unused = { used: { rpm: 0, tpm: 0, parallel: 0 }, not_drawn: null, until: null };

  it('sets and clears the limits of a channel, and lists them with their use', async () => {
    const id = await pool('limited', 'sk-limited-0001');
    await done('channels', 'set', 'limited', '--rpm', '60', '--tpm', '100000', '--parallel', '4');
    expect(await lastAuditOf(db, id)).toMatchObject([
      { before: { rpm: null, tpm: null, parallel: null }, after: { rpm: 60, tpm: 100_000, parallel: 4 } },
    ]);
    expect(await listed('limited')).toMatchObject({
      limits: { rpm: 60, tpm: 100_000, parallel: 4, ...unused },
      credentials: [{ limits: { ...none, ...unused } }],
    });
    await done('channels', 'set', 'limited', '--rpm', '0', '--tpm', 'none', '--parallel', 'none');
    expect(await listed('limited')).toMatchObject({ limits: { ...none, ...unused } });
  });

  it('limits one credential, or all of them', async () => {
    await pool('each', 'sk-each-0001', 'sk-each-0002');
    await done('channels', 'set', 'each', '--limit-credential', '0002', '--rpm', '5');
    await done('channels', 'set', 'each', '--limit-credential', 'all', '--parallel', '2');
    expect(await listed('each')).toMatchObject({
      limits: none,
      credentials: [{ limits: { rpm: null, parallel: 2 } }, { limits: { rpm: 5, parallel: 2 } }],
    });
    expect(await refused('channels', 'set', 'each', '--limit-credential', '0002')).toContain('--rpm');
    expect(await refused('channels', 'set', 'each', '--limit-credential', '9999', '--rpm', '1')).toContain('no such');
    expect((await tollgate('channels', 'set', 'each', '--rpm', '-1')).code).toBe(2);
  });

  it('says which limit is reached, and until when the channel is not drawn', async () => {
    const id = await pool('full', 'sk-full-0001', 'sk-full-0002');
    await done('channels', 'set', 'full', '--rpm', '2');
    const { credentials } = await rowOf('full');
    const ids = credentials.map((one) => one.id);
    const claim = (callId: string) =>
      claimChannelCall(db, { callId, tokens: 10 }, { channelId: id, credentialIds: ids }, 60);
    expect(await claim('one')).toEqual({ credentialId: ids[0] });
    expect(await claim('one')).toEqual({ credentialId: ids[0] });
    expect(await claim('two')).toEqual({ credentialId: ids[0] });
    expect(await claim('three')).toEqual({ retryAfterSeconds: expect.any(Number) });
    expect(await listed('full')).toMatchObject({
      limits: { used: { rpm: 2, tpm: 20, parallel: 2 }, not_drawn: 'rpm', until: expect.any(Number) },
      credentials: [{ limits: { used: { rpm: 2 } } }, { limits: { used: { rpm: 0 } } }],
    });
    await endChannelCall(db, 'two', { tokens: null, undo: true });
    await endChannelCall(db, 'one', { tokens: 500, undo: false });
    expect(await listed('full')).toMatchObject({
      limits: { used: { rpm: 1, tpm: 500, parallel: 0 }, not_drawn: null, until: null },
    });
  });

  it('gives a call the first credential that is not at a limit of its own', async () => {
    const channelId = await pool('turns', 'sk-turns-0001', 'sk-turns-0002');
    await done('channels', 'set', 'turns', '--limit-credential', 'all', '--parallel', '1');
    const ids = (await rowOf('turns')).credentials.map((one) => one.id);
    const claim = (callId: string, leaseSeconds = 60) =>
      claimChannelCall(db, { callId, tokens: 0 }, { channelId, credentialIds: ids }, leaseSeconds);
    expect(await claim('a', 0)).toEqual({ credentialId: ids[0] });
    // The process of the first call did not renew it.
    expect(await claim('b')).toEqual({ credentialId: ids[0] });
    expect(await claim('c')).toEqual({ credentialId: ids[1] });
    expect(await claim('d')).toEqual({ retryAfterSeconds: 1 });
  });

  it('lets a call with more tokens than the limit through while nothing else counts, and then no other', async () => {
    const channelId = await pool('large', 'sk-large-0001');
    await done('channels', 'set', 'large', '--tpm', '100');
    const ids = (await rowOf('large')).credentials.map((one) => one.id);
    const claim = (callId: string, tokens: number) =>
      claimChannelCall(db, { callId, tokens }, { channelId, credentialIds: ids }, 60);
    expect(await claim('large', 1_000)).toEqual({ credentialId: ids[0] });
    expect(await claim('small', 1)).toEqual({ retryAfterSeconds: expect.any(Number) });
    expect(await listed('large')).toMatchObject({ limits: { not_drawn: 'tpm' } });
  });
});
