import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { endsOf, eventually, expectOneSubmitPerAttempt, isRunning } from '../faults/crowd.ts';
import { ownPostgres, ownTemporal, type OwnServer } from '../faults/own-servers.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { startS3Server, type S3Server } from '../support/s3-server.ts';
import { openGate, startTraffic, type Gate, type Traffic } from './outage-traffic.ts';

/** The length of each outage in seconds. Shorter ones for a trial: `OUTAGE_SECONDS=postgres=5,temporal=20,files=10,provider=10`. */
const seconds = { postgres: 20, temporal: 300, files: 60, provider: 60 };
for (const [, name = '', value] of (process.env['OUTAGE_SECONDS'] ?? '').matchAll(/(\w+)=(\d+)/g))
  if (name in seconds) seconds[name as keyof typeof seconds] = Number(value);
/** After its return, everything is as before within this time. */
const recoverySecondsMax = Number(process.env['OUTAGE_RECOVERY_SECONDS'] ?? 15);

let postgres: OwnServer;
let temporal: OwnServer;
let s3: S3Server;
let files: Gate;
let provider: Gate;
let gateway: Gateway;
let project: TestProject;
let supervisor: NodeJS.Timeout;

beforeAll(async () => {
  [postgres, temporal, s3] = await Promise.all([ownPostgres(), ownTemporal(), startS3Server()]);
  files = await openGate(Number(new URL(s3.url).port));
  const filesEnv = Object.entries(s3.env).map(([name, value]): [string, string] => [
    name,
    value.replace(s3.url, `http://127.0.0.1:${files.port}`),
  ]);
  gateway = await startGateway({ env: { ...Object.fromEntries(filesEnv), TEMPORAL_NAMESPACE: 'default' } });
  provider = await openGate(Number(new URL(gateway.sandboxUrl).port));
  await gateway.database.query('', 'update channel set base_url = replace(base_url, $1, $2)', [
    gateway.sandboxUrl,
    `http://127.0.0.1:${provider.port}`,
  ]);
  project = await gateway.project({ credits: 1_000_000, rpm: null, inFlightMax: null });
  // A worker may end while Temporal is away. A supervisor starts it again.
  let starting: Promise<unknown> | undefined;
  supervisor = setInterval(() => {
    const workers = Object.entries(gateway.pids()).filter(([name]) => name.startsWith('worker'));
    if (!workers.some(([, pid]) => isRunning(pid)))
      starting ??= gateway
        .startWorker()
        .catch(() => undefined)
        .finally(() => (starting = undefined));
  }, 1_000);
});
afterAll(async () => {
  clearInterval(supervisor);
  await gateway?.stop();
  await Promise.all([provider?.shut(), files?.shut(), s3?.close()]);
  await Promise.all([postgres?.close(), temporal?.close()]);
});

/** Clients send throughout; the server is away for its time; a chat and a task are tried until both end well again. */
async function drill(
  name: keyof typeof seconds,
  leave: () => Promise<void>,
  comeBack: () => Promise<void>,
): Promise<Traffic & { recoverySeconds: number }> {
  const traffic = startTraffic(gateway, project.apiKey, `outage of ${name}`);
  await sleep(5_000);
  await leave();
  await sleep(seconds[name] * 1_000);
  await comeBack();
  const backAt = performance.now();
  await eventually(120, async () => (await isServing(name)) || 'a new task does not end');
  const recoverySeconds = (performance.now() - backAt) / 1_000;
  await traffic.stop();
  const counts = (statuses: readonly number[]) =>
    JSON.stringify(Object.fromEntries([...Map.groupBy(statuses, (one) => one)].map(([one, all]) => [one, all.length])));
  process.stdout.write(
    `${name} away for ${seconds[name]} s: creates ${counts(traffic.creates)}, chats ${counts(traffic.chats.map(({ status }) => status))}, ` +
      `serving ${recoverySeconds.toFixed(1)} s after its return\n`,
  );
  return { ...traffic, recoverySeconds };
}

/** A new task ends well, and so does a chat. */
async function isServing(name: string): Promise<boolean> {
  const { apiKey } = project;
  const messages = [{ role: 'user', content: 'again' }];
  const chat = await gateway
    .create(apiKey, '/api/v1/chat/completions', { model: 'mistral-small-4', max_tokens: 20, messages })
    .catch(() => null);
  if (chat?.status !== 200) return false;
  const body = { model: 'aurora-image-1', prompt: `again after the outage of ${name}` };
  const created = await gateway.create(apiKey, mediaRoutes.image, body).catch(() => null);
  if (created?.status !== 202) return false;
  return (await gateway.poll(apiKey, created.taskId).catch(() => null))?.status === 'succeeded';
}

/** Every accepted task ended with its result, with one job of the provider for each attempt; the books are in order. */
async function expectNothingLost({ taskIds }: Traffic, name: string): Promise<void> {
  const ends = await endsOf(gateway, project.projectId, 600);
  const ofDrill = ends.filter(({ id }) => taskIds.includes(id));
  expect(ofDrill).toHaveLength(taskIds.length);
  expect(ofDrill.filter(({ status }) => status !== 'succeeded')).toEqual([]);
  await expectOneSubmitPerAttempt(gateway, `outage of ${name}`);
  expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
}

describe('no create is refused, no task lost and none bought twice', () => {
  it('while PostgreSQL is away, but for its own time', async () => {
    const outcome = await drill(
      'postgres',
      () => postgres.stop(),
      () => postgres.start(),
    );
    expect(outcome.creates.filter((status) => ![202, 503, 0].includes(status))).toEqual([]);
    await expectNothingLost(outcome, 'postgres');
    expect(outcome.recoverySeconds).toBeLessThanOrEqual(recoverySecondsMax);
  });

  it('while Temporal is away', async () => {
    const outcome = await drill(
      'temporal',
      () => temporal.stop(),
      () => temporal.start(),
    );
    expect(outcome.creates.filter((status) => status !== 202)).toEqual([]);
    expect(outcome.chats.filter(({ status }) => status !== 200)).toEqual([]);
    await expectNothingLost(outcome, 'temporal');
    expect(outcome.recoverySeconds).toBeLessThanOrEqual(recoverySecondsMax);
  });

  it('while the file store is away', async () => {
    const outcome = await drill(
      'files',
      () => files.shut(),
      () => files.open(),
    );
    expect(outcome.creates.filter((status) => status !== 202)).toEqual([]);
    expect(outcome.chats.filter(({ status }) => status !== 200)).toEqual([]);
    await expectNothingLost(outcome, 'files');
    expect(outcome.recoverySeconds).toBeLessThanOrEqual(recoverySecondsMax);
  });

  it('while the provider is away', async () => {
    const outcome = await drill(
      'provider',
      () => provider.shut(),
      () => provider.open(),
    );
    expect(outcome.creates.filter((status) => status !== 202)).toEqual([]);
    await expectNothingLost(outcome, 'provider');
    expect(outcome.recoverySeconds).toBeLessThanOrEqual(recoverySecondsMax);
  });
});
