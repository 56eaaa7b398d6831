/**
 * The points at which a test can make the process kill itself, to prove what happens after a crash there. Each is between two
 * steps with visible effects. Inside an SQL function there is no such point (docs/DECISIONS.md, record 47).
 */
export const crashPoints = [
  'after_commit_before_start',
  'after_start_before_reply',
  'after_attempt_row',
  'after_upstream_accept_before_save',
  'mid_poll',
  'after_result_before_finish_tx',
  'after_finish_commit_before_ack',
  'after_callback_send_before_mark',
  'mid_stale_batch',
  'mid_retention_delete',
  'chat_after_upstream_before_settle',
] as const;
export type CrashPoint = (typeof crashPoints)[number];

/** The crash point, and at which pass through it the process dies. */
export interface CrashSetting {
  name: CrashPoint;
  passing: number;
}

/** Reads `name` or `name:n`; null for anything else. */
export function readCrashSetting(text: string): CrashSetting | null {
  const [, requested, passing = '1'] = /^([a-z_]+)(?::([1-9]\d{0,5}))?$/.exec(text) ?? [];
  const name = crashPoints.find((point) => point === requested);
  return name === undefined ? null : { name, passing: Number(passing) };
}

// Global to the process, so that a crash point costs one comparison and needs no parameter.
let armed: CrashSetting | null = null;

/** From now on this process dies at this crash point. */
export function armCrashPoint(setting: CrashSetting): void {
  armed = { ...setting };
}

/** Does nothing, unless the process is armed for this crash point: then it dies as by `kill -9` and the call never returns. */
export function crashPoint(name: CrashPoint): void {
  if (armed?.name !== name) return;
  armed.passing -= 1;
  if (armed.passing > 0) return;
  process.kill(process.pid, 'SIGKILL');
  // The system may take a while to end the other threads. This one must not continue.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
