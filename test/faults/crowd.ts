import { expect } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { mediaRoutes, type Answer } from '../support/api-client.ts';
import type { Gateway } from '../support/gateway.ts';

export interface Ended {
  id: string;
  status: string;
  errorCode: string | null;
  creditsCharged: number;
  creditsRefunded: number;
}

const image = (prompt: string) => ({ model: 'aurora-image-1', prompt });
export const imageCredits = 4;

/** Sends one create with its own Idempotency-Key. Returns null if the connection breaks. */
export async function tryCreate(
  gateway: Gateway,
  apiKey: string,
  { prompt, key, baseUrl = gateway.baseUrl }: { prompt: string; key: string; baseUrl?: string },
): Promise<Answer | null> {
  return gateway
    .create(apiKey, mediaRoutes.image, image(prompt), { headers: { 'idempotency-key': key }, baseUrl })
    .catch(() => null);
}

/** Repeats a create with the same Idempotency-Key until it is accepted, as a client does. */
export async function insist(
  gateway: Gateway,
  apiKey: string,
  request: { prompt: string; key: string; baseUrl?: string },
): Promise<string> {
  const until = Date.now() + 120_000;
  for (;;) {
    const isLast = Date.now() > until;
    const answer = await tryCreate(gateway, apiKey, request);
    if (answer?.status === 202) return answer.taskId;
    if (isLast)
      throw new Error(`The create was not accepted within 120 s: ${answer?.status} ${JSON.stringify(answer?.body)}`);
    await sleep(200);
  }
}

/** Waits until every task of the project has ended and returns the admitted tasks. */
export async function endsOf(gateway: Gateway, projectId: string, secondsMax = 200): Promise<Ended[]> {
  await eventually(secondsMax, async () => {
    const [row] = await gateway.database.query<{ open: number }>(
      'open-tasks',
      `select count(*) as open from task where project_id = $1 and completed_at is null`,
      [projectId],
    );
    return row?.open === 0 || `${row?.open} tasks have not ended`;
  });
  return gateway.database.query<Ended>(
    'ended-tasks',
    `select id, status, error_code, credits_charged, credits_refunded from task
     where project_id = $1 and admission = 'reserved' order by id`,
    [projectId],
  );
}

/** The number of the project's attempts that meet the SQL condition. */
export async function countAttempts(gateway: Gateway, projectId: string, condition: string): Promise<number> {
  const [row] = await gateway.database.query<{ n: number }>(
    '',
    `select count(*) as n from attempt a join task t on t.id = a.request_id where t.project_id = $1 and ${condition}`,
    [projectId],
  );
  return row?.n ?? 0;
}

/** Expects one attempt row for every submit at the sandbox, so that no submit was sent twice. Returns their number. */
export async function expectOneSubmitPerAttempt(gateway: Gateway, text: string): Promise<number> {
  const submits = await gateway.hits(text, 'submit');
  const keys = submits.map(({ idempotency_key: key }) => key);
  expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
  const attempts = await gateway.database.query<{ id: string; channelName: string }>(
    '',
    'select id, channel_name from attempt where id = any ($1)',
    [keys],
  );
  const channels = new Map(attempts.map(({ id, channelName }) => [id, channelName]));
  for (const { channel, idempotency_key: key } of submits) expect(channels.get(key ?? '')).toBe(channel);
  return submits.length;
}

/** Expects that the account matches the charges of the tasks and that every invariant of the ledger holds. */
export async function expectBooksInOrder(
  gateway: Gateway,
  { projectId, credits }: { projectId: string; credits: number },
): Promise<void> {
  const report = await gateway.verifyLedger();
  expect(Object.entries(report.invariants).filter(([, { breaches }]) => breaches > 0)).toEqual([]);
  const [account] = await gateway.database.query<{ balance: number; reserved: number; charged: number }>(
    '',
    `select a.balance, a.reserved, (select coalesce(sum(t.credits_charged), 0)::bigint from task t where t.project_id = a.project_id) as charged
     from credit_account a where a.project_id = $1`,
    [projectId],
  );
  expect(account).toEqual({ balance: credits - (account?.charged ?? 0), reserved: 0, charged: account?.charged });
}

/** Repeats `check` until it returns true. Throws with its last result after `secondsMax`. */
export async function eventually(secondsMax: number, check: () => Promise<true | string>): Promise<void> {
  const until = Date.now() + secondsMax * 1_000;
  for (;;) {
    const isLast = Date.now() > until;
    const result = await check().catch((error: unknown) => String(error));
    if (result === true) return;
    if (isLast) throw new Error(`Not true after ${secondsMax} s: ${result}`);
    await sleep(100);
  }
}

export const isRunning = (pid: number | undefined): boolean => {
  if (pid === undefined) return false;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
