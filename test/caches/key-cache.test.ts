import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { createKeyCache } from '../../src/caches/key-cache.ts';
import { createKey } from '../../src/services/projects/create-key.ts';
import { createProject } from '../../src/services/projects/create-project.ts';
import { testConfig } from '../support/test-config.ts';
import type { Database } from '../../src/db/database.ts';
import { createSealer } from '../../src/platform/crypto/seal.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { quickSettings } from '../support/gateway-settings.ts';

let books: TestDatabase;
let db: Database;
let apiKey: string;
let keyId: string;
const config = testConfig({ ...quickSettings, DATABASE_URL: 'postgresql://127.0.0.1/none', EGRESS_ALLOW_CIDRS: '' });
const { keyPeppers: peppers } = config.secrets;
beforeAll(async () => {
  books = await createTestDatabase();
  db = await books.open();
  const deps = { config, db, sealer: createSealer(config.secrets.masterKeys) };
  const { projectId } = await createProject(deps, { name: 'test', actor: 'test' });
  ({ apiKey, keyId } = await createKey(deps, { projectId, name: 'test', actor: 'test' }));
});
afterAll(() => books?.drop());

const guess = (): string => `sk-${randomBytes(24).toString('hex')}`;
const tooMany = { name: 'GatewayError', code: 'overloaded' };

describe('the cache of keys', () => {
  it('finds a key, and null for a secret that is none', async () => {
    const keys = createKeyCache(db, peppers, 2_000);
    expect(await keys.find(apiKey)).toMatchObject({ keyId, models: null, rpm: null });
    expect(await keys.find(guess())).toBeNull();
  });

  it('looks guessed secrets up in batches on one connection, and refuses those beyond a bound', async () => {
    const { statements, counting } = countStatements(db);
    const keys = createKeyCache(counting, peppers, 2_000);
    const answers = await Promise.allSettled(Array.from({ length: 2_000 }, () => keys.find(guess())));
    const refused = answers.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(1_000);
    for (const answer of refused) expect(answer).toMatchObject({ reason: tooMany });
    expect(answers.filter((answer) => answer.status === 'fulfilled' && answer.value !== null)).toEqual([]);
    expect(statements.running.max).toBe(1);
    expect(statements.total).toBeLessThan(10);
  });

  it('looks up a key that was valid before without waiting for guessed secrets', async () => {
    const guessesAnswered = Promise.withResolvers<void>();
    let isHeld = false;
    const slow = Object.create(db) as Database;
    slow.query = async (...args: Parameters<Database['query']>) => {
      const [digests] = args[2] as [Buffer[]];
      if (isHeld && digests.length > peppers.length) await guessesAnswered.promise;
      return db.query(...args);
    };
    const keys = createKeyCache(slow, peppers, 1);
    await keys.find(apiKey);
    isHeld = true;
    // The first one has a batch of its own, and the others the next one, which is not answered.
    const guesses = Array.from({ length: 100 }, () => keys.find(guess()));
    await guesses[0];
    expect(await keys.find(apiKey)).toMatchObject({ keyId });
    guessesAnswered.resolve();
    expect(new Set(await Promise.all(guesses))).toEqual(new Set([null]));
  });

  it('remembers a guessed secret as unknown until keys change', async () => {
    const { statements, counting } = countStatements(db);
    const keys = createKeyCache(counting, peppers, 2_000);
    const secret = guess();
    expect(await keys.find(secret)).toBeNull();
    // All in the turn in which the answer came, because a secret is remembered as unknown for a second only.
    expect(new Set(await Promise.all(Array.from({ length: 4 }, () => keys.find(secret))))).toEqual(new Set([null]));
    expect(statements.total).toBe(1);
    keys.forget();
    expect(await keys.find(secret)).toBeNull();
    expect(statements.total).toBe(2);
  });
});

/** The same database, with the number of statements that began and that ran at the same time. */
function countStatements(real: Database) {
  const statements = { total: 0, running: { now: 0, max: 0 } };
  const counting = Object.create(real) as Database;
  counting.query = async (...args: Parameters<Database['query']>) => {
    statements.total += 1;
    statements.running.now += 1;
    statements.running.max = Math.max(statements.running.max, statements.running.now);
    try {
      return await real.query(...args);
    } finally {
      statements.running.now -= 1;
    }
  };
  return { statements, counting };
}
