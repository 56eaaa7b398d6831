import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { admitAlone, admitTogether } from '../../../src/db/chat/admit-together.ts';
import type { ChatSettlement } from '../../../src/db/chat/chat-ledger.ts';
import { endAlone, endTogether } from '../../../src/db/chat/end-chats.ts';
import { Database, type Query, type Transaction } from '../../../src/db/database.ts';
import { RateLimiter } from '../../../src/db/projects/rate-limiter.ts';
import { addCredits } from '../../../src/services/ledger/add-credits.ts';
import { awayFromMidnight } from '../../support/away-from-midnight.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { newId, openBook, patienceMs, run, type Book } from '../books.ts';
import { anAdmission, openChatLedger, settledEnd } from '../chat-books.ts';

await awayFromMidnight();

let scratch: TestDatabase;
let db: Database;
const books: Partial<Record<string, Book>> = {};

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  books['none'] = await openBook(db, { credits: 20 });
  books['open'] = await aBookWithGrant(3_600);
  books['due'] = await aBookWithGrant(3_600);
  await run(db, `update credit_grant set ends_at = clock_timestamp() where project_id = $1`, [books['due'].projectId]);
  await run(db, `update credit_account set grant_due_at = clock_timestamp() where project_id = $1`, [
    books['due'].projectId,
  ]);
  await run(
    db,
    `insert into model (id, position, entry, private) values ('model-a', 1, '{"type": "chat"}', '{"aliases": ["alias-a"]}')`,
  );
});
afterAll(() => scratch?.drop());

async function aBookWithGrant(seconds: number): Promise<Book> {
  const book = await openBook(db, { credits: 5 });
  const expiresAt = new Date(Date.now() + seconds * 1_000);
  await addCredits(
    { db },
    { projectId: book.projectId, amount: 15, reference: newId('grant'), actor: 'test', expiresAt },
  );
  return book;
}

/** What a case changes of the account, the key, its project and its window before the call: SQL with the ids of project and key as $1 and $2. */
const states: Record<string, readonly string[]> = {
  account: [
    '',
    'update credit_account set balance = 6 where project_id = $1',
    'update credit_account set balance = 5 where project_id = $1',
    'update credit_account set balance = 2, overdraft = 4, overdraft_max = 4 where project_id = $1',
    'update credit_account set balance = -3, overdraft = 8, overdraft_max = 8 where project_id = $1',
  ],
  budget: [
    '',
    'update api_key set budget = 10, spent = 2, reserved = 2 where id = $2',
    'update api_key set budget = 10, spent = 3, reserved = 2 where id = $2',
    'update api_key set budget_daily = 9, day_spent = 3, day_reserved = 1 where id = $2',
    'update api_key set budget_daily = 11, budget_monthly = 14, day_spent = 4, day_reserved = 1, month_spent = 7, month_reserved = 1 where id = $2',
    'update api_key set budget_monthly = 13, month_spent = 5, month_reserved = 3 where id = $2',
  ],
  usedOn: [
    '',
    ...['current_date', 'current_date - 1', 'current_date - 40', 'current_date + 1', 'current_date + 40'].map(
      (day) =>
        `update api_key set used_on = ${day}, day_spent = day_spent + 1, month_spent = month_spent + 1 where id = $2`,
    ),
  ],
  key: [
    '',
    `update api_key set last_used_at = clock_timestamp() where id = $2`,
    `update api_key set last_used_at = clock_timestamp() - interval '2 minutes' where id = $2`,
    `update api_key set expires_at = clock_timestamp() + interval '1 hour' where id = $2`,
    'update api_key set expires_at = clock_timestamp() where id = $2',
    'update api_key set revoked_at = clock_timestamp() where id = $2',
    `update project set status = 'disabled' where id = $1`,
  ],
  models: [
    '',
    ...[`'model-a'`, `'model-b'`, `'model-b', 'model-a'`, `'alias-a'`, `'other-*'`].map(
      (models) => `update api_key set models = array[${models}] where id = $2`,
    ),
  ],
  inFlight: [
    '',
    'update api_key set in_flight_max = 2, in_flight = 1 where id = $2',
    'update api_key set in_flight_max = 2, in_flight = 2 where id = $2',
  ],
  window: [
    '',
    window(0, [0]),
    window(0, [2]),
    window(0, [2, 1]),
    window(3, [1, 0, 1]),
    window(30, [1, 0, 1]),
    window(58, [1, 0, 1, 1]),
    window(60, [1]),
    window(200, [3]),
    window(-5, [1, 1]),
    `${window(2, [1])}; update rate_window set senders = '{8, 9}', last_batches = '{1, 1}', last_granted = '{1, 0}' where key_id = $2`,
    `${window(2, [1])}; update rate_window set senders = '{9, 8}', last_batches = '{7, 1}', last_granted = '{0, 1}' where key_id = $2`,
    `${window(2, [1])}; update rate_window set senders = array(select generate_series(100, 163)), last_batches = array_fill(1, array[64]), last_granted = array_fill(1, array[64]) where key_id = $2`,
  ],
  grants: ['none', 'open', 'due'],
  rpm: ['', '3', '1'],
  credits: ['6', '3'],
  sentBefore: ['', 'yes'],
};

/** A window whose newest second was `secondsAgo`, with the counts of that second and the ones before it. */
function window(secondsAgo: number, counts: readonly number[]): string {
  const total = counts.reduce((sum, n) => sum + n, 0);
  const oldest = counts.findLastIndex((n) => n > 0);
  return `insert into rate_window (key_id, second, oldest, counts, total)
    select $2, at, at - ${Math.max(oldest, 0)}, array[${counts.join(', ')}] || array_fill(0, array[${61 - counts.length}]), ${total}
    from (select floor(extract(epoch from clock_timestamp()))::bigint - ${secondsAgo} as at) planted`;
}

/** Every value of each dimension beside the first ones of the others, then as many random combinations. */
function casesOf(dimensions: Record<string, readonly string[]>, randomCases: number): Record<string, string>[] {
  const names = Object.keys(dimensions);
  const first = Object.fromEntries(names.map((name) => [name, dimensions[name]?.[0] ?? '']));
  const single = names.flatMap((name) => (dimensions[name] ?? []).map((value) => ({ ...first, [name]: value })));
  let seed = 20_261_126;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * below);
  };
  // Of a random case two thirds of the values are the first ones, so that many of them are admitted.
  const mixed = Array.from({ length: randomCases }, () =>
    Object.fromEntries(
      names.map((name) => [name, random(3) < 2 ? first[name] : dimensions[name]?.[random(dimensions[name].length)]]),
    ),
  );
  return [...single, ...mixed] as Record<string, string>[];
}

/** Every row that the two functions may touch of the project, without ids and with the days of times. */
async function rowsOfProject(query: Query, { projectId, keyId }: Book): Promise<unknown[]> {
  const tables = {
    credit_account: 'project_id = $1',
    api_key: 'id = $2',
    hold: 'project_id = $1',
    rate_window: 'key_id = $2',
    ledger_entry: 'project_id = $1',
    attempt: `request_id in (select id from hold where project_id = $1 union select request_id from ledger_entry where project_id = $1)`,
    idempotency: 'project_id = $1',
    credit_grant: 'project_id = $1',
    grant_interval: 'project_id = $1',
  };
  const parts = Object.entries(tables).map(
    ([table, where]) =>
      `select '${table}' as of_table, to_jsonb(t) ${table === 'ledger_entry' ? `- 'id'` : ''} as row_of from ${table} t where ${where}`,
  );
  const text = `select of_table, row_of from (${parts.join(' union all ')}) rows where $1::text || $2::text is not null order by 1, 2`;
  const rows = await query<{ ofTable: string; rowOf: object }>('', text, [projectId, keyId]);
  const written = JSON.stringify(rows).replace(/"(\d{4}-\d\d-\d\d)T[^"]*"/g, '"$1"');
  return JSON.parse(written) as unknown[];
}

class RolledBack extends Error {}

/** What two calls answer and leave, each from the state that `prepare` makes and within the same second of the database's clock. */
async function both(
  book: Book,
  prepare: (query: Query, inside: Transaction) => Promise<void>,
  calls: readonly ((inside: Transaction) => Promise<unknown>)[],
): Promise<unknown[]> {
  for (;;) {
    const found: unknown[] = [];
    const seconds = new Set<number>();
    const second = async (query: Query): Promise<void> => {
      const text = 'select floor(extract(epoch from clock_timestamp()))::float8 as now';
      seconds.add((await query<{ now: number }>('', text))[0]?.now ?? 0);
    };
    await db
      .transaction('begin', async (query, inside) => {
        await second(query);
        await prepare(query, inside);
        for (const call of calls) {
          await query('', 'savepoint prepared');
          const answer = await call(inside);
          found.push({ answer, rows: await rowsOfProject(query, book) });
          await query('', 'rollback to savepoint prepared');
        }
        await second(query);
        throw new RolledBack();
      })
      .catch((error: unknown) => {
        if (!(error instanceof RolledBack)) throw error;
      });
    if (seconds.size === 1) return found;
  }
}

async function bring(query: Query, { projectId, keyId }: Book, text = ''): Promise<void> {
  for (const statement of text.split('; ').filter((one) => one !== ''))
    await query('', statement.replaceAll('$1', `'${projectId}'`).replaceAll('$2', `'${keyId}'`));
}

describe('a chat alone', () => {
  it('is admitted or refused with the verdict and the rows of a batch of one, in every state of account, key, grants and rate', async () => {
    const verdicts = new Map<string, number>();
    for (const state of casesOf(states, 120)) {
      const book = books[state['grants'] ?? ''];
      if (!book) throw new Error('no book');
      const rpm = state['rpm'] === '' ? null : Number(state['rpm']);
      const chat = anAdmission(book, { credits: Number(state['credits']), rpm, holdSeconds: 60 });
      const counted = { sender: 9, batch: 2, again: false, positions: [rpm === null ? null : 1] };
      const prepare = async (query: Query, inside: Transaction): Promise<void> => {
        if (state['sentBefore']) await admitTogether(inside, [chat], { ...counted, batch: 1 });
        for (const name of ['account', 'budget', 'usedOn', 'key', 'models', 'inFlight'])
          await bring(query, book, state[name]);
        if (!state['sentBefore'] || rpm === null) await bring(query, book, state['window']);
      };
      const [alone, together] = await both(book, prepare, [
        (inside) => admitAlone(inside, chat, counted),
        (inside) => admitTogether(inside, [chat], counted),
      ]);
      expect({ state, of: alone }).toEqual({ state, of: together });
      const [{ verdict = '' } = {}] = (alone as { answer: { verdict?: string }[] }).answer;
      verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
    }
    expect([...verdicts.keys()].sort()).toEqual([
      'admitted',
      'concurrency_limit_exceeded',
      'insufficient_credits',
      'invalid_api_key',
      'key_budget_exceeded',
      'model_not_allowed',
      'rate_limit_exceeded',
    ]);
    expect(verdicts.get('admitted')).toBeGreaterThan(60);
  });

  it('is charged with the result and the rows of a batch of one, in every state of hold, grants and key', async () => {
    const ends: Record<string, readonly string[]> = {
      settle: ['4', '0', '6', '9'],
      grants: ['none', 'open', 'due'],
      hold: [
        '',
        `update hold set is_idempotent = true where project_id = $1`,
        `delete from hold where project_id = $1`,
        `select end_grant_interval($1)`,
        ...['1 day', '40 days', '-1 day'].map(
          (age) => `update hold set created_at = created_at - interval '${age}' where project_id = $1`,
        ),
        'ended',
      ],
      usedOn: states['usedOn'] ?? [],
      facts: ['plain', 'classes', 'estimated'],
    };
    for (const state of casesOf(ends, 60)) {
      const book = books[state['grants'] ?? ''];
      if (!book) throw new Error('no book');
      const chat = anAdmission(book, { credits: 6, holdSeconds: 60 });
      const end: ChatSettlement = {
        ...settledEnd(chat, Number(state['settle'])),
        ...(state['facts'] === 'classes' && { tokenClasses: { cached: 3, cacheWrite1h: 2 }, reason: 'client_left' }),
        ...(state['facts'] === 'estimated' && { usageEstimated: true, deliveredTokens: null, costMicroUsd: 12 }),
      };
      const prepare = async (query: Query, inside: Transaction): Promise<void> => {
        await admitTogether(inside, [chat], { sender: 9, batch: 1, again: false, positions: [null] });
        if (state['hold'] === 'ended') await endTogether(inside, [end]);
        else await bring(query, book, state['hold']);
        await bring(query, book, state['usedOn']);
      };
      const [alone, together] = await both(book, prepare, [
        (inside) => endAlone(inside, end),
        (inside) => endTogether(inside, [end]),
      ]);
      expect({ state, of: alone }).toEqual({ state, of: together });
    }
  });

  it('shares the rate of its key with requests other than chats, one after another in four processes', async () => {
    const book = await openBook(db, { credits: 100 });
    const others = await Promise.all([1, 2, 3, 4].map(() => scratch.open({ poolMax: 1 })));
    const counts = await Promise.all(
      others.map(async (other, process) => {
        const chats = openChatLedger(other);
        const limiter = new RateLimiter(other, { membersMax: 8, patienceMs });
        let granted = 0;
        for (let n = 0; n < 12; n += 1) {
          const isChat = (n + process) % 2 === 0;
          const passed = isChat
            ? (await chats.admit(anAdmission(book, { rpm: 20 }))).verdict.kind === 'admitted'
            : (await limiter.hit(book.keyId, 20)).admitted;
          if (passed) granted += 1;
        }
        return granted;
      }),
    );
    expect(counts.reduce((sum, n) => sum + n, 0)).toBe(20);
  });

  it('takes PostgreSQL one statement for its admission and one for its end, with one and two inside', async () => {
    const book = await openBook(db, { credits: 100 });
    const counted = await openCounted();
    try {
      const chats = openChatLedger(counted.database);
      const oneChat = async (): Promise<void> => {
        const chat = anAdmission(book, { rpm: 1_000, credits: 3 });
        expect((await chats.admit(chat)).verdict.kind).toBe('admitted');
        expect(await chats.end(settledEnd(chat, 2))).toMatchObject({ ended: true });
      };
      // The first chat of a key makes its rate window, which takes the function of batches.
      await oneChat();
      counted.statements.length = 0;
      await oneChat();
      expect(counted.statements).toEqual([
        'with fit',
        'select * from admit_chats_alone',
        'SELECT pg_advisory_xact_lock',
        'with released',
        'select * from finish_chats_alone',
      ]);
    } finally {
      await counted.close();
    }
  });
});

/** A pool of one connection, with the beginning of each statement that PostgreSQL ran for it, also of those inside functions, in the order of their ends. */
async function openCounted(): Promise<{ database: Database; statements: string[]; close(): Promise<void> }> {
  const pool = new pg.Pool({ connectionString: scratch.url, max: 1, idleTimeoutMillis: 0 });
  const statements: string[] = [];
  pool.on('connect', (client) =>
    client.on('notice', ({ message = '' }) => {
      const begin = /Query Text: (\w+(?: \* from)? \w+)/i.exec(message)?.[1];
      if (begin !== undefined) statements.push(begin);
    }),
  );
  await pool.query(`load 'auto_explain'`);
  for (const setting of [
    `auto_explain.log_min_duration = 0`,
    `auto_explain.log_nested_statements = on`,
    `client_min_messages = log`,
  ])
    await pool.query(`set ${setting}`);
  return {
    database: new Database(pool, () => Promise.reject(new Error('no MikroORM'))),
    statements,
    close: () => pool.end(),
  };
}
