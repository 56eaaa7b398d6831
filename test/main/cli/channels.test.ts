import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { z } from 'zod';
import { credentialContext } from '../../../src/services/channels/unseal-credential.ts';
import { testConfig } from '../../support/test-config.ts';
import { noteChannelFailure, raiseChannelAlarm, coolDownChannel } from '../../../src/db/channels/channels.ts';
import type { Database } from '../../../src/db/database.ts';
import { cli } from '../../../src/main/cli.ts';
import { createSealer } from '../../../src/platform/crypto/seal.ts';
import { admitted, newTask, openLedger, rowsOf, run, taskEnd } from '../../db/books.ts';
import { openChatLedger } from '../../db/chat-books.ts';
import { commandLine } from '../../support/command-line.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';
import { createOperator } from '../../support/operator.ts';
import { compileCache, nodeBinary, projectFolder } from '../../support/program.ts';
import { lastAuditOf } from '../../support/rows.ts';

let home: TestHome;
let db: Database;
let settings: Record<string, string>;

beforeAll(async () => {
  home = await createTestHome();
  ({ db, settings } = home);
});
afterAll(() => home?.drop());

const { tollgate, done, refused } = commandLine(() => settings);

const auditOf = (subject: unknown) => lastAuditOf(db, subject);

async function credentialOf(channelId: unknown): Promise<string> {
  const [row] = await rowsOf<{ credential: string }>(db, 'select credential from channel where id = $1', [channelId]);
  const context = credentialContext(z.string().parse(channelId));
  return createSealer(testConfig(settings).secrets.masterKeys).open(row?.credential ?? '', context);
}

const adding = (name: string, ...more: string[]) => [
  'channels',
  'add',
  '--name',
  name,
  '--adapter',
  'openai',
  '--base-url',
  'https://upstream.example/v1',
  '--credential',
  'sk-first',
  '--groups',
  'chat',
  ...more,
];

const Listed = z.object({ data: z.array(z.looseObject({ name: z.string() })) });
const listed = async (name: string) =>
  Listed.parse((await tollgate('channels', 'list')).printed).data.find((channel) => channel.name === name);

describe('tollgate channels add', () => {
  it('adds an available channel, encrypts its credential and never prints it', async () => {
    const { code, printed } = await tollgate(...adding('added', '--priority', '3', '--weight', '2'));
    expect(code).toBe(0);
    expect(printed).toEqual({
      channel_id: expect.stringMatching(/^chn_/),
      name: 'added',
      adapter: 'openai',
      base_url: 'https://upstream.example/v1',
      groups: ['chat'],
      priority: 3,
      weight: 2,
      list_check: true,
      warnings: ['No model of the catalog is in chat.'],
    });
    expect(JSON.stringify(printed)).not.toContain('sk-first');
    expect(await credentialOf(printed['channel_id'])).toBe('sk-first');
    expect(await listed('added')).toMatchObject({ state: 'ready', enabled: true, reasons: [] });
    const [entry] = await auditOf(printed['channel_id']);
    expect(entry).toMatchObject({ action: 'channels.add', before: null, after: { name: 'added', groups: ['chat'] } });
    expect(JSON.stringify(entry)).not.toContain('sk-first');
  });

  it('reads the credential from stdin if it is -, which keeps it out of the process list', async () => {
    const args = adding('piped').map((arg) => (arg === 'sk-first' ? '-' : arg));
    const result = await new Promise<{ code: number | null; text: string }>((resolve, reject) => {
      const child = spawn(nodeBinary, [join(projectFolder, 'src/main/cli.ts'), ...args, '--json'], {
        env: { ...compileCache(), ...settings },
      });
      let text = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += String(chunk)));
      child.on('error', reject).on('close', (code) => resolve({ code, text }));
      child.stdin.end('sk-from-a-pipe\n');
    });
    expect(result).toEqual({ code: 0, text: expect.not.stringContaining('sk-from-a-pipe') });
    expect(await credentialOf(z.looseObject({}).parse(JSON.parse(result.text))['channel_id'])).toBe('sk-from-a-pipe');
  });

  it('refuses a taken name, and an invalid name, adapter, base URL, credential, group, priority or weight', async () => {
    await done(...adding('taken'));
    expect(await refused(...adding('taken'))).toContain('already');
    for (const [flag, value] of [
      ['--name', 'chn_x'],
      ['--name', 'two words'],
      ['--adapter', 'nobody'],
      ['--base-url', 'ftp://upstream.example'],
      ['--base-url', 'https://user:pw@upstream.example'],
      ['--base-url', 'https://upstream.example/?key=1'],
      ['--credential', ' '],
      ['--groups', ','],
      ['--priority', '-1'],
      ['--weight', 'heavy'],
    ] as const)
      expect({ flag, value, code: (await tollgate(...adding('other', `${flag}=${value}`))).code }).toEqual({
        flag,
        value,
        code: 2,
      });
    expect(await refused(...adding('other', '--credential', 'two\nlines'))).toContain('one line');
    expect(await listed('other')).toBeUndefined();
  });
});

describe('tollgate channels set', () => {
  it('changes only the given settings, and the audit log has the old and new values without the credential', async () => {
    const { channel_id: id } = await done(...adding('before'));
    await done('channels', 'set', 'before', '--weight', '0', '--groups', 'chat,images');
    expect(await auditOf(id)).toEqual([
      {
        action: 'channels.set',
        before: { weight: 1, groups: ['chat'] },
        after: { weight: 0, groups: ['chat', 'images'] },
        detail: {},
      },
    ]);
    const moved = ['--name', 'after', '--adapter', 'gemini', '--base-url', 'http://127.0.0.1:1/', '--priority', '9'];
    expect(await done('channels', 'set', 'before', ...moved)).toMatchObject({
      channel_id: id,
      name: 'after',
      adapter: 'gemini',
      base_url: 'http://127.0.0.1:1',
      groups: ['chat', 'images'],
      priority: 9,
      weight: 0,
    });
    expect(await credentialOf(id)).toBe('sk-first');
    const { printed } = await tollgate('channels', 'set', 'after', '--credential', 'sk-second');
    expect(JSON.stringify(printed)).not.toContain('sk-second');
    expect(await credentialOf(id)).toBe('sk-second');
    expect(await auditOf(id)).toEqual([
      {
        action: 'channels.set',
        before: { credential: 'the earlier one' },
        after: { credential: 'a new one' },
        detail: {},
      },
    ]);
  });

  it('resets cool-downs and alarms if the credential changes, but not if another setting changes', async () => {
    const { channel_id } = await done(...adding('rested'));
    const channelId = z.string().parse(channel_id);
    await coolDownChannel(db, { channelId, modelId: '*', seconds: 600, reason: 'account' });
    await raiseChannelAlarm(db, { channelId, modelId: '*', alarm: 'account' });
    await done('channels', 'set', 'rested', '--weight', '5');
    expect(await listed('rested')).toMatchObject({ state: 'resting' });
    await done('channels', 'set', 'rested', '--credential', 'sk-paid');
    expect(await listed('rested')).toMatchObject({ state: 'ready', reasons: [] });
  });

  it('refuses an unknown channel, a taken name, an empty change, and another adapter while its calls run', async () => {
    await done(...adding('one'));
    const { channel_id } = await done(...adding('two'));
    expect(await refused('channels', 'set', 'nobody', '--weight', '1')).toContain('no channel nobody');
    expect(await refused('channels', 'set', 'two', '--name', 'one')).toContain('already');
    expect(await refused('channels', 'set', 'two')).toContain('Nothing to change');
    const { projectId, keyId } = await createOperator(db, settings).project({ credits: 100 });
    const { taskId } = await admitted(openLedger(db), newTask({ projectId, keyId }, 5));
    await run(
      db,
      `insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline)
       values ('att_running', $1, 1, $2, 'two', 'f', clock_timestamp())`,
      [taskId, channel_id],
    );
    expect(await refused('channels', 'set', 'two', '--adapter', 'gemini')).toContain('calls that run');
    await run(db, `update attempt set outcome = 'transient', ended_at = clock_timestamp() where id = 'att_running'`);
    await done('channels', 'set', 'two', '--adapter', 'gemini');
  });

  it('accepts another adapter once every request with an attempt without an outcome has ended', async () => {
    const { channel_id } = await done(...adding('three'));
    const book = await createOperator(db, settings).project({ credits: 100 });
    const ledger = openLedger(db);
    const { taskId } = await admitted(ledger, newTask(book, 5));
    await run(
      db,
      `insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, operation)
       values ('att_of_task', $1, 1, $2, 'three', 'f', clock_timestamp(), '{"job": 1}')`,
      [taskId, channel_id],
    );
    const chats = openChatLedger(db);
    await chats.admit({
      requestId: 'req_chat',
      ...book,
      rpm: null,
      modelId: 'gpt-5-mini',
      credits: 5,
      holdSeconds: 60,
      channelId: z.string().parse(channel_id),
      channelName: 'three',
      idempotency: null,
    });
    expect(await refused('channels', 'set', 'three', '--adapter', 'gemini')).toContain('calls that run');
    expect((await ledger.finishTask({ ...taskEnd(taskId, 'failed'), errorCode: 'task_timeout' })).finished).toBe(true);
    expect(await refused('channels', 'set', 'three', '--adapter', 'gemini')).toContain('calls that run');
    await chats.refund('upstream_failed', { requestId: 'req_chat', attempt: null });
    await done('channels', 'set', 'three', '--adapter', 'gemini');
  });
});

describe('tollgate channels list', () => {
  it('shows the state of a channel and its reasons: tripped, probing, cooling down, alarm, disabled', async () => {
    const { channel_id } = await done(...adding('troubled'));
    const channelId = z.string().parse(channel_id);
    const call = { channelId, modelId: 'gpt-5-mini', ageSeconds: 0, reason: 'provider_error', trip: true };
    await noteChannelFailure(db, call, { failuresMax: 5, trippedSeconds: 600, trippedMaxSeconds: 600 });
    const open = {
      kind: 'open',
      model: 'gpt-5-mini',
      reason: 'provider_error',
      since: expect.any(Number),
      until: expect.any(Number),
      failures: 0,
      opens: 1,
    };
    expect(await listed('troubled')).toMatchObject({ state: 'open', reasons: [open] });

    await run(
      db,
      `update channel_health set unavailable_until = clock_timestamp() - interval '1 second' where channel_id = $1`,
      [channelId],
    );
    const halfOpen = { ...open, kind: 'half_open', until: null };
    expect(await listed('troubled')).toMatchObject({ state: 'half_open', reasons: [halfOpen] });

    await raiseChannelAlarm(db, { channelId, modelId: 'veo-3.1', alarm: 'unknown_model' });
    const alarm = { kind: 'alarm', model: 'veo-3.1', reason: 'unknown_model', since: expect.any(Number), until: null };
    expect(await listed('troubled')).toMatchObject({ state: 'alarm', reasons: [halfOpen, alarm] });

    await coolDownChannel(db, { channelId, modelId: '*', seconds: 600, reason: 'rate_limit' });
    const resting = { kind: 'resting', model: '*', reason: 'rate_limit', until: expect.any(Number) };
    expect(await listed('troubled')).toMatchObject({ state: 'resting', reasons: [resting, halfOpen, alarm] });

    const written: string[] = [];
    await cli(['channels', 'list'], settings, (text) => written.push(text));
    expect(written.join('')).toMatch(
      /cooling down; cooling down for all models until .* \(rate_limit\); probing for gpt-5-mini/,
    );

    await done('channels', 'disable', 'troubled');
    expect(await listed('troubled')).toMatchObject({ state: 'disabled', reasons: [resting, halfOpen, alarm] });
  });
});

describe('tollgate channels test', () => {
  const servers: Server[] = [];
  afterAll(() => Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve)))));

  async function upstream(answer: (key: string | undefined) => { status: number; body: unknown }): Promise<string> {
    const server = createServer((request, response) => {
      const { status, body } = answer(request.headers.authorization);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/v1`;
  }

  it('reports ok if the free call succeeds, otherwise the reason and exit code 1, and changes no health', async () => {
    const baseUrl = await upstream((key) =>
      key === 'Bearer sk-first'
        ? { status: 200, body: { object: 'list', data: [{ id: 'gpt-5-mini', object: 'model' }] } }
        : { status: 401, body: { error: { message: 'no such key', code: 'invalid_api_key' } } },
    );
    const { channel_id } = await done(...adding('asked', `--base-url=${baseUrl}`));
    expect(await done('channels', 'test', 'asked')).toEqual({
      channel_id,
      name: 'asked',
      adapter: 'openai',
      ok: true,
      offered: true,
      reason: null,
      status: null,
      detail: null,
      took_ms: expect.any(Number),
    });
    await done('channels', 'set', 'asked', '--credential', 'sk-wrong');
    const { code, printed } = await tollgate('channels', 'test', 'asked');
    expect({ code, printed }).toMatchObject({ code: 1, printed: { ok: false, reason: 'account', status: 401 } });
    expect(JSON.stringify(printed)).not.toContain('sk-wrong');
    // The test of a channel does not change its health.
    expect(await listed('asked')).toMatchObject({ state: 'ready', reasons: [] });

    await done('channels', 'set', 'asked', '--base-url', 'http://127.0.0.1:1');
    const unreachable = await tollgate('channels', 'test', 'asked');
    expect(unreachable).toMatchObject({ code: 1, printed: { ok: false, reason: 'connect', status: null } });
    expect(await refused('channels', 'test', 'nobody')).toContain('no channel nobody');
  });

  it('says that the credential cannot be decrypted if its master key is missing', async () => {
    const { channel_id } = await done(...adding('sealed-elsewhere'));
    await run(db, `update channel set credential = replace(credential, 'v2.k1.', 'v2.k0.') where id = $1`, [
      channel_id,
    ]);
    expect(await refused('channels', 'test', 'sealed-elsewhere')).toContain('cannot be decrypted');
  });
});
