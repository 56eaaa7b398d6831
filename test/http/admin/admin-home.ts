import { createAdminToken } from '../../../src/services/operators/create-admin-token.ts';
import { testConfig } from '../../support/test-config.ts';
import type { Role } from '../../../src/domain/operators/role.ts';
import { createAdminApi } from '../../../src/main/admin-api.ts';
import { buildDeps } from '../../../src/main/build-deps.ts';
import { patiently } from '../../support/database.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';
import { startFrame, type Frame } from '../support.ts';

/** The admin API over a database of its own, in this process. */
export interface AdminHome extends TestHome, AdminServer {
  /** One more server of the same database, with settings of its own. */
  serve(own: Record<string, string>): Promise<AdminServer>;
}

export interface AdminServer {
  frame: Frame;
  token(role: Role, options?: { name?: string; expiresAt?: Date | null }): Promise<{ tokenId: string; token: string }>;
  /** Sends a request to a path below the prefix and returns the status and the parsed body. */
  ask(token: string, method: string, path: string, options?: AskOptions): Promise<AdminResponse>;
  /** The same with the cookie of a session, as the console sends it. */
  askAs(session: string, method: string, path: string, body?: unknown): Promise<AdminResponse>;
}

interface AskOptions {
  body?: unknown;
  headers?: Record<string, string>;
}

export interface AdminResponse {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

export async function startAdminHome(): Promise<AdminHome> {
  const home = await createTestHome();
  const closers: (() => Promise<void>)[] = [];
  const serve = async (own: Record<string, string>): Promise<AdminServer> => {
    const { close, ...server } = await startAdminServer({ ...home.settings, ...own });
    closers.push(close);
    return server;
  };
  return {
    ...home,
    ...(await serve({})),
    serve,
    async drop() {
      for (const close of closers) await close();
      await home.drop();
    },
  };
}

async function startAdminServer(
  settings: Record<string, string>,
): Promise<AdminServer & { close: () => Promise<void> }> {
  // If this process pauses in a transaction, others must not give up waiting for its lock.
  const url = patiently(settings['DATABASE_URL'] ?? '', 60_000);
  const built = await buildDeps(testConfig({ ...settings, DATABASE_URL: url, LOG_LEVEL: 'silent' }), 'test');
  const admin = createAdminApi(built.deps);
  const frame = await startFrame({ routes: [], later: admin.routes, settings, deps: { adminAccess: admin.access } });
  const ask: AdminServer['ask'] = async (token, method, path, { body, headers = {} } = {}) => {
    const answer = await fetch(`${frame.url}/api/admin/v1${path}`, {
      method,
      headers: {
        ...(token !== '' && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    return {
      status: answer.status,
      headers: answer.headers,
      body: (await answer.json()) as Record<string, unknown>,
    };
  };
  return {
    frame,
    ask,
    askAs: (session, method, path, body) =>
      ask('', method, path, {
        headers: { cookie: `tollgate_session=${session}`, 'sec-fetch-site': 'same-origin' },
        ...(body !== undefined && { body }),
      }),
    token: (role, { name = role, expiresAt = null } = {}) =>
      createAdminToken(built.deps, { actor: 'test', name, role, expiresAt }),
    async close() {
      await frame.close({ drainSeconds: 1 });
      await admin.close();
      await built.close();
    },
  };
}

/** The code of an error. */
export const codeOf = ({ body }: AdminResponse): unknown => (body['error'] as { code?: unknown } | undefined)?.code;

/** The message of an error. */
export const messageOf = ({ body }: AdminResponse): string =>
  String((body['error'] as { message?: unknown } | undefined)?.message);
