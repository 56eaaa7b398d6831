import { hostname } from 'node:os';
import { Agent, request } from 'undici';
import type { Config } from '../config/load-config.ts';
import { connectorSkippingContinue } from '../platform/egress/skip-continue.ts';
import { sendMail } from '../platform/observe/send-mail.ts';
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

const mailAlarm = (url: string, to: readonly string[], process: string, notice: AlarmNotice): Promise<void> =>
  sendMail(url, {
    from: to[0] ?? '',
    to,
    subject: headline(process, notice),
    text: `${headline(process, notice)}\nFirst: ${notice.firstAt}\nLast: ${notice.lastAt}\n\n${factsOf(notice)}\n`,
  });

const headline = (process: string, { message, level, count }: AlarmNotice): string =>
  `[${level}] ${message}${count > 1 ? ` (${count} times)` : ''}: ${process}`;

const factsOf = ({ facts }: AlarmNotice): string => JSON.stringify({ ...facts, alarm: undefined }, null, 2);
