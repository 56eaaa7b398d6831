import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { Database } from '../../../src/db/database.ts';
import { cli } from '../../../src/main/cli.ts';
import { rowsOf, run } from '../../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let books: TestDatabase;
let db: Database;
let home: string;
let settings: Record<string, string>;

beforeAll(async () => {
  books = await createTestDatabase();
  db = await books.open();
  home = mkdtempSync(join(tmpdir(), 'tollgate-callback-secret-'));
  settings = {
    DATABASE_URL: books.runtimeUrl,
    KEY_PEPPERS: `p1:${randomBytes(32).toString('base64')}`,
    MASTER_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    TOLLGATE_HOME: home,
  };
});
afterAll(async () => {
  await books?.drop();
  rmSync(home, { recursive: true, force: true });
});
afterEach(() => void jest.restoreAllMocks());

async function tollgate(...args: string[]): Promise<{ code: number; printed: unknown }> {
  const written: string[] = [];
  const code = await cli([...args, '--json'], settings, (text) => written.push(text));
  return { code, printed: JSON.parse(written.join('')) };
}
const secret = (...args: string[]) => tollgate('projects', 'secret', ...args);

const Secret = z.strictObject({
  project_id: z.string(),
  webhook_secret: z.string(),
  previous_secret: z.string().nullable(),
  previous_until: z.number().int().nullable(),
});
async function done(...args: string[]): Promise<z.infer<typeof Secret>> {
  const { code, printed } = await secret(...args);
  expect({ code, printed }).toMatchObject({ code: 0 });
  return Secret.parse(printed);
}
async function newProject(): Promise<{ id: string; first: string }> {
  const { printed } = await tollgate('projects', 'create', '--name', 'test');
  const made = z.strictObject({ project_id: z.string(), webhook_secret: z.string() }).parse(printed);
  return { id: made.project_id, first: made.webhook_secret };
}
const rotationsOf = (id: string) =>
  rowsOf(db, `select detail from audit_entry where subject = $1 and action = 'projects.secret.rotate' order by id`, [
    id,
  ]);
const endOverlap = (id: string) =>
  run(db, `update project set callback_secret_previous_until = clock_timestamp() where id = $1`, [id]);

describe('tollgate projects secret rotate', () => {
  it('is refused until the overlap of an earlier rotation ends, and names that time', async () => {
    const { id, first } = await newProject();
    const rotated = await done('rotate', id);
    expect(rotated).toMatchObject({ project_id: id, previous_secret: first });
    const { code, printed } = await secret('rotate', id);
    expect(code).toBe(1);
    const until = new Date((rotated.previous_until ?? 0) * 1_000).toISOString().replace('.000Z', 'Z');
    expect(printed).toEqual({
      error: { message: expect.stringMatching(new RegExp(`until ${until}.*--force`, 's')) },
    });
    expect(await done('show', id)).toEqual(rotated);
    expect(await rotationsOf(id)).toHaveLength(1);

    await endOverlap(id);
    expect(await done('rotate', id)).toMatchObject({ previous_secret: rotated.webhook_secret });
  });

  it('creates one new secret for three concurrent calls', async () => {
    const { id, first } = await newProject();
    const answers = await Promise.all([secret('rotate', id), secret('rotate', id), secret('rotate', id)]);
    expect(answers.map(({ code }) => code).sort()).toEqual([0, 1, 1]);
    expect(await done('show', id)).toMatchObject({ previous_secret: first });
  });

  it('with --force ends the older secret immediately, which the audit log records', async () => {
    const { id, first } = await newProject();
    const { webhook_secret: second } = await done('rotate', id);
    const third = await done('rotate', id, '--force');
    expect(third.previous_secret).toBe(second);
    expect([first, second]).not.toContain(third.webhook_secret);
    expect(await rotationsOf(id)).toEqual([{ detail: {} }, { detail: { forced: true } }]);
  });

  it('shows the new secret even if the old one cannot be decrypted', async () => {
    const { id } = await newProject();
    await run(db, `update project set callback_secret = replace(callback_secret, 'v2.k1.', 'v2.k0.') where id = $1`, [
      id,
    ]);
    const { code, printed } = await secret('show', id);
    expect(code).toBe(1);
    expect(printed).toEqual({ error: { message: expect.stringContaining('projects secret rotate') } });
    const rotated = await done('rotate', id);
    expect(rotated.webhook_secret).toMatch(/^whsec_/);
    // Another process may have the master key of the old secret, so the overlap remains.
    expect(rotated).toMatchObject({ previous_secret: null, previous_until: expect.any(Number) });
    expect(await done('show', id)).toEqual(rotated);
  });

  it('refuses a project that does not exist', async () => {
    expect(await secret('rotate', 'prj_none')).toMatchObject({ code: 1 });
  });
});

describe('tollgate projects secret show', () => {
  it('uses the clock of the database for the overlap, as the signatures do', async () => {
    const { id, first } = await newProject();
    await done('rotate', id);
    const now = Date.now();
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now + 7 * 86_400_000);
    expect(await done('show', id)).toMatchObject({ previous_secret: first });
    await endOverlap(id);
    clock.mockImplementation(() => now - 7 * 86_400_000);
    expect(await done('show', id)).toMatchObject({ previous_secret: null, previous_until: null });
  });
});
