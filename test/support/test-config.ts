import { loadConfig, tune, type Config } from '../../src/config/load-config.ts';

/**
 * For every configuration that this process loads from now on. A process that paused judges the three seconds that
 * production has to connect before it reads what the database has answered meanwhile.
 */
const patience = { DATABASE_CONNECT_TIMEOUT_MS: '60000' };
tune(patience);

/** The configuration of this environment. Unlike in production, it sets the fixed numbers too, by the names that they are declared with. */
export function testConfig(environment: Record<string, string | undefined>): Config {
  tune({ ...patience, ...environment });
  try {
    return loadConfig(environment);
  } finally {
    tune(patience);
  }
}
