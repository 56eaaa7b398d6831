import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chat, chatFacts, keyFacts, requestIdOf, verdictOf } from '../services/chat/chats.ts';
import { heldModel, openHeldChannel, type HeldChannel } from '../services/chat/held-channel.ts';
import type { Answer } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { accountOf, entriesOf } from '../support/rows.ts';
import { ownPostgres, type OwnServer } from './own-servers.ts';

let postgres: OwnServer;
let gateway: Gateway;
let channel: HeldChannel;

const credits = 100;

beforeAll(async () => {
  // The WAL writer writes commits that did not wait for the disk. It sleeps most of the time, so that it can be stopped safely.
  // Nothing else may write them meanwhile: a worker of autovacuum waits for the disk, and who writes a page writes its WAL before.
  postgres = await ownPostgres({
    wal_writer_delay: '10s',
    autovacuum: 'off',
    bgwriter_lru_maxpages: '0',
    checkpoint_timeout: '1h',
  });
  gateway = await startGateway({ workers: 0, sandbox: false });
  channel = await openHeldChannel(gateway);
});
afterAll(async () => {
  await gateway?.stop();
  await channel?.close();
  await postgres?.close();
});

/** A chat that costs one credit. */
const ask = ({ apiKey }: TestProject, idempotencyKey?: string): Promise<Answer> =>
  chat(gateway, apiKey, 'admitted before the crash', {
    fields: heldModel,
    ...(idempotencyKey !== undefined && { headers: { 'idempotency-key': idempotencyKey } }),
  });

/** The holds of a project: whether each has an Idempotency-Key. */
async function holdsOf({ projectId }: TestProject): Promise<boolean[]> {
  const rows = await gateway.database.query<{ isIdempotent: boolean }>(
    'test-holds',
    'select is_idempotent from hold where project_id = $1 order by created_at',
    [projectId],
  );
  return rows.map(({ isIdempotent }) => isIdempotent);
}

/**
 * A project whose first chat is over and on disk, with all that the gateway writes about it later. So the next commit is the
 * admission of its next chat.
 */
async function quietProject(): Promise<TestProject> {
  const project = await gateway.project({ credits });
  const first = await ask(project);
  expect(verdictOf(first)).toBe('200');
  calls += 1;
  await eventually(async () => {
    const rows = await gateway.database.query('test-detail', 'select from api_detail where request_id = $1', [
      requestIdOf(first),
    ]);
    return rows.length === 1 && (await callsInHistory()) >= calls;
  });
  await stopWalWriter();
  return project;
}

/** The calls of all chats so far. */
let calls = 0;

/** Those of them that the API server has added to the history of the channel, which it does some seconds later. */
async function callsInHistory(): Promise<number> {
  const [row] = await gateway.database.query<{ calls: number }>(
    'test-history',
    `select coalesce(sum(ok + refused + transient + unknown), 0)::float8 as calls from channel_history where span = 'minute'`,
  );
  return row?.calls ?? 0;
}

/** From now on only a commit that waits for the disk writes the commits before it. The WAL writer stops while it sleeps, and so holds no lock. */
const stopWalWriter = () =>
  eventually(
    async () => {
      const { pid } = await walWriter();
      process.kill(pid, 'SIGSTOP');
      if ((await walWriter()).sleeps) return true;
      process.kill(pid, 'SIGCONT');
      return false;
    },
    { what: 'a WAL writer that sleeps' },
  );

async function walWriter(): Promise<{ pid: number; sleeps: boolean }> {
  const [row] = await gateway.database.query<{ pid: number; sleeps: boolean }>(
    'test-wal-writer',
    `select pid, wait_event is not distinct from 'WalWriterMain' as sleeps from pg_stat_activity where backend_type = 'walwriter'`,
  );
  if (!row) throw new Error('PostgreSQL has no WAL writer');
  return row;
}

/** Sends the chats one after another, each when the upstream has received the chat before, and kills PostgreSQL. */
async function crashDuring(project: TestProject, idempotencyKeys: (string | undefined)[]) {
  const release = channel.hold();
  const answers: Promise<Answer>[] = [];
  for (const key of idempotencyKeys) {
    answers.push(ask(project, key));
    await channel.holds(answers.length);
    calls += 1;
  }
  expect(await holdsOf(project)).toEqual(idempotencyKeys.map((key) => key !== undefined));
  await postgres.kill();
  return { answers, release };
}

/** Expects that the account and the key paid for `charged` credits, and that the ledger is consistent. */
async function expectPaid({ projectId, keyId }: TestProject, charged: number): Promise<void> {
  expect(await accountOf(gateway.database, projectId)).toEqual({ balance: credits - charged, reserved: 0 });
  expect(await keyFacts(gateway, keyId)).toEqual({ spent: charged, reserved: 0, inFlight: 0 });
  expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
}

describe('a PostgreSQL that crashes right after it admitted a chat', () => {
  it('may lose the hold of a chat without an Idempotency-Key, whose answer is then never delivered and costs nothing', async () => {
    const project = await quietProject();
    const { answers, release } = await crashDuring(project, ['kept', undefined]);
    await postgres.start();
    // The admission with a key waited for the disk, and nothing after it did.
    expect(await holdsOf(project)).toEqual([true]);
    release();
    const [kept, lost] = await Promise.all(answers);
    expect(verdictOf(lost!)).toBe('503 service_unavailable');
    expect(lost!.headers.get('x-should-retry')).toBe('false');
    expect(lost!.headers.has('x-tollgate-credits')).toBe(false);
    expect(await chatFacts(gateway, requestIdOf(lost!))).toBeUndefined();

    expect([verdictOf(kept!), kept!.headers.get('x-tollgate-credits')]).toEqual(['200', '1']);
    expect(await entriesOf(gateway.database, requestIdOf(kept!))).toEqual({ settle: 1 });
    const replay = await ask(project, 'kept');
    expect([replay.headers.get('idempotent-replayed'), replay.body]).toEqual(['true', kept!.body]);
    await expectPaid(project, 2);
  });

  it('keeps the hold if a later commit waited for the disk, and the answer is delivered and charged once', async () => {
    const project = await quietProject();
    const { answers, release } = await crashDuring(project, [undefined, 'later']);
    // The upstream answers while PostgreSQL is away.
    release();
    await postgres.start();
    for (const answer of await Promise.all(answers)) {
      expect([verdictOf(answer), answer.headers.get('x-tollgate-credits')]).toEqual(['200', '1']);
      expect(await entriesOf(gateway.database, requestIdOf(answer))).toEqual({ settle: 1 });
    }
    await expectPaid(project, 3);
  });
});
