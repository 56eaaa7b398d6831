/** Records the histories that `replay.test.ts` replays: `node_modules/.bin/node test/workflows/record-histories.mjs`, after `npm test` has run once. */
import globalSetup from '../support/global-setup.mjs';
import globalTeardown from '../support/global-teardown.mjs';

await globalSetup();
try {
  const { recordHistories } = await import('./record-histories.ts');
  await recordHistories();
} finally {
  await globalTeardown();
}
