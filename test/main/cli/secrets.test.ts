import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { credentialContext } from '../../../src/services/channels/unseal-credential.ts';
import { testConfig } from '../../support/test-config.ts';
import type { Database } from '../../../src/db/database.ts';
import { createSealer } from '../../../src/platform/crypto/seal.ts';
import { rowsOf, run } from '../../db/books.ts';
import { commandLine, type CommandResult } from '../../support/command-line.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';

let home: TestHome;
let db: Database;
let settings: Record<string, string>;

beforeAll(async () => {
  home = await createTestHome();
  ({ db, settings } = home);
});
afterAll(() => home?.drop());

const oldKey = `k1:${randomBytes(32).toString('base64')}`;
const newKey = `k2:${randomBytes(32).toString('base64')}`;

/** Runs a command with these master keys. */
const tollgate = (masterKeys: string, ...args: string[]): Promise<CommandResult> =>
  commandLine(() => ({ ...settings, MASTER_KEYS: masterKeys })).tollgate(...args);

const noted = (resealed: number, current: number, unreadable: unknown[] = []) => ({ resealed, current, unreadable });

describe('tollgate secrets reseal', () => {
  it('encrypts credentials and callback secrets with the first master key, and a second run changes nothing', async () => {
    const { printed: project } = await tollgate(oldKey, 'projects', 'create', '--name', 'sealed');
    const projectId = String(project['project_id']);
    const { printed: rotated } = await tollgate(oldKey, 'projects', 'secret', 'rotate', projectId);
    const channel = ['--adapter', 'fal', '--base-url', 'https://upstream.example', '--groups', 'images'];
    const { printed: added } = await tollgate(
      oldKey,
      'channels',
      'add',
      '--name',
      'sealed',
      '--credential',
      'fal-secret',
      ...channel,
    );
    const more = ['channels', 'set', 'sealed', '--credential-add', 'fal-second'];
    const { credential_id: credentialId } = (await tollgate(oldKey, ...more)).printed;
    await tollgate(`${newKey},${oldKey}`, 'projects', 'create', '--name', 'of the new key');

    const first = await tollgate(`${newKey},${oldKey}`, 'secrets', 'reseal');
    expect(first).toEqual({
      code: 0,
      printed: {
        channel_credential: noted(2, 0),
        callback_secret: noted(1, 1),
        callback_secret_previous: noted(1, 0),
      },
    });
    const second = await tollgate(`${newKey},${oldKey}`, 'secrets', 'reseal');
    expect(second).toEqual({
      code: 0,
      printed: {
        channel_credential: noted(0, 2),
        callback_secret: noted(0, 2),
        callback_secret_previous: noted(0, 1),
      },
    });
    const resealed = { before: { sealed_with_older_keys: 1 }, after: { sealed_with_older_keys: 0 } };
    expect(
      await rowsOf(db, `select before, after, detail from audit_entry where action = 'secrets.reseal'`, []),
    ).toEqual([
      { ...resealed, detail: { place: 'channel_credential' } },
      { ...resealed, detail: { place: 'channel_pool_credential' } },
      { ...resealed, detail: { place: 'callback_secret' } },
      { ...resealed, detail: { place: 'callback_secret_previous' } },
    ]);

    const { printed: shown } = await tollgate(newKey, 'projects', 'secret', 'show', projectId);
    expect(shown).toMatchObject({
      webhook_secret: rotated['webhook_secret'],
      previous_secret: project['webhook_secret'],
    });
    const channelId = String(added['channel_id']);
    const [row] = await rowsOf<{ credential: string }>(db, 'select credential from channel where id = $1', [channelId]);
    const sealer = createSealer(testConfig({ ...settings, MASTER_KEYS: newKey }).secrets.masterKeys);
    expect(sealer.open(row?.credential ?? '', credentialContext(channelId))).toBe('fal-secret');
    const another = 'select credential from channel_credential where id = $1';
    const [pooled] = await rowsOf<{ credential: string }>(db, another, [credentialId]);
    expect(sealer.open(pooled?.credential ?? '', credentialContext(String(credentialId)))).toBe('fal-second');
  });

  it('leaves a secret of a missing master key unchanged, names its row, and exits with 1', async () => {
    const [row] = await rowsOf<{ id: string; credential: string }>(db, 'select id, credential from channel', []);
    const strange = String(row?.credential).replace('v2.k2.', 'v2.k0.');
    await run(db, 'update channel set credential = $1', [strange]);
    const { code, printed } = await tollgate(newKey, 'secrets', 'reseal');
    expect({ code, printed }).toMatchObject({ code: 1, printed: { channel_credential: noted(0, 1, [row?.id]) } });
    expect(await rowsOf(db, 'select credential from channel', [])).toEqual([{ credential: strange }]);
  });
});
