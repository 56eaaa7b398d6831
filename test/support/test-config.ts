import { loadConfig, tune, type Config } from '../../src/config/load-config.ts';

/** The configuration of this environment. Unlike in production, it sets the fixed numbers too, by the names that they are declared with. */
export function testConfig(environment: Record<string, string | undefined>): Config {
  tune(environment);
  try {
    return loadConfig(environment);
  } finally {
    tune({});
  }
}
