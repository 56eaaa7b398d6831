import { assertSchemaVersion } from '../db/migrate.ts';
import { buildDeps } from './build-deps.ts';
import { announce, configOrExit, stopOnSignals } from './run-process.ts';
import { startLoops } from './worker-loops.ts';
import { createWorkers } from './temporal-workers.ts';

const config = configOrExit();
const { deps, close } = await buildDeps(config, 'worker');
const { logger, db } = deps;
await assertSchemaVersion(db);

// Before Temporal has answered: what they do must not wait for it.
const loops = startLoops(deps);
const workers = await createWorkers(deps);
announce(null);
logger.info('the worker works');

const running = workers.run();
stopOnSignals(
  async () => {
    await loops.stop();
    workers.shutdown();
    await running;
    await workers.close();
    await close();
  },
  (error) => logger.fatal({ err: error, alarm: true }, 'the worker ends'),
);
await running.catch((error: unknown) => {
  logger.fatal({ err: error, alarm: true }, 'a Temporal worker failed');
  process.exit(1);
});
