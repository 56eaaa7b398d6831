import { createAdminToken } from '../../../src/commands/admin/create-admin-token.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import type { Role } from '../../../src/domain/role.ts';
import { createAdminApi } from '../../../src/main/admin-api.ts';
import { buildDeps } from '../../../src/main/build-deps.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';
import { startFrame, type Frame } from '../support.ts';

/** The admin API over a database of its own, in this process. */
export interface AdminHome extends TestHome {
  frame: Frame;
  token(role: Role, options?: { name?: string; expiresAt?: Date | null }): Promise<{ tokenId: string; token: string }>;
  /** Sends a request to a path below the prefix and returns the status and the parsed body. */
  ask(token: string, method: string, path: string, options?: AskOptions): Promise<Asked>;
}

interface AskOptions {
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Asked {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

export async function startAdminHome(): Promise<AdminHome> {
  const home = await createTestHome();
  const config = loadConfig({ ...home.settings, LOG_LEVEL: 'silent' });
  const built = await buildDeps(config, 'test');
  const admin = createAdminApi(built.deps);
  const frame = await startFrame({
    routes: [],
    later: admin.routes,
    settings: home.settings,
    deps: { adminAccess: admin.access },
  });
  return {
    ...home,
    frame,
    token: (role, { name = role, expiresAt = null } = {}) =>
      createAdminToken(built.deps, { actor: 'test', name, role, expiresAt }),
    async ask(token, method, path, { body, headers = {} } = {}) {
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
    },
    async drop() {
      await frame.close({ drainSeconds: 1 });
      await admin.close();
      await built.close();
      await home.drop();
    },
  };
}

/** The code of an error. */
export const codeOf = ({ body }: Asked): unknown => (body['error'] as { code?: unknown } | undefined)?.code;
