import {
  claimBalanceEvents,
  endBalanceTry,
  noteBalanceAlerts,
  purgeBalanceEvents,
  type BalanceEvent,
  type BalanceTry,
} from '../../db/ledger/balance-alerts.ts';
import { readProjectSecret } from '../../db/projects/project-secret.ts';
import type { Deps } from '../../deps.ts';
import {
  nextDeliveryStep,
  receiverAnswerBytesMax,
  type DeliveryResult,
} from '../../domain/callbacks/callback-schedule.ts';
import { inLanes } from '../../platform/in-lanes.ts';
import { sendMail } from '../../platform/observe/send-mail.ts';
import { readRetryAfter } from '../../platform/retry-after.ts';
import { callbackHeaders, unsealSecrets } from '../callbacks/callback-message.ts';

type BalanceDeps = Pick<Deps, 'config' | 'db' | 'egress' | 'sealer' | 'logger'>;

const eventsMax = 200;
const lanes = 8;
/** As the tries of callbacks. */
const keptDays = 30;

/**
 * Notes which thresholds the credits of projects have crossed, and sends what is due about it: a signed webhook `balance.low` with the retry
 * schedule of callbacks, and a mail. What cannot be sent now stays in the database and is tried again by a later run.
 */
export async function sendBalanceEvents(deps: BalanceDeps): Promise<{ alerts: number; alerts_sent: number }> {
  const alerts = await noteBalanceAlerts(deps.db);
  const { timeoutSeconds } = deps.config.callbacks;
  const due = await claimBalanceEvents(deps.db, { limit: eventsMax, leaseSeconds: 4 * timeoutSeconds + 60 });
  let sent = 0;
  await inLanes(due, lanes, async (event) => {
    try {
      const attempt = await tryBalanceEvent(deps, event);
      await endBalanceTry(deps.db, attempt);
      if (attempt.hook?.state === 'delivered') sent += 1;
      if (attempt.mail?.state === 'sent') sent += 1;
    } catch (error) {
      // Its lease ends, and a later run tries it again.
      deps.logger.error({ err: error, event_id: event.id }, 'an alert of a balance could not be sent');
    }
  });
  await purgeBalanceEvents(deps.db, keptDays);
  return { alerts, alerts_sent: sent };
}

async function tryBalanceEvent(deps: BalanceDeps, event: BalanceEvent): Promise<BalanceTry> {
  const schedule = { retrySeconds: deps.config.callbacks.retryScheduleSeconds, random: Math.random() };
  const [hook, mail] = await Promise.all([tryHook(deps, event), tryMail(deps, event)]);
  const hookStep = hook && nextDeliveryStep(event.hookTries + 1, hook.result, schedule);
  const mailStep = mail && nextDeliveryStep(event.mailTries + 1, mail, schedule);
  const waits = [hookStep, mailStep].flatMap((step) => (step?.state === 'pending' ? [step.delaySeconds] : []));
  return {
    id: event.id,
    hook: hook && hookStep ? { state: hookStep.state, status: hook.status } : null,
    mail: mailStep && { state: mailStep.state === 'delivered' ? 'sent' : mailStep.state },
    delaySeconds: waits.length === 0 ? null : Math.min(...waits),
  };
}

/** The body of the webhook, the same in each try. */
const balanceEventBody = (event: BalanceEvent): string =>
  JSON.stringify({
    id: event.id,
    type: 'balance.low',
    timestamp: new Date(event.createdAt * 1_000).toISOString(),
    data: {
      project_id: event.projectId,
      threshold: event.threshold,
      threshold_credits: event.thresholdCredits,
      balance: { available: event.balance, reserved: event.reserved },
    },
  });

async function tryHook(
  deps: BalanceDeps,
  event: BalanceEvent,
): Promise<{ result: DeliveryResult; status: number | null } | null> {
  const { id, projectId, url } = event;
  if (url === null) return null;
  const failed = { result: { kind: 'failed' }, status: null } as const;
  const stored = await readProjectSecret(deps.db, projectId);
  if (!stored) return failed;
  const sealed = { projectId, sealedSecret: stored.sealed, sealedPreviousSecret: stored.sealedPrevious };
  const secrets = unsealSecrets(deps, sealed, { project_id: projectId, event_id: id });
  if (secrets.length === 0) return failed;
  const body = balanceEventBody(event);
  const timestamp = Math.floor(Date.now() / 1_000);
  const answer = await deps.egress.fetch(url, {
    method: 'POST',
    headers: callbackHeaders(deps, { id, requestId: id.replace(/^evt_/, 'req_'), timestamp, body, secrets }),
    body,
    timeoutMs: deps.config.callbacks.timeoutSeconds * 1_000,
    maxBytes: receiverAnswerBytesMax,
    purpose: 'callback',
  });
  if (answer.kind === 'blocked') return { result: { kind: 'blocked' }, status: null };
  if (answer.kind === 'failed' && answer.status === undefined) return failed;
  const status = answer.status ?? 0;
  const retryAfterSeconds = answer.kind === 'answer' ? readRetryAfter(answer.headers['retry-after'], Date.now()) : null;
  return { result: { kind: 'answered', status, retryAfterSeconds }, status };
}

/** Without a mail server the mail waits for one, within the retry schedule. */
async function tryMail(
  { config: { alarms }, logger }: BalanceDeps,
  event: BalanceEvent,
): Promise<DeliveryResult | null> {
  if (event.mailTo === null) return null;
  if (alarms.smtpUrl === '') return { kind: 'failed' };
  const { projectId, projectName, thresholdCredits, threshold, balance, reserved } = event;
  const name = projectName || projectId;
  try {
    await sendMail(alarms.smtpUrl, {
      from: alarms.emailTo[0] ?? '',
      to: event.mailTo,
      subject: `The credits of ${name} are low`,
      text: [
        `The project ${name} (${projectId}) has ${balance + reserved} credits, of which running requests hold ${reserved}.`,
        `You asked to be told at ${thresholdCredits} credits${threshold.endsWith('%') ? ` (${threshold} of the last top-up)` : ''}.`,
        'You are told again when they fall to it after they were above it.',
        '',
      ].join('\n'),
    });
    return { kind: 'answered', status: 200, retryAfterSeconds: null };
  } catch (error) {
    logger.warn({ err: error, event_id: event.id }, 'the mail about a balance was not sent');
    return { kind: 'failed' };
  }
}
