/**
 * The places where a process can be made to kill itself, so that a test can prove what is promised of a crash there. Each is
 * a moment of our own process between two steps that somebody else can see; what lies inside one SQL function has no such
 * moment (docs/DECISIONS.md, "Faults").
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

/** Where to die, and at which passing of it. */
export interface CrashSetting {
  name: CrashPoint;
  passing: number;
}

/** Reads `name` or `name:n`; null for anything else. */
export function readCrashSetting(text: string): CrashSetting | null {
  const [, asked, passing = '1'] = /^([a-z_]+)(?::([1-9]\d{0,5}))?$/.exec(text) ?? [];
  const name = crashPoints.find((known) => known === asked);
  return name === undefined ? null : { name, passing: Number(passing) };
}

// One of the process and not handed over: a place costs a comparison, and nothing has to carry it there.
let armed: CrashSetting | null = null;

/** From now on this process dies at that place. */
export function armCrashPoint(setting: CrashSetting): void {
  armed = { ...setting };
}

/** Nothing, unless this process was told to die here: then it is gone as by `kill -9`, and the caller never goes on. */
export function crashPoint(name: CrashPoint): void {
  if (armed?.name !== name) return;
  armed.passing -= 1;
  if (armed.passing > 0) return;
  process.kill(process.pid, 'SIGKILL');
  // Should the system take its time to end the other threads, this one does nothing more.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
