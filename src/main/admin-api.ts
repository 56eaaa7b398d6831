import { accessBySession, accessByToken } from '../services/operators/admin-access.ts';
import { basedOn } from '../services/operators/based-on.ts';
import { openDatabase } from '../db/database.ts';
import type { StatementTraces } from '../db/database-options.ts';
import { readResourceVersion } from '../db/operators/resource-versions.ts';
import type { Config } from '../config/load-config.ts';
import type { Deps } from '../deps.ts';
import { adminPrefix, oidcCallbackPath } from '../http/admin/admin-prefix.ts';
import { createOidcClient, type OidcClient } from '../platform/oidc/oidc-client.ts';
import type { ActionDeps, OpenDeps } from '../admin/action-deps.ts';
import { createReplicaReads } from './replica-reads.ts';

/** Connections for operators, so that a long list or the check of the ledger takes none from clients. */
const connectionsMax = 3;
/** As long as the console waits for an answer. A read that waits behind slow ones of other operators for a connection is not refused. */
const connectTimeoutMs = 30_000;
/** Shorter than the time after which a proxy gives an answer up. */
const statementTimeoutMs = 100_000;
/** A run of a job that takes longer continues after the answer. */
const answerWithinSeconds = 10;

/**
 * The admin API of this process. Its modules and its connections are opened by the first request. `traces` puts the statements of these
 * connections into spans.
 */
export function createAdminApi(deps: Deps, traces?: StatementTraces) {
  const opened: Deps['db'][] = [];
  const open = (url: string): Deps['db'] => {
    const options = { ...deps.config.database, url, poolMax: connectionsMax, connectTimeoutMs, statementTimeoutMs };
    const db = openDatabase({ ...options, ...(traces && { traces }) });
    opened.push(db);
    return db;
  };
  const openAll = once(() => {
    const { url, readUrl } = deps.config.database;
    const primary = open(url);
    return { primary, read: readUrl === '' ? null : createReplicaReads({ ...deps, primary, replica: open(readUrl) }) };
  });
  return {
    access: {
      byToken: (token: string) => accessByToken(deps, token),
      bySession: (session: string) => accessBySession(deps, session),
    },
    routes: {
      prefix: adminPrefix,
      async load() {
        const { createAdminRoutes } = await import('../http/admin/admin-routes.ts');
        const { primary, read } = openAll();
        const own = { ...deps, db: primary, answerWithinSeconds };
        const openOwn = openerOf(own);
        return createAdminRoutes({
          ...own,
          oidc: oidcClient(deps.config),
          write: (work, resource) =>
            work(resource === undefined ? openOwn : openerOf({ ...own, db: basedOn(primary, resource) })),
          read: (work) => (read ? read((db) => work(openerOf({ ...own, db }))) : work(openOwn)),
          versionOf: readResourceVersion,
        });
      },
    },
    close: async (): Promise<void> => {
      await Promise.all(opened.map((db) => db.close()));
    },
  };
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

function openerOf(own: Deps & { answerWithinSeconds: number }): OpenDeps {
  const all: ActionDeps = {
    catalogSettings: { ...own, openDatabase: () => Promise.resolve(own.db) },
    database: own,
    secrets: own,
    upstreams: own,
    worker: own,
    importer: { ...own, env: {} },
    shadow: { send: () => Promise.reject(new Error('it runs on the machine of its user')) },
    listener: { listen: () => Promise.reject(new Error('the listener runs on the machine of its user')) },
  };
  return (need) => Promise.resolve(all[need]);
}

/** Null where no identity provider is configured. */
function oidcClient({ http, oidc }: Config): OidcClient | null {
  const origin = http.adminOrigin || `http://${http.adminHost || http.host}:${http.adminPort ?? http.port}`;
  return oidc.issuer === '' ? null : createOidcClient({ ...oidc, redirectUri: origin + oidcCallbackPath });
}
