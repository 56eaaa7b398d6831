/** Stops the helper and the servers that global-setup.mjs started and removes their folder. */
export default async function globalTeardown() {
  await globalThis.tollgateTestHelper?.close();
  await globalThis.tollgateTestPooler?.close();
  await globalThis.tollgateTestGuardian?.close();
}
