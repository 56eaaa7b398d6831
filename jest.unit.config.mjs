import everything from './jest.config.mjs';

const { globalSetup: _setup, globalTeardown: _teardown, ...shared } = everything;

/**
 * The test files that need neither PostgreSQL nor Temporal, for `npm run test:unit`. A file that needs one of them and is not
 * listed among the exceptions fails here with the name of the variable that it misses.
 */
export default {
  ...shared,
  testMatch: [
    '<rootDir>/test/{adapters,docs,domain,http,platform,sandbox,spec}/**/*.test.ts',
    '<rootDir>/test/services/catalog/*.test.ts',
    '<rootDir>/test/db/group-commit.test.ts',
    '<rootDir>/test/workflows/bundle.test.ts',
  ],
  testPathIgnorePatterns: [
    '/node_modules/',
    '/test/adapters/families-through-gateway',
    '/test/http/(admin/|rate-limits/limits)',
    '/test/http/routes/(account|chat-hang-up|conditional-reads|create-options|gemini|jobs|refusals|task-(delete|list|waits)|uploads|webhook-events)',
    '/test/spec/client-api',
  ],
};
