import { join } from 'node:path';
import { providerKeyNames } from './providers.ts';
import type { DevSecrets } from './dev-secrets.ts';

interface Parts {
  env: Record<string, string | undefined>;
  home: string;
  secrets: DevSecrets;
  databaseUrl: string;
  temporal: { address: string; uiUrl: string; own: boolean };
  sandboxUrl: string;
}

/** The environment of our own processes under `npm start`: that of the person, with what only this command can know. */
export function devEnvironment({ env, home, secrets, databaseUrl, temporal, sandboxUrl }: Parts) {
  return {
    ...env,
    KEY_PEPPERS: env.KEY_PEPPERS || secrets.key_peppers,
    MASTER_KEYS: env.MASTER_KEYS || secrets.master_keys,
    INTERNAL_JOB_TOKENS: env.INTERNAL_JOB_TOKENS || secrets.internal_job_token,
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_UI_URL: temporal.uiUrl,
    ...(temporal.own ? plainTemporal : {}),
    SANDBOX_URL: sandboxUrl,
    // Set but empty is a choice: as strict as production towards clients.
    EGRESS_ALLOW_CIDRS: env.EGRESS_ALLOW_CIDRS ?? '127.0.0.0/8,::1/128',
    FILES_LOCAL_DIR: env.FILES_LOCAL_DIR || join(home, 'files'),
    TOLLGATE_HOME: home,
    TOLLGATE_DEV_SECRETS_FILE: join(home, 'demo.json'),
    // Who tries it out looks at the books at once, and no transaction lasts longer here.
    BOOKS_LAG_SECONDS: env.BOOKS_LAG_SECONDS || '5',
    // No load balancer has to notice, and nobody waits half a minute after Ctrl-C; what is cut off resumes at the next start.
    SHUTDOWN_READY_DELAY_SECONDS: '0',
    WORKER_SHUTDOWN_GRACE_SECONDS: env.WORKER_SHUTDOWN_GRACE_SECONDS || '5',
    WORKER_SHUTDOWN_FORCE_SECONDS: env.WORKER_SHUTDOWN_FORCE_SECONDS || '10',
  };
}

/** The variables that hold providers' keys. Only who seals them needs them; the gateway opens the sealed ones. */
export const withoutProviderKeys = <E extends Record<string, string | undefined>>(env: E): E => ({
  ...env,
  ...Object.fromEntries(providerKeyNames.map((name) => [name, undefined])),
});

// Our own server speaks plain text on loopback, whatever a cloud account in the environment would need.
const plainTemporal = {
  TEMPORAL_NAMESPACE: 'default',
  TEMPORAL_API_KEY: '',
  TEMPORAL_TLS_CA_FILE: '',
  TEMPORAL_TLS_CERT_FILE: '',
  TEMPORAL_TLS_KEY_FILE: '',
};
