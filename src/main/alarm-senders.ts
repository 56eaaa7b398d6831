import { hostname } from 'node:os';
import { Agent, request } from 'undici';
import type { Config } from '../config/load-config.ts';
import { connectorSkippingContinue } from '../platform/egress/skip-continue.ts';
import type { AlarmNotice, SendAlarm } from '../platform/observe/alarms.ts';

const timeoutMs = 10_000;
const agent = new Agent({ connect: connectorSkippingContinue() });

/**
 * The ways out for alarms of this process: the webhook, the mail, or none. The egress guard is for URLs of clients; this one is the operator's
 * and may lead into the private network.
 */
export function alarmSenders({ webhookUrl, smtpUrl, emailTo }: Config['alarms'], process: string): SendAlarm[] {
  const from = `${process} on ${hostname()}`;
  return [
    ...(webhookUrl === '' ? [] : [(notice: AlarmNotice) => postAlarm(webhookUrl, from, notice)]),
    ...(smtpUrl === '' ? [] : [(notice: AlarmNotice) => mailAlarm(smtpUrl, emailTo, from, notice)]),
  ];
}

/** `text` is what chat services show; `alarm` is for programs. */
async function postAlarm(url: string, process: string, notice: AlarmNotice): Promise<void> {
  const { statusCode, body } = await request(url, {
    dispatcher: agent,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: `${headline(process, notice)}\n${factsOf(notice)}`, alarm: { process, ...notice } }),
    signal: AbortSignal.timeout(timeoutMs),
  });
  await body.dump();
  if (statusCode >= 300) throw new Error(`the alarm webhook answered ${statusCode}`);
}

async function mailAlarm(url: string, to: readonly string[], process: string, notice: AlarmNotice): Promise<void> {
  // Loaded when there is something to send, because most processes never send a mail.
  const { createTransport } = await import('nodemailer');
  const limits = { connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs };
  const transport = createTransport({ url, ...limits });
  try {
    await transport.sendMail({
      from: { name: 'Tollgate', address: senderOf(url, to) },
      to: [...to],
      subject: headline(process, notice),
      text: `${headline(process, notice)}\nFirst: ${notice.firstAt}\nLast: ${notice.lastAt}\n\n${factsOf(notice)}\n`,
    });
  } finally {
    transport.close();
  }
}

/** Mail servers accept the address that logged in. One without a login is in the private network and accepts any. */
function senderOf(url: string, [first = '']: readonly string[]): string {
  const user = decodeURIComponent(new URL(url).username);
  return user.includes('@') ? user : first;
}

const headline = (process: string, { message, level, count }: AlarmNotice): string =>
  `[${level}] ${message}${count > 1 ? ` (${count} times)` : ''}: ${process}`;

const factsOf = ({ facts }: AlarmNotice): string => JSON.stringify({ ...facts, alarm: undefined }, null, 2);
