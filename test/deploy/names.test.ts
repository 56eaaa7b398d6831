import { describe, expect, it } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { projectFolder } from '../support/program.ts';
import { read } from './compose-file.ts';

const below = (folder: string): string[] =>
  readdirSync(join(projectFolder, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(projectFolder, join(parentPath, name)));

const files = ['docker-compose.yml', '.env.example', 'Dockerfile', ...below('.github'), ...below('deploy')];

/** Names that are not ours, by what they belong to. */
const foreign: Record<string, readonly string[]> = {
  'the capabilities of Linux': ['DAC_READ_SEARCH', 'NET_BIND_SERVICE'],
  'GitHub Actions': ['GITHUB_TOKEN'],
  'the image of PostgreSQL': ['POSTGRES_PASSWORD'],
  pgBackRest: ['PGBACKREST_REPO1_S3_KEY'],
  'the images of Temporal': [
    'BIND_ON_IP',
    'DB_PORT',
    'DYNAMIC_CONFIG_FILE_PATH',
    'NUM_HISTORY_SHARDS',
    'SQL_PASSWORD',
    'POSTGRES_PWD',
    'POSTGRES_SEEDS',
    'POSTGRES_USER',
    'TEMPORAL_DEFAULT_NAMESPACE',
    'TEMPORAL_DISABLE_WRITE_ACTIONS',
  ],
  Grafana: ['GF_ANALYTICS_REPORTING_ENABLED', 'GF_AUTH_ANONYMOUS_ENABLED', 'GF_AUTH_DISABLE_LOGIN_FORM'],
  'the Caddyfile, which has defaults for them': ['API_2', 'PROXY_ADMIN_PORT', 'PROXY_PORT'],
  'roles of the database, in .env.example': [
    'TOLLGATE_OWNER_DB_PASSWORD',
    'TOLLGATE_DB_PASSWORD',
    'TEMPORAL_DB_PASSWORD',
  ],
};

describe('the names of environment variables in the files of workflows and deployment', () => {
  const documented = new Set(read('docs/CONFIGURATION.md').match(/(?<=`)[A-Z][A-Z0-9_]*(?=`)/g));
  const allowed = new Set([...documented, ...Object.values(foreign).flat()]);
  const namesIn = (file: string): string[] => read(file).match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g) ?? [];

  it.each(files.filter((file) => namesIn(file).length > 0))(
    'exist in docs/CONFIGURATION.md or belong to another program: %s',
    (file) => {
      expect(namesIn(file).filter((name) => !allowed.has(name))).toEqual([]);
    },
  );

  it('are all found: those of the workflows and of the alarms too', () => {
    expect(files).toEqual(expect.arrayContaining(['.github/workflows/ci.yml', 'deploy/prometheus/alertmanager.yml']));
    const found = new Set(files.flatMap(namesIn));
    expect(
      Object.values(foreign)
        .flat()
        .filter((name) => !found.has(name)),
    ).toEqual([]);
  });
});
