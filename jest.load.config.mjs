import everything from './jest.config.mjs';

/** Measurements at full size, such as the attacks of `test/fairness`, for `npm run test:load`. One at a time, on a machine with nothing else running. */
export default {
  ...everything,
  testMatch: ['<rootDir>/test/load/**/*.load.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  // The check of each answer would take the time that is measured.
  setupFilesAfterEnv: [],
  maxWorkers: 1,
  testTimeout: 1_800_000,
};
