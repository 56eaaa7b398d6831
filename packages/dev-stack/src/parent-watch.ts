/**
 * Calls `onGone` once when the parent process has ended. `npm start` needs it, because a killed npm forwards no signal. Returns the
 * function that stops watching.
 */
export function watchParent(onGone: () => void): () => void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, 1_000);
  timer.unref();
  return () => clearInterval(timer);
}
