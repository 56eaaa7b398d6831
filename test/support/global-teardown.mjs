/** Stops what global-setup started and removes its folder. */
export default async function globalTeardown() {
  await globalThis.tollgateTestGuardian?.close();
}
