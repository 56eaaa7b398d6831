import { afterAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, ignoredSettings, loadConfig, listedSettings } from '../../src/config/load-config.ts';
import { secretNames } from '../../src/config/setting.ts';
import { compileCache, nodeBinary, projectFolder } from '../support/program.ts';

const secret = `k1:${Buffer.alloc(32, 7).toString('base64')}`;
const good = { DATABASE_URL: 'postgresql://tollgate@127.0.0.1:1/none', KEY_PEPPERS: secret, MASTER_KEYS: secret };
const s3 = {
  FILES_DRIVER: 's3',
  FILES_S3_BUCKET: 'files',
  FILES_S3_ACCESS_KEY_ID: 'an-id',
  FILES_S3_SECRET_ACCESS_KEY: 'a-secret',
};

/** The lines of the configuration error for these variables. Empty if the configuration is valid. */
function refusalOf(variables: Record<string, string>): string[] {
  try {
    loadConfig({ ...good, ...variables });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split('\n').slice(1);
  }
}

describe('the configuration', () => {
  it.each([
    ['DATABASE_URL', { DATABASE_URL: '' }],
    ['DATABASE_URL', { DATABASE_URL: 'mysql://malformed/x' }],
    ['DATABASE_LISTEN_URL', { DATABASE_LISTEN_URL: 'malformed' }],
    ['KEY_PEPPERS', { KEY_PEPPERS: 'p1:malformed' }],
    ['MASTER_KEYS', { MASTER_KEYS: '' }],
    ['INTERNAL_JOB_TOKENS', { INTERNAL_JOB_TOKENS: 'malformed' }],
    ['PORT', { PORT: 'malformed' }],
    ['ADMIN_PORT', { ADMIN_PORT: '70000' }],
    ['PUBLIC_BASE_URL', { PUBLIC_BASE_URL: 'malformed' }],
    ['PUBLIC_BASE_URL', { PUBLIC_BASE_URL: 'ftp://malformed' }],
    ['EGRESS_ALLOW_CIDRS', { EGRESS_ALLOW_CIDRS: '127.0.0.0/8,malformed', SANDBOX_URL: 'http://127.0.0.1:1' }],
    ['EGRESS_ALLOW_CIDRS', { EGRESS_ALLOW_CIDRS: '127.0.0.0/8' }],
    ['CALLBACK_PORTS', { CALLBACK_PORTS: '8443,malformed' }],
    ['CALLBACK_LADDER_SECONDS', { CALLBACK_LADDER_SECONDS: '5,malformed' }],
    ['WORKER_SHUTDOWN_FORCE_SECONDS', { WORKER_SHUTDOWN_FORCE_SECONDS: '60' }],
    ['WORKER_SHUTDOWN_FORCE_SECONDS', { SUBMIT_AT_ONCE_TIMEOUT_SECONDS: '226' }],
    ['WORKER_SHUTDOWN_FORCE_SECONDS', { SUBMIT_TIMEOUT_SECONDS: '300' }],
    ['TEMPORAL_TLS_CA_FILE', { TEMPORAL_TLS_CA_FILE: '/malformed/ca.pem' }],
    ['TEMPORAL_TLS_CERT_FILE', { TEMPORAL_TLS_KEY_FILE: nodeBinary }],
    ['ADMIN_ORIGIN', { ADMIN_ORIGIN: 'https://admin.malformed/console' }],
    ['OIDC_ISSUER', { OIDC_ISSUER: 'http://id.malformed', OIDC_CLIENT_ID: 'c' }],
    ['OIDC_CLIENT_ID', { OIDC_ISSUER: 'https://id.example.com' }],
    ['FILES_S3_BUCKET', { ...s3, FILES_S3_BUCKET: '' }],
    ['FILES_S3_SECRET_ACCESS_KEY', { ...s3, FILES_S3_SECRET_ACCESS_KEY: '' }],
    ['CHAT_DEADLINE_SECONDS', { CHAT_DEADLINE_SECONDS: 'malformed' }],
    ['LOG_LEVEL', { LOG_LEVEL: 'malformed' }],
  ])('names an invalid %s without printing its value: %j', (name, variables) => {
    const [line = '', ...more] = refusalOf(variables);
    expect([line.split(' ')[0], more]).toEqual([name, []]);
    expect(line).not.toMatch(/malformed|NaN|undefined/);
  });

  it('accepts valid values, and uses the defaults of absent variables', () => {
    expect(refusalOf({})).toEqual([]);
    expect(refusalOf({ ...s3, DATABASE_LISTEN_URL: 'postgres:///db?host=/run', CALLBACK_PORTS: '8443, 9443' })).toEqual(
      [],
    );
    const development = { SANDBOX_URL: 'http://127.0.0.1:1', EGRESS_ALLOW_CIDRS: '127.0.0.0/8,::1/128' };
    expect(refusalOf({ ...development, PUBLIC_BASE_URL: '', ADMIN_PORT: '' })).toEqual([]);
  });
});

describe('a number that the environment does not set', () => {
  it('keeps its value whatever variable an installation has left over, and names the variable', () => {
    const left = { ...good, CREATE_WAIT_MS: '7', SWEEP_OPEN_SECONDS: 'malformed', POLL_INTERVAL_MIN_MS: '' };
    expect(loadConfig(left)).toEqual(loadConfig(good));
    expect(ignoredSettings(left).sort()).toEqual(['CREATE_WAIT_MS', 'SWEEP_OPEN_SECONDS']);
  });
});

describe('a secret from a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-secrets-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const fileWith = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };

  it('is read for every secret setting, without the line break at its end', () => {
    const other = `k9:${Buffer.alloc(32, 9).toString('base64')}`;
    const { MASTER_KEYS: _replaced, DATABASE_URL: url, ...rest } = good;
    const config = loadConfig({
      ...rest,
      MASTER_KEYS: '',
      MASTER_KEYS_FILE: fileWith('keys', `${other}\n`),
      DATABASE_URL_FILE: fileWith('url', `${url}\r\n`),
      OPENAI_API_KEY_FILE: fileWith('openai', 'sk-openai'),
      INTERNAL_JOB_TOKENS_FILE: '',
    });
    expect(config.secrets.masterKeys).toEqual([{ id: 'k9', secret: Buffer.alloc(32, 9) }]);
    expect(config.database.url).toBe(url);
    expect(config.development.openaiApiKey).toBe('sk-openai');
    expect(config.secrets.scheduledJobTokens).toEqual([]);
    expect([...secretNames].sort()).toEqual(
      listedSettings
        .map(({ name }) => name)
        .filter((name) => /KEYS?$|KEY_ID$|TOKENS?$|PEPPERS$|SECRET$|HEADERS$|(DATABASE|ALARM).*URL$/.test(name))
        .sort(),
    );
  });

  it('is refused by name if the file is missing, empty or too large, and if the setting is given both ways', () => {
    const { MASTER_KEYS: masterKeys, ...rest } = good;
    const refusal = (variables: Record<string, string>) => {
      const thrown = (() => {
        try {
          return loadConfig({ ...rest, ...variables });
        } catch (error) {
          return error;
        }
      })();
      return thrown instanceof ConfigError ? thrown.message.split('\n').slice(1) : thrown;
    };
    expect(refusal({ MASTER_KEYS_FILE: join(folder, 'none') })).toEqual([
      'MASTER_KEYS_FILE must name a file that this process may read',
    ]);
    expect(refusal({ MASTER_KEYS_FILE: folder })).toEqual([
      'MASTER_KEYS_FILE must name a file that this process may read',
    ]);
    expect(refusal({ MASTER_KEYS_FILE: fileWith('empty', '\n') })).toEqual(['MASTER_KEYS_FILE names an empty file']);
    expect(refusal({ MASTER_KEYS_FILE: fileWith('huge', 'x'.repeat(65_537)) })).toEqual([
      'MASTER_KEYS_FILE names a file of more than 65536 bytes',
    ]);
    expect(refusal({ MASTER_KEYS: masterKeys, MASTER_KEYS_FILE: fileWith('both', masterKeys) })).toEqual([
      'MASTER_KEYS_FILE and MASTER_KEYS are both set: set one of them',
    ]);
    expect(refusal({ MASTER_KEYS_FILE: fileWith('bad', 'no-secret-shown') })).toEqual([
      expect.stringMatching(/^MASTER_KEYS must be id:base64 pairs/),
    ]);
  });
});

describe('a start without a reachable database', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-refused-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const start = (name: string, variables: Record<string, string>) =>
    new Promise<{ code: unknown; printed: string }>((resolve) => {
      const env = { ...compileCache(), ...good, FILES_LOCAL_DIR: folder, ...variables };
      execFile(nodeBinary, [`src/main/${name}.ts`], { cwd: projectFolder, env }, (error, _stdout, stderr) =>
        resolve({ code: error?.code, printed: stderr }),
      );
    });

  it.each(['api', 'worker'])('warns once of settings of an earlier release that are ignored: %s', async (name) => {
    const left = { CREATE_WAIT_MS: '100', POLL_INTERVAL_MAX_MS: '', CALLBACK_LEASE_SECONDS: 'malformed' };
    const { code, printed } = await start(name, { LOG_LEVEL: 'warn', ...left });
    const [warning = '', ...more] = printed.split('\n').filter((line) => line.includes('earlier release'));
    expect([code, more]).toEqual([1, []]);
    expect(JSON.parse(warning)).toMatchObject({ ignored: ['CREATE_WAIT_MS', 'CALLBACK_LEASE_SECONDS'] });
  });

  it.each(['migrate', 'api', 'worker'])('prints one sentence and exits with 1: %s', async (name) => {
    expect(await start(name, { LOG_LEVEL: 'silent' })).toEqual({
      code: 1,
      printed: 'The database cannot be reached (ECONNREFUSED).\n',
    });
  });
});
