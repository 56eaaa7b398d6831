import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { deliverCallback, type DeliverDeps } from '../../../src/services/callbacks/deliver-callback.ts';
import { callbackSecretContext, newWebhookSecret } from '../../../src/services/projects/callback-secret.ts';
import { testConfig } from '../../support/test-config.ts';
import type { Database } from '../../../src/db/database.ts';
import type { Ledger } from '../../../src/db/ledger/ledger.ts';
import { createSendSlots } from '../../../src/platform/send-slots.ts';
import { createEgress, type EgressSettings } from '../../../src/platform/egress/egress.ts';
import { createLogger } from '../../../src/platform/observe/logger.ts';
import { createMetrics } from '../../../src/platform/observe/metrics.ts';
import type { ResolvedAddress } from '../../../src/platform/egress/resolve-name.ts';
import { createSealer, deriveKeys } from '../../../src/platform/crypto/seal.ts';
import { createUrlSigner } from '../../../src/platform/crypto/signed-url.ts';
import { admitted, breachesIn, newTask, openBook, openLedger, rowsOf, run, taskEnd } from '../../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { quickCallbacks } from './receiver.ts';
import { spec } from '../../spec/spec.ts';

const PUBLIC: ResolvedAddress = { address: '93.184.216.34', family: 4 };
const LOOPBACK: ResolvedAddress = { address: '127.0.0.1', family: 4 };

let scratch: TestDatabase;
let db: Database;
let ledger: Ledger;
/** Listens on loopback. It must receive no connection, because every address in these tests is blocked. */
let sentinel: { port: number; connections: () => number; close: () => Promise<void> };
beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  ledger = openLedger(db);
});
afterAll(() => scratch.drop());
beforeEach(async () => (sentinel = await startSentinel()));
afterEach(async () => {
  expect(sentinel.connections()).toBe(0);
  await sentinel.close();
  expect(await breachesIn(db)).toEqual([]);
});

describe('a callback to an address that is not public', () => {
  it.each([
    ['loopback', [LOOPBACK]],
    ['a private address beside a public one', [PUBLIC, LOOPBACK]],
    ['the metadata service', [{ address: '169.254.169.254', family: 4 }]],
    ['a private IPv6 address beside a public IPv4 one', [PUBLIC, { address: 'fd00:ec2::254', family: 6 }]],
    ['loopback mapped into IPv6', [{ address: '::ffff:127.0.0.1', family: 6 }]],
  ])('is blocked finally, without a connection, if its name resolves to %s', async (_what, addresses) => {
    const { deliveryId, taskId } = await pendingDelivery(`https://hooks.example:${sentinel.port}/`);
    const report = await deliverCallback(depsWith({ resolver: () => Promise.resolve(addresses) }), deliveryId);
    expect(report).toEqual({ over: true, waitMs: 0, delivered: false });
    expect(await deliveryOf(deliveryId)).toEqual({
      state: 'blocked',
      attempts: 1,
      lastStatus: null,
      errorClass: 'blocked:address',
    });
    await expectTaskUntouched(taskId);
    // A further call sends nothing, because `blocked` is final.
    expect(await deliverCallback(depsWith({ resolver: () => Promise.resolve([PUBLIC]) }), deliveryId)).toEqual({
      over: true,
      waitMs: 0,
      delivered: false,
    });
    expect(await deliveryOf(deliveryId)).toMatchObject({ state: 'blocked', attempts: 1 });
  });

  it('is blocked if the name resolves to a blocked address at the second try', async () => {
    spec('6 callback_url');
    const { deliveryId } = await pendingDelivery(`https://hooks.example:${sentinel.port}/`);
    const answers = [[PUBLIC], [LOOPBACK]];
    const dialled: string[] = [];
    const deps = depsWith({
      resolver: () => Promise.resolve(answers.shift() ?? [LOOPBACK]),
      dial: (addresses) => {
        dialled.push(...addresses.map(({ address }) => address));
        return refusedConnection();
      },
    });
    expect(await deliverCallback(deps, deliveryId)).toMatchObject({ over: false });
    expect(await deliveryOf(deliveryId)).toMatchObject({
      state: 'pending',
      attempts: 1,
      errorClass: 'failed:connect',
    });
    await due(deliveryId);
    expect(await deliverCallback(deps, deliveryId)).toEqual({ over: true, waitMs: 0, delivered: false });
    expect(await deliveryOf(deliveryId)).toMatchObject({ state: 'blocked', attempts: 2 });
    expect(dialled).toEqual([PUBLIC.address]);
  });

  it('is resolved once per try, and the connection goes to the resolved address', async () => {
    const { deliveryId } = await pendingDelivery(`https://hooks.example:${sentinel.port}/`);
    let lookups = 0;
    const dialled: string[][] = [];
    await deliverCallback(
      depsWith({
        resolver: () => Promise.resolve(++lookups === 1 ? [PUBLIC] : [LOOPBACK]),
        dial: (addresses) => {
          dialled.push(addresses.map(({ address }) => address));
          return refusedConnection();
        },
      }),
      deliveryId,
    );
    expect([lookups, dialled]).toEqual([1, [[PUBLIC.address]]]);
  });

  it('is blocked if the setting that allowed its range at create has changed', async () => {
    const { deliveryId } = await pendingDelivery(`http://127.0.0.1:${sentinel.port}/`);
    expect(await deliverCallback(depsWith({ allowCidrs: ['10.0.0.0/8'] }), deliveryId)).toEqual({
      over: true,
      waitMs: 0,
      delivered: false,
    });
    expect(await deliveryOf(deliveryId)).toMatchObject({ state: 'blocked', attempts: 1 });
  });
});

describe('a callback whose name cannot be resolved', () => {
  it('is retried later', async () => {
    const { deliveryId, taskId } = await pendingDelivery(`https://hooks.example:${sentinel.port}/`);
    const resolver = () => Promise.reject(new Error('getaddrinfo ENOTFOUND hooks.example'));
    expect(await deliverCallback(depsWith({ resolver }), deliveryId)).toMatchObject({ over: false });
    expect(await deliveryOf(deliveryId)).toEqual({
      state: 'pending',
      attempts: 1,
      lastStatus: null,
      errorClass: 'failed:dns',
    });
    await expectTaskUntouched(taskId);
  });
});

const config = testConfig({
  ...quickCallbacks,
  DATABASE_URL: 'postgresql://127.0.0.1/none',
  KEY_PEPPERS: `p1:${Buffer.alloc(32, 1).toString('base64')}`,
  MASTER_KEYS: `m1:${Buffer.alloc(32, 2).toString('base64')}`,
});
const sealer = createSealer(config.secrets.masterKeys);

const depsWith = (settings: Partial<EgressSettings>): DeliverDeps => ({
  callbackSlots: createSendSlots(),
  config,
  db,
  sealer,
  egress: createEgress({ allowCidrs: [], callbackPorts: [sentinel.port], ...settings }),
  urls: createUrlSigner({ keys: deriveKeys(config.secrets.masterKeys, 'file-urls'), baseUrl: 'http://127.0.0.1' }),
  logger: createLogger('silent', 'test'),
  metrics: createMetrics(),
});

/** The callback of a task that has just failed. */
async function pendingDelivery(callbackUrl: string): Promise<{ taskId: string; deliveryId: string }> {
  const book = await openBook(db, { credits: 10 });
  const sealed = sealer.seal(newWebhookSecret(), callbackSecretContext(book.projectId));
  await run(db, 'update project set callback_secret = $2 where id = $1', [book.projectId, sealed]);
  const { taskId } = await admitted(ledger, newTask(book, 4, { callbackUrl }));
  const { deliveryId } = await ledger.finishTask(taskEnd(taskId, 'failed'));
  if (deliveryId === null) throw new Error('the end of the task created no delivery');
  return { taskId, deliveryId };
}

async function deliveryOf(deliveryId: string) {
  const [row] = await rowsOf(
    db,
    `select d.state, d.attempts, d.last_status,
       (select a.error_class from delivery_attempt a where a.delivery_id = d.id order by a.n desc limit 1) as error_class
     from delivery d where d.id = $1`,
    [deliveryId],
  );
  return row;
}

async function expectTaskUntouched(taskId: string): Promise<void> {
  expect(await rowsOf(db, 'select status, error_code from task where id = $1', [taskId])).toEqual([
    { status: 'failed', errorCode: 'upstream_failed' },
  ]);
  expect(await rowsOf(db, 'select kind from ledger_entry where request_id = $1 order by kind', [taskId])).toEqual([
    { kind: 'refund' },
  ]);
}

const due = (deliveryId: string) =>
  run(db, 'update delivery set next_attempt_at = clock_timestamp() where id = $1', [deliveryId]);

async function startSentinel() {
  let count = 0;
  const server = createServer((socket) => {
    count += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    connections: () => count,
    close: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

/** A connection to a local port that refuses it. */
const refusedConnection = (): Socket => connect({ host: '127.0.0.1', port: 1 });
