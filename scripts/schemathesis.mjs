import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Runs Schemathesis (PyPI) against a gateway: the one of `TOLLGATE_BASE_URL` and `TOLLGATE_API_KEY`, else the one that `npm start` has
 * started. It creates thousands of tasks and chats, so the key must be one of a sandbox. Arguments go to `schemathesis run`.
 */
const dev = join(process.env['TOLLGATE_HOME'] || '.tollgate', 'dev.json');
const started = existsSync(dev) ? JSON.parse(readFileSync(dev, 'utf8')) : {};
const baseUrl = process.env['TOLLGATE_BASE_URL'] ?? started.base_url;
const apiKey = process.env['TOLLGATE_API_KEY'] ?? started.api_key;
if (!baseUrl || !apiKey) {
  console.error('Start a gateway with `npm start`, or set TOLLGATE_BASE_URL and TOLLGATE_API_KEY.');
  process.exit(2);
}
const options = ['--config-file', 'test/schemathesis/schemathesis.toml', 'run', `${baseUrl}/api/v1/openapi.json`];
const phases = ['--phases', 'examples,coverage,fuzzing'];
const { status, error } = spawnSync('schemathesis', [...options, ...phases, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, TOLLGATE_API_KEY: apiKey, SCHEMATHESIS_HOOKS: 'test/schemathesis/hooks.py' },
});
if (error) {
  console.error(`schemathesis could not be started (${error.message}). Install it: pip install schemathesis`);
  process.exit(2);
}
process.exit(status ?? 1);
