import { createSandbox } from './create-sandbox.ts';
import { catalogNames } from './sandbox-models.ts';
import { announce, stopOnSignals } from '../../../src/main/run-process.ts';

/**
 * The program of the sandbox upstream. `PORT` (8090; 0 means a free one) and `HOST` (127.0.0.1). Prints `{"listening":"…"}` when it is
 * ready. Its model lists have
 * the names in the catalog at `CATALOG_FILE` (`catalog`). With `TOLLGATE_PARENT_PIPE=1` it ends when stdin ends, so that it never outlives its parent, even a killed one.
 */
const port = Number(process.env.PORT || 8090);
if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  console.error('PORT must be a whole number from 0 to 65535');
  process.exit(1);
}

const models = catalogNames(process.env.CATALOG_FILE || 'catalog');
const sandbox = await createSandbox({ port, host: process.env.HOST || '127.0.0.1', models });
announce(sandbox.url);
stopOnSignals(() => sandbox.close(), console.error);
