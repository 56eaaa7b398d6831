import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer as createHttpServer, type RequestListener, type Server as HttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { testConfig } from '../support/test-config.ts';
import { alarmOf, type AlarmKind, type AlarmName } from '../../src/domain/operators/alarm.ts';
import { alarmSenders } from '../../src/main/alarm-senders.ts';
import { buildDeps, type Built } from '../../src/main/build-deps.ts';
import { createAlarms, type AlarmNotice } from '../../src/platform/observe/alarms.ts';
import { createLogger } from '../../src/platform/observe/logger.ts';
import { receiveMail } from '../support/receive-mail.ts';
import { commandLine } from '../support/command-line.ts';
import { eventually } from '../support/eventually.ts';
import { createTestHome, type TestHome } from '../support/home.ts';

const servers: (Server | HttpServer)[] = [];
const kept: (Server | HttpServer)[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});
const portOf = async (server: Server | HttpServer): Promise<number> => {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

const loud = { isSilenced: () => Promise.resolve(false), onLost: () => undefined };
const noMail = { smtpUrl: '', emailTo: [], repeatSeconds: 3_600 };
const notice: AlarmNotice = {
  message: 'a scheduled job failed',
  level: 'error',
  facts: { ...alarmOf('job_failed'), job: 'scheduled-maintenance' },
  count: 3,
  firstAt: '2026-11-23T00:00:00.000Z',
  lastAt: '2026-11-23T01:00:00.000Z',
};

describe('alarms', () => {
  it('are sent at once, and those of the same kind that follow as one notice with their count', async () => {
    const sent: AlarmNotice[] = [];
    const send = (one: AlarmNotice): Promise<void> => Promise.resolve(void sent.push(one));
    const alarms = createAlarms({ ...loud, repeatMs: 3_000, ways: [send] });
    const logger = createLogger('info', 'test', { write: () => undefined }, (alarm) => alarms.raise(alarm));
    const texts = ['it failed', 'it failed', 'it failed again', 'a scheduled job failed'];
    for (const [n, text] of texts.entries()) {
      logger.error({ ...alarmOf('job_failed'), job: 'a', n, prompt: 'private' }, text);
    }
    logger.error({ ...alarmOf('job_failed'), job: 'b' }, 'a scheduled job failed');
    logger.error({ job: 'a' }, 'no alarm');
    await alarms.flush();
    expect(sent.map(({ count, facts }) => [facts['job'], count])).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
    await eventually(() => Promise.resolve(sent.length === 3));
    expect(sent[2]).toMatchObject({
      message: 'a scheduled job failed',
      level: 'error',
      count: 3,
      facts: { job: 'a', n: 3 },
    });
    expect(JSON.stringify(sent)).not.toContain('private');
  });

  it('go to the webhook as text for people and facts for programs', async () => {
    const bodies: string[] = [];
    const port = await portOf(
      createHttpServer((request, response) => {
        void text(request).then((body) => {
          bodies.push(body);
          response.writeHead(bodies.length === 1 ? 503 : 204).end();
        });
      }),
    );
    const config = { ...noMail, webhookUrl: `http://127.0.0.1:${port}/hook` };
    const alarms = createAlarms({ ...loud, repeatMs: 60_000, ways: alarmSenders(config, 'worker') });
    alarms.raise(notice);
    // The first answer is 503.
    await eventually(() => Promise.resolve(bodies.length >= 2));
    const sent = JSON.parse(bodies[1] ?? '') as { text: string; alarm: AlarmNotice };
    expect(sent.text).toMatch(/^\[error\] a scheduled job failed: worker on .*scheduled-maintenance/s);
    expect(sent.alarm).toMatchObject({ message: 'a scheduled job failed', count: 1, facts: notice.facts });
  });

  it('go to each recipient by mail', async () => {
    const lines: string[] = [];
    const port = await portOf(createServer((socket) => receiveMail(socket, lines)));
    const config = {
      ...noMail,
      webhookUrl: '',
      smtpUrl: `smtp://127.0.0.1:${port}`,
      emailTo: ['one@example.com', 'two@example.com'],
    };
    const [send] = alarmSenders(config, 'api');
    await send?.(notice);
    const recipients = lines.filter((line) => line.startsWith('RCPT TO')).map((line) => /<(.*)>/.exec(line)?.[1]);
    expect(recipients).toEqual(['one@example.com', 'two@example.com']);
    expect(lines.find((line) => line.startsWith('Subject: '))).toMatch(
      /\[error\] a scheduled job failed \(3 times\): api/,
    );
    expect(lines.join('\n')).toContain('scheduled-maintenance');
  });

  it('are not sent while they are silenced, and the first one after the silence is sent at once with its own count', async () => {
    const sent: AlarmNotice[] = [];
    const send = (one: AlarmNotice): Promise<void> => Promise.resolve(void sent.push(one));
    let silenced: string[] = [];
    const isSilenced = ({ name, subject }: AlarmKind<string>) =>
      Promise.resolve(silenced.includes(`${name} ${subject}`));
    const alarms = createAlarms({ ...loud, repeatMs: 60_000, ways: [send], isSilenced });
    const lines: string[] = [];
    const write = (line: string): void => void lines.push(line);
    const logger = createLogger('info', 'test', { write }, (alarm) => alarms.raise(alarm));
    const raise = async (channel: string): Promise<void> => {
      logger.error({ ...alarmOf('account'), channel }, 'a channel needs an operator');
      await alarms.flush();
    };
    silenced = ['account a'];
    for (const channel of ['a', 'a', 'b']) await raise(channel);
    expect(sent.map(({ facts }) => facts['channel'])).toEqual(['b']);
    expect(lines).toHaveLength(3);
    silenced = [];
    await raise('a');
    expect(sent.map(({ facts, count }) => [facts['channel'], count])).toEqual([
      ['b', 1],
      ['a', 1],
    ]);
  });
});

describe('the alarms of two processes', () => {
  let home: TestHome;
  const lines: string[] = [];
  const received: string[] = [];
  const mails: string[] = [];
  const processes: Built[] = [];
  beforeAll(async () => {
    home = await createTestHome();
    const receive: RequestListener = (request, response) => {
      void text(request).then((body) => {
        received.push(body);
        response.writeHead(204).end();
      });
    };
    const [hook, smtp] = [createHttpServer(receive), createServer((socket) => receiveMail(socket, mails))];
    const [hookPort, smtpPort] = [await portOf(hook), await portOf(smtp)];
    // They serve all tests.
    servers.length = 0;
    kept.push(hook, smtp);
    const ways = {
      ALARM_WEBHOOK_URL: `http://127.0.0.1:${hookPort}/`,
      ALARM_SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
      ALARM_EMAIL_TO: 'ops@example.com',
    };
    const config = testConfig({ ...home.settings, ...ways, LOG_LEVEL: 'error' });
    for (const name of ['api', 'worker'])
      processes.push(await buildDeps(config, name, { write: (line) => void lines.push(line) }));
  });
  afterAll(async () => {
    for (const { close } of processes) await close();
    for (const server of kept) server.close();
    await home.drop();
  });

  /** What was received about a channel. */
  const countOf = (channel: string): [webhooks: number, mails: number] => [
    received.filter((body) => body.includes(channelText(channel))).length,
    mails.join('\n').split(`"channel": "${channel}"`).length - 1,
  ];
  const channelText = (channel: string): string => `"channel":"${channel}"`;
  const areSent = (channel: string): Promise<boolean> =>
    // A notice whose answer did not come in time is sent again.
    eventually(() => Promise.resolve(countOf(channel).every((count) => count >= processes.length)));
  /** Both processes raise the alarm of a channel, and give it up to two seconds. */
  const raise = async (channel: string, reason: AlarmName): Promise<void> => {
    for (const { deps, flushAlarms } of processes) {
      deps.logger.error({ ...alarmOf(reason), channel }, 'a channel needs an operator');
      await flushAlarms();
    }
  };
  /** The webhooks and the mails that one alarm of each process causes, once a later one of a reason that is not silenced has come. */
  const sentFor = async (reason: AlarmName = 'account'): Promise<[webhooks: number, mails: number]> => {
    const channel = `channel-${(channels += 1)}`;
    await raise(channel, reason);
    await raise(`after-${channel}`, 'unlisted');
    await areSent(`after-${channel}`);
    return countOf(channel);
  };
  let channels = 0;
  const counted = async (): Promise<number> => {
    const page = (await processes[0]?.deps.metrics.page()) ?? '';
    return Number(/^tollgate_alarms_total\{reason="account"\} (\d+)$/m.exec(page)?.[1]);
  };
  /** Each process is told of a change of the silences by a notification of the database. */
  const untilSent = (count: number) => eventually(async () => (await sentFor()).every((sent) => sent === count));

  it('are muted in both by a silence of the command line, counted once each, and sent again when it ends', async () => {
    const { done, refused } = commandLine(() => home.settings);
    await sentFor();
    await areSent('channel-1');
    const silence = await done('alarms', 'silence', 'account', '--for', '2h', '--reason', 'the invoice is paid');
    expect(silence).toMatchObject({ name: 'account', subject: '', reason: 'the invoice is paid' });
    expect(Math.abs(Number(silence['until']) - Date.now() / 1_000 - 7_200)).toBeLessThan(30);
    await untilSent(0);
    await sentFor('unlisted');
    await areSent(`channel-${channels}`);
    // A process that cannot read the silences in time sends the alarm.
    const { before, after } = await eventually(async () => {
      const before = await counted();
      const [webhooks, sentMails] = await sentFor();
      return webhooks + sentMails === 0 && { before, after: await counted() };
    });
    // The metric and the log lines stay, and no alarm is counted twice.
    expect(after).toBe(before + 1);
    for (const channel of ['channel-1', `channel-${channels}`])
      expect(lines.filter((line) => line.includes(channelText(channel)))).toHaveLength(2);

    const Listed = z.object({ data: z.array(z.looseObject({ subject: z.string(), count: z.number().nullable() })) });
    const data = await eventually(async () => {
      const listed = Listed.parse(await done('alarms', 'list')).data;
      return listed.some(({ subject, count }) => subject === 'channel-1' && count === 2) && listed;
    });
    expect(data).toContainEqual(
      expect.objectContaining({
        name: 'account',
        subject: 'channel-1',
        state: 'fired',
        count: 2,
        silence: expect.objectContaining({ reason: 'the invoice is paid', created_by: expect.stringMatching(/./) }),
      }),
    );
    expect(data).toContainEqual(expect.objectContaining({ name: 'unlisted', silence: null }));
    const id = String(silence['silence_id']);
    expect(await done('alarms', 'silences')).toMatchObject({ data: [{ silence_id: id }] });
    expect(await done('alarms', 'unsilence', id)).toMatchObject({ changed: true });
    expect(await done('alarms', 'unsilence', id)).toMatchObject({ changed: false });
    expect(await refused('alarms', 'unsilence', 'sil_nobody')).toContain('no silence');
    expect(await done('alarms', 'silences')).toEqual({ data: [] });
    await untilSent(2);
  });

  it('are sent again when a silence expires by itself', async () => {
    const { done } = commandLine(() => home.settings);
    const silence = await done('alarms', 'silence', 'account', '--for', '1h', '--reason', 'a test');
    await untilSent(0);
    await home.db.query('', `update alarm_silence set until = clock_timestamp() + interval '1 second' where id = $1`, [
      silence['silence_id'],
    ]);
    await untilSent(2);
  });

  it('are refused a silence of no time and of more than 30 days, and warned of a name that never fired', async () => {
    const { done, tollgate } = commandLine(() => home.settings);
    const args = (name: string, span: string) => ['alarms', 'silence', name, '--for', span, '--reason', 'a test'];
    for (const span of ['0s', '59s', '31d', 'soon']) expect((await tollgate(...args('account', span))).code).toBe(2);
    expect(await done(...args('acount', '1h'))).toMatchObject({ warnings: [expect.stringContaining('acount')] });
  });
});
