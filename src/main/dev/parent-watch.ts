/**
 * Calls `onGone` once when the process that started us has ended. For `npm start`: npm that is killed cannot pass anything on,
 * and nobody would ever stop what it started. Answers how to stop watching.
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
