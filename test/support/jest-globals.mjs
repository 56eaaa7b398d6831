import { jestGlobals } from './native-runner.mjs';

/** Stands for `@jest/globals`; see `native-runner.mjs`. */
export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test } = jestGlobals();
