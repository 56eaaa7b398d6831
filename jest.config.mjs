import { availableParallelism } from 'node:os';

export default {
  extensionsToTreatAsEsm: ['.ts'],
  // It removes the types; `tsc` checks them apart (`npm run check`).
  transform: {
    '\\.ts$': [
      '@swc/jest',
      { swcrc: false, jsc: { target: 'es2024', parser: { syntax: 'typescript' } }, module: { type: 'es6' } },
    ],
  },
  // Without it Jest maps node_modules too, which takes seconds in a fresh clone.
  roots: ['<rootDir>/src', '<rootDir>/packages', '<rootDir>/test'],
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // Measurements at full size run by themselves: `npm run test:load`.
  testPathIgnorePatterns: ['/node_modules/', '\\.load\\.test\\.ts$'],
  // No test is meant to take this long: a limit is for what hangs, also where the machine is slow.
  testTimeout: 300_000,
  setupFiles: ['<rootDir>/test/support/errors-of-node.ts', '<rootDir>/test/support/patient-servers.ts'],
  setupFilesAfterEnv: ['<rootDir>/test/support/check-answers.ts'],
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
  reporters: ['default', '<rootDir>/test/support/closing-line-reporter.mjs'],
  testSequencer: '<rootDir>/test/support/longest-first.mjs',
  // Test files wait for timers and other processes about half of their time. Each may start a gateway of 500 MB.
  // The modules of a file with ES modules stay in memory, and collecting two gigabytes of them takes a process longer than its start.
  workerIdleMemoryLimit: '700MB',
  maxWorkers: Math.min(Math.max(5, availableParallelism()), 6),
};
