import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { withSecretFiles } from '../../config/secret-files.ts';
import { OperatorError } from '../../services/operator-error.ts';
import { allowedCidrs } from '../dev-home/allowed-cidrs.ts';
import { devSecrets } from '../dev-home/dev-secrets.ts';
import { readJsonFile } from '../dev-home/json-file.ts';

export type Environment = Record<string, string | undefined>;

/**
 * The given environment if it names a database, else that of the running `npm start`. Throws `OperatorError` if there is neither. The
 * secrets of a state folder are used only for the database of that folder.
 */
export function operatorEnvironment(environment: Environment): Environment {
  const env = withSecretFiles(environment);
  const { home, file } = stateFolder(env);
  const named = env['DATABASE_URL'] || null;
  if (!existsSync(file)) {
    if (named !== null) return env;
    throw new OperatorError(`No installation runs here: ${file} is missing. Run "npm start", or set DATABASE_URL.`);
  }
  const running = readJsonFile(DevFile, file);
  if (named !== null && named !== running?.database_url) return env;
  if (!running) throw new OperatorError(`${file} cannot be read. Restart "npm start", or set DATABASE_URL.`);

  const secrets = existsSync(join(home, 'secrets.json')) ? devSecrets(home) : null;
  const ownTemporal = !env['TEMPORAL_ADDRESS'];
  return {
    ...env,
    DATABASE_URL: running.database_url,
    KEY_PEPPERS: env['KEY_PEPPERS'] || secrets?.key_peppers,
    MASTER_KEYS: env['MASTER_KEYS'] || secrets?.master_keys,
    PUBLIC_BASE_URL: env['PUBLIC_BASE_URL'] || running.base_url,
    // Settings for development only are refused without it.
    SANDBOX_URL: env['SANDBOX_URL'] || running.sandbox_url,
    // As the gateway's own processes have it.
    ...(running.sandbox_url !== '' && { EGRESS_ALLOW_CIDRS: allowedCidrs(env) }),
    // Settings for a Temporal Cloud account do not apply to the server on loopback.
    ...(ownTemporal && { TEMPORAL_ADDRESS: running.temporal_address, TEMPORAL_NAMESPACE: '', TEMPORAL_API_KEY: '' }),
    ...(ownTemporal && { TEMPORAL_TLS_CA_FILE: '', TEMPORAL_TLS_CERT_FILE: '', TEMPORAL_TLS_KEY_FILE: '' }),
  };
}

/** Where a client of a gateway calls it, and with which key: by the environment, else as the running `npm start` has it. */
export function clientEnvironment(env: Environment): { baseUrl: string | undefined; apiKey: string | undefined } {
  const { file } = stateFolder(env);
  const running = existsSync(file) ? readJsonFile(DevFile, file) : null;
  const named = env['TOLLGATE_BASE_URL'] || undefined;
  return {
    baseUrl: named ?? running?.base_url,
    // The demo key is for the gateway of `npm start` only.
    apiKey: env['TOLLGATE_API_KEY'] || (named === undefined ? running?.api_key : undefined),
  };
}

function stateFolder(env: Environment): { home: string; file: string } {
  const home = resolve(projectFolder, env['TOLLGATE_HOME'] || '.tollgate');
  return { home, file: join(home, 'dev.json') };
}

const projectFolder = fileURLToPath(new URL('../../../', import.meta.url));

/** The part of dev.json that the command line uses. */
const DevFile = z.object({
  database_url: z.string().min(1),
  temporal_address: z.string().default(''),
  base_url: z.string().default(''),
  api_key: z.string().default(''),
  sandbox_url: z.string().default(''),
});
