import { createStorageGuard } from '../../../src/services/files/storage-guard.ts';
import { createTaskAdmission } from '../../../src/services/tasks/create/task-admission.ts';
import type { Database } from '../../../src/db/database.ts';
import type { Route } from '../../../src/http/route.ts';
import { createTaskWaits } from '../../../src/http/response/task-waits.ts';
import type { Built } from '../../../src/main/build-deps.ts';
import { buildQuietDeps } from '../../support/built-deps.ts';
import { createTestDatabase } from '../../support/database.ts';
import { quickSettings } from '../../support/gateway-settings.ts';
import { createOperator, type Operator } from '../../support/operator.ts';
import { startFrame, type Frame } from '../support.ts';

/** Handlers of routes over a database of their own with the shipped catalog, in this process. Nothing runs the tasks. */
export interface RouteHome {
  db: Database;
  databaseUrl: string;
  /** What the handlers need, with the usual settings of production, and room for ten waits. */
  deps: HandlerDeps;
  operator: Operator;
  /** Starts a server with these routes, which takes the keys of the database. It replaces the server before. */
  serve(routes: readonly Route[], settings?: Record<string, string>): Promise<Frame>;
  close(): Promise<void>;
}

type HandlerDeps = Built['deps'] & {
  admission: ReturnType<typeof createTaskAdmission>;
  storage: ReturnType<typeof createStorageGuard>;
  taskWaits: ReturnType<typeof createTaskWaits>;
};

export async function openRouteHome(): Promise<RouteHome> {
  const scratch = await createTestDatabase({ template: process.env['TEST_GATEWAY_TEMPLATE'] });
  const db = await scratch.open();
  const { deps, close } = await buildQuietDeps(scratch.url);
  let frame: Frame | undefined;
  return {
    db,
    databaseUrl: scratch.url,
    deps: {
      ...deps,
      admission: createTaskAdmission(deps),
      storage: createStorageGuard(deps),
      taskWaits: createTaskWaits({ total: 10 }),
    },
    operator: createOperator(db, { ...quickSettings, DATABASE_URL: scratch.url, EGRESS_ALLOW_CIDRS: '' }),
    async serve(routes, settings = {}) {
      await frame?.close();
      frame = await startFrame({ routes, settings, deps: { authenticate: (secret) => deps.keys.find(secret) } });
      return frame;
    },
    async close() {
      await frame?.close();
      await close();
      await scratch.drop();
    },
  };
}
