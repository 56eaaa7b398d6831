import { testConfig } from '../../support/test-config.ts';
import { createAdminRoutes } from '../../../src/http/admin/admin-routes.ts';
import { createRoutes, type RouteDeps } from '../../../src/http/create-routes.ts';
import type { Route } from '../../../src/http/route.ts';
import { quickSettings } from '../../support/gateway-settings.ts';

const { KEY_PEPPERS, MASTER_KEYS } = quickSettings;
/** Every setting at its default. */
export const defaultConfig = testConfig({ DATABASE_URL: 'postgresql://unused', KEY_PEPPERS, MASTER_KEYS });

/** The route table. Its handlers have no dependencies and must not be called. */
export const describedRoutes = (): readonly Route[] => createRoutes({ config: defaultConfig } as RouteDeps);

/** The routes of the admin API, as those of the clients. */
export const describedAdminRoutes = (): readonly Route[] =>
  createAdminRoutes({} as Parameters<typeof createAdminRoutes>[0]);
