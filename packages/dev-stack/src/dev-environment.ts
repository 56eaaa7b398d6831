import { join } from 'node:path';
import { addressMatcher, loopbackCidrs } from '../../../src/platform/egress/public-address.ts';
import { allowedCidrs } from '../../../src/main/dev-home/allowed-cidrs.ts';
import { providerKeyNames } from './providers.ts';
import type { DevSecrets } from '../../../src/main/dev-home/dev-secrets.ts';
import { StartRefused } from './start-refused.ts';

interface Parts {
  env: Record<string, string | undefined>;
  home: string;
  secrets: DevSecrets;
  databaseUrl: string;
  temporal: { address: string; uiUrl: string; own: boolean };
  sandboxUrl: string;
}

/** The environment of Tollgate's processes under `npm start`: the user's, with the values that only this command knows. */
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
    EGRESS_ALLOW_CIDRS: allowedCidrs(env),
    FILES_LOCAL_DIR: env.FILES_LOCAL_DIR || join(home, 'files'),
    TOLLGATE_HOME: home,
    TOLLGATE_DEV_SECRETS_FILE: join(home, 'demo.json'),
    // A person who tries `npm start` reads the ledger immediately, and no development transaction lasts longer than this.
    BOOKS_LAG_SECONDS: env.BOOKS_LAG_SECONDS || '5',
    // There is no load balancer, and Ctrl-C should not take half a minute: jobs that are polled resume at the next start. Chats and submits
    // in flight are waited for, because they are paid for and come only once. A second Ctrl-C ends them.
    SHUTDOWN_READY_DELAY_SECONDS: '0',
    WORKER_SHUTDOWN_GRACE_SECONDS: env.WORKER_SHUTDOWN_GRACE_SECONDS || '5',
  };
}

/**
 * Throws `StartRefused` if other machines could reach the API while URLs of clients may reach this machine: callbacks and inputs
 * would let anybody on the network read the servers that listen on loopback only.
 */
export function refuseOpenHost(env: Parts['env']): void {
  const host = env.HOST || '127.0.0.1';
  const cidrs = allowedCidrs(env);
  if (cidrs === '' || host === 'localhost' || addressMatcher(loopbackCidrs)(host)) return;
  throw new StartRefused(
    `HOST=${host} lets other machines reach this gateway, and EGRESS_ALLOW_CIDRS (${cidrs}) lets its clients reach addresses of this machine. Set EGRESS_ALLOW_CIDRS to the empty value, or leave HOST at 127.0.0.1.`,
  );
}

/** The variables with providers' keys. Only the seed, which seals them, gets them. The gateway unseals the stored ones. */
export const withoutProviderKeys = <E extends Record<string, string | undefined>>(env: E): E => ({
  ...env,
  ...Object.fromEntries(providerKeyNames.map((name) => [name, undefined])),
});

// The local server has no TLS and no API key, even if the environment has settings for a cloud account.
const plainTemporal = {
  TEMPORAL_NAMESPACE: 'default',
  TEMPORAL_API_KEY: '',
  TEMPORAL_TLS_CA_FILE: '',
  TEMPORAL_TLS_CERT_FILE: '',
  TEMPORAL_TLS_KEY_FILE: '',
};
