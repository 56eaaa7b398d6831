import { createAdmissionDesk } from '../commands/admission-desk.ts';
import { createRetryBudget } from '../commands/retry-budget.ts';
import { openSignedFile } from '../commands/open-signed-file.ts';
import { assertSchemaVersion } from '../db/migrate.ts';
import { createApp } from '../http/app.ts';
import { createRoutes } from '../http/routes.ts';
import { startHttpServer } from '../http/server.ts';
import { buildDeps } from './build-deps.ts';
import { announce, configOrExit, stopOnSignals } from './run-process.ts';

const config = configOrExit();
const { deps, close } = await buildDeps(config, 'api');
const { logger, db } = deps;
await assertSchemaVersion(db);

const httpDeps = {
  ...deps,
  desk: createAdmissionDesk(deps),
  retryBudget: createRetryBudget({ floor: config.RETRIES_PER_MINUTE_MIN, share: config.RETRY_SHARE }),
  authenticate: (secret: string) => deps.keys.find(secret),
  isReady: async () => {
    await assertSchemaVersion(db);
    return true;
  },
  signedFiles: {
    openSigned: (id: string, expires: number, signature: string) => openSignedFile(deps, id, expires, signature),
  },
};
const app = createApp(httpDeps, createRoutes(httpDeps));
const server = await startHttpServer(app, { host: config.HOST, port: config.PORT, config });
logger.info({ url: server.url }, 'the API serves');
announce(server.url);

stopOnSignals(
  async () => {
    await server.close();
    await close();
  },
  (error) => logger.fatal({ err: error, alarm: true }, 'the API ends'),
);
