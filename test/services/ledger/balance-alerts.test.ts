import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { rowsOf, type Book } from '../../db/books.ts';
import { anAdmission, openChatLedger, settledEnd } from '../../db/chat-books.ts';
import { commandLine } from '../../support/command-line.ts';
import { eventually } from '../../support/eventually.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';
import { createOperator, type TestProject } from '../../support/operator.ts';
import { receiveMail } from '../../support/receive-mail.ts';
import { answer, inTurn, quickCallbacks, startReceiver, takeIt, type Receiver } from '../callbacks/receiver.ts';

let home: TestHome;
let receiver: Receiver;
let smtp: Server;
const mails: string[] = [];

beforeAll(async () => {
  receiver = await startReceiver();
  smtp = createServer((socket) => receiveMail(socket, mails));
  await new Promise<void>((resolve) => smtp.listen(0, '127.0.0.1', resolve));
  home = await createTestHome({
    ...quickCallbacks,
    SANDBOX_URL: 'http://127.0.0.1:1',
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    ALARM_SMTP_URL: `smtp://127.0.0.1:${(smtp.address() as AddressInfo).port}`,
    ALARM_EMAIL_TO: 'ops@example.com',
  });
});
afterAll(async () => {
  smtp?.close();
  await receiver?.close();
  await home?.drop();
});

const { done, tollgate } = commandLine(() => home.settings);

const aProject = (credits: number): Promise<TestProject> => createOperator(home.db, home.settings).project({ credits });
const set = (projectId: string, ...settings: string[]) => done('projects', 'set', projectId, ...settings);
const check = async (): Promise<unknown> => (await done('jobs', 'run', 'check-balances'))['summary'];

async function spend(book: Book, credits: number): Promise<void> {
  const chats = openChatLedger(home.db);
  const chat = anAdmission(book, { credits });
  expect((await chats.admit(chat)).verdict).toEqual({ kind: 'admitted' });
  await chats.end(settledEnd(chat, credits));
}

const thresholdsOf = (name: string): string[] =>
  receiver.calls(name).map(({ body }) => (JSON.parse(body) as { data: { threshold: string } }).data.threshold);

describe('the alerts of a balance', () => {
  it('post one signed event when the credits fall to a threshold, and again after they were above it', async () => {
    const project = await aProject(1_000);
    await set(project.projectId, '--alert-at', '20%,150', '--alert-url', receiver.at('low'));
    await check();
    await spend(project, 799);
    await check();
    expect(receiver.calls('low')).toEqual([]);

    await spend(project, 1);
    await check();
    await check();
    const [call, ...others] = receiver.calls('low');
    expect(others).toEqual([]);
    const event = new Webhook(project.webhookSecret).verify(call!.body, call!.headers);
    expect(event).toEqual({
      id: call!.headers['webhook-id'],
      type: 'balance.low',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      data: {
        project_id: project.projectId,
        threshold: '20%',
        threshold_credits: 200,
        balance: { available: 200, reserved: 0 },
      },
    });

    await spend(project, 60);
    await check();
    expect(thresholdsOf('low')).toEqual(['20%', '150']);
    // A fifth of this top-up is 40.
    await createOperator(home.db, home.settings).addCredits(project.projectId, 200);
    await spend(project, 200);
    await check();
    expect(thresholdsOf('low')).toEqual(['20%', '150', '150']);
    await spend(project, 100);
    await check();
    expect(thresholdsOf('low')).toEqual(['20%', '150', '150', '20%']);
  });

  it('tell of a crossing although credits were added before a job ran', async () => {
    const project = await aProject(100);
    await set(project.projectId, '--alert-at', '50', '--alert-url', receiver.at('crossed'));
    await spend(project, 60);
    await createOperator(home.db, home.settings).addCredits(project.projectId, 500);
    await check();
    expect(thresholdsOf('crossed')).toEqual(['50']);
  });

  it('have ids that follow from the project, the threshold and the crossing, so that one repeats after a restore', async () => {
    const project = await aProject(100);
    await set(project.projectId, '--alert-at', '50,40', '--alert-url', receiver.at('ids'));
    const idsOf = () => receiver.calls('ids').map(({ headers }) => headers['webhook-id']);
    await spend(project, 60);
    await check();
    const first = idsOf();
    expect(new Set(first).size).toBe(2);
    // What a restore to the moment before the crossing leaves.
    await home.db.query('', `delete from balance_event where project_id = '${project.projectId}'`);
    await home.db.query('', `delete from balance_alert where project_id = '${project.projectId}'`);
    await check();
    expect(idsOf().sort()).toEqual([...first, ...first].sort());

    // Another crossing of the same threshold is another event, also if the threshold was taken away meanwhile.
    await set(project.projectId, '--alert-at', 'none');
    await createOperator(home.db, home.settings).addCredits(project.projectId, 100);
    await set(project.projectId, '--alert-at', '50');
    await spend(project, 100);
    await check();
    expect(idsOf()).toHaveLength(5);
    expect(new Set(idsOf()).size).toBe(3);
  });

  it('do not count credits on hold as gone', async () => {
    const project = await aProject(100);
    await set(project.projectId, '--alert-at', '50', '--alert-url', receiver.at('held'));
    await openChatLedger(home.db).admit(anAdmission(project, { credits: 90 }));
    await check();
    expect(receiver.calls('held')).toEqual([]);
  });

  it('are tried again by the retry schedule of callbacks, under one id and with the same bytes', async () => {
    const project = await aProject(10);
    await set(project.projectId, '--alert-at', '5', '--alert-url', receiver.at('again', inTurn(answer(500), takeIt)));
    await spend(project, 5);
    await eventually(async () => {
      await check();
      return receiver.calls('again').length === 2;
    });
    const [first, second] = receiver.calls('again');
    expect(second!.body).toBe(first!.body);
    expect(second!.headers['webhook-id']).toBe(first!.headers['webhook-id']);
    await check();
    expect(receiver.calls('again')).toHaveLength(2);
  });

  it('are sent by mail, once', async () => {
    const project = await aProject(10);
    await set(project.projectId, '--alert-at', '60%', '--alert-mail', 'a@shop.example,b@shop.example');
    await spend(project, 4);
    await check();
    await check();
    const text = mails.join('\n');
    expect(text).toContain('Subject: The credits of test are low');
    expect(mails.filter((line) => line === 'DATA')).toHaveLength(1);
    for (const to of ['a', 'b']) expect(text).toContain(`RCPT TO:<${to}@shop.example>`);
  });

  it('are off until they are set, and end with none', async () => {
    const project = await aProject(10);
    const events = () => rowsOf(home.db, 'select from balance_event where project_id = $1', [project.projectId]);
    await spend(project, 6);
    await check();
    expect(await events()).toEqual([]);
    await set(project.projectId, '--alert-at', '3', '--alert-url', receiver.at('off'));
    expect(await set(project.projectId, '--alert-at', 'none', '--alert-url', 'none')).toMatchObject({
      alert_at: null,
      alert_url: null,
      alert_mail: null,
    });
    await spend(project, 3);
    await check();
    expect(receiver.calls('off')).toEqual([]);
    expect(await events()).toEqual([]);
  });

  it('warn of thresholds that have no receiver', async () => {
    const { projectId } = await aProject(10);
    expect(await set(projectId, '--alert-at', '5')).toMatchObject({
      warnings: [expect.stringContaining('not reported')],
    });
  });

  it.each([
    ['--alert-at', '0', 'must be credits'],
    ['--alert-at', '0%', 'must be credits'],
    ['--alert-at', '101%', 'must be credits'],
    ['--alert-at', '1.5', 'must be credits'],
    ['--alert-at', '20 percent', 'must be credits'],
    ['--alert-at', '9007199254740992', 'must be credits'],
    ['--alert-at', '1,2,3,4,5,6,7,8,9,10,11', 'must be credits'],
    ['--alert-mail', 'nobody', 'must be mail addresses'],
    ['--alert-url', 'ftp://shop.example/', 'must be an https URL'],
    ['--alert-url', 'https://10.0.0.1/', 'private address'],
    ['--alert-url', 'soon', 'must be an absolute https URL'],
  ])('refuse %s %s', async (name, value, why) => {
    const { projectId } = await aProject(10);
    const { code, printed } = await tollgate('projects', 'set', projectId, name, value);
    expect([1, 2]).toContain(code);
    expect(JSON.stringify(printed)).toContain(why);
    expect(
      await rowsOf(home.db, 'select alert_at, alert_url, alert_mail from project where id = $1', [projectId]),
    ).toEqual([{ alertAt: null, alertUrl: null, alertMail: null }]);
  });
});
