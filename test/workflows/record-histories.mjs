/** Records the histories that `replay.test.ts` replays. Run `npm test` once, then `node_modules/.bin/node test/workflows/record-histories.mjs`. Names of paths limit it to those. */
import globalSetup from '../support/global-setup.mjs';
import globalTeardown from '../support/global-teardown.mjs';

await globalSetup();
try {
  const { recordHistories } = await import('./record-histories.ts');
  await recordHistories(process.argv.slice(2));
} finally {
  await globalTeardown();
}
