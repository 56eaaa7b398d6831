import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { alarmSenders } from '../../src/main/alarm-senders.ts';
import { createAlarms, type AlarmNotice } from '../../src/platform/observe/alarms.ts';
import { createLogger } from '../../src/platform/observe/logger.ts';
import { eventually } from '../support/eventually.ts';

const servers: (Server | HttpServer)[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});
const portOf = async (server: Server | HttpServer): Promise<number> => {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

const noMail = { smtpUrl: '', emailTo: [], repeatSeconds: 3_600 };
const notice: AlarmNotice = {
  message: 'a job failed',
  level: 'error',
  facts: { alarm: true, job: 'scheduled-maintenance' },
  count: 3,
  firstAt: '2026-11-23T00:00:00.000Z',
  lastAt: '2026-11-23T01:00:00.000Z',
};

describe('alarms', () => {
  it('are sent at once, and those of the same kind that follow as one notice with their count', async () => {
    const sent: AlarmNotice[] = [];
    const send = (one: AlarmNotice): Promise<void> => Promise.resolve(void sent.push(one));
    const alarms = createAlarms({ repeatMs: 300, ways: [send], onLost: () => undefined });
    const logger = createLogger('info', 'test', { write: () => undefined }, (alarm) => alarms.raise(alarm));
    for (let n = 1; n <= 4; n++) logger.error({ alarm: true, job: 'a', n, prompt: 'private' }, 'a job failed');
    logger.error({ alarm: true, job: 'b' }, 'a job failed');
    logger.error({ job: 'a' }, 'no alarm');
    await alarms.flush();
    expect(sent.map(({ count, facts }) => [facts['job'], count])).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
    await eventually(() => Promise.resolve(sent.length === 3));
    expect(sent[2]).toMatchObject({ message: 'a job failed', level: 'error', count: 3, facts: { job: 'a', n: 4 } });
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
    const alarms = createAlarms({ repeatMs: 60_000, ways: alarmSenders(config, 'worker'), onLost: () => undefined });
    alarms.raise(notice);
    // The first answer is 503.
    await eventually(() => Promise.resolve(bodies.length === 2));
    const sent = JSON.parse(bodies[1] ?? '') as { text: string; alarm: AlarmNotice };
    expect(sent.text).toMatch(/^\[error\] a job failed: worker on .*scheduled-maintenance/s);
    expect(sent.alarm).toMatchObject({ message: 'a job failed', count: 1, facts: notice.facts });
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
    expect(lines.find((line) => line.startsWith('Subject: '))).toMatch(/\[error\] a job failed \(3 times\): api/);
    expect(lines.join('\n')).toContain('scheduled-maintenance');
  });
});

/** The least of SMTP (RFC 5321) that a client needs. */
function receiveMail(socket: Socket, lines: string[]): void {
  let isData = false;
  let rest = '';
  const say = (line: string): void => void socket.write(`${line}\r\n`);
  say('220 test');
  socket.on('data', (chunk: Buffer) => {
    const received = (rest + chunk.toString()).split('\r\n');
    rest = received.pop() ?? '';
    for (const line of received) {
      lines.push(line);
      const isEnd = isData && line === '.';
      if (isData && !isEnd) continue;
      isData = line === 'DATA';
      if (line === 'QUIT') socket.end('221 bye\r\n');
      else say(isData ? '354 go on' : '250 ok');
    }
  });
}
