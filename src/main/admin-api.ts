import { accessBySession, accessByToken } from '../services/admin/admin-access.ts';
import { openDatabase } from '../db/database.ts';
import type { StatementTraces } from '../db/database-options.ts';
import type { Config } from '../config/load-config.ts';
import type { Deps } from '../deps.ts';
import { adminPrefix, oidcCallbackPath } from '../http/admin/admin-prefix.ts';
import { createOidcClient, type OidcClient } from '../platform/oidc/oidc-client.ts';
import type { ActionDeps } from '../admin/action-deps.ts';

/** Connections for operators, so that a long list or the check of the ledger takes none from clients. */
const connectionsMax = 3;
/** Shorter than the time after which a proxy gives an answer up. */
const statementTimeoutMs = 100_000;
/** A run of a job that takes longer continues after the answer. */
const answerWithinSeconds = 10;

/**
 * The admin API of this process. Its modules and its connections are opened by the first request. `traces` puts the statements of these
 * connections into spans.
 */
export function createAdminApi(deps: Deps, traces?: StatementTraces) {
  let db: Deps['db'] | undefined;
  return {
    access: {
      byToken: (token: string) => accessByToken(deps, token),
      bySession: (session: string) => accessBySession(deps, session),
    },
    routes: {
      prefix: adminPrefix,
      async load() {
        const { createAdminRoutes } = await import('../http/admin/admin-routes.ts');
        const options = { ...deps.config.database, poolMax: connectionsMax, statementTimeoutMs };
        db ??= openDatabase({ ...options, ...(traces && { traces }) });
        const own = { ...deps, db, answerWithinSeconds };
        const opened: ActionDeps = {
          catalogSettings: { ...own, openDatabase: () => Promise.resolve(own.db) },
          database: own,
          secrets: own,
          upstreams: own,
          worker: own,
          importer: { ...own, env: {} },
          shadow: { send: () => Promise.reject(new Error('it runs on the machine of its user')) },
          listener: { listen: () => Promise.reject(new Error('the listener runs on the machine of its user')) },
        };
        const oidc = oidcClient(deps.config);
        return createAdminRoutes({ ...own, oidc, open: (need) => Promise.resolve(opened[need]) });
      },
    },
    close: async (): Promise<void> => db?.close(),
  };
}

/** Null where no identity provider is configured. */
function oidcClient({ http, oidc }: Config): OidcClient | null {
  const origin = http.adminOrigin || `http://${http.adminHost || http.host}:${http.adminPort ?? http.port}`;
  return oidc.issuer === '' ? null : createOidcClient({ ...oidc, redirectUri: origin + oidcCallbackPath });
}
