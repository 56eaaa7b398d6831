import type { CrashPoint } from '../../src/platform/crash-point.ts';
import type { TestProject } from '../support/gateway.ts';

/** Places inside an SQL function. The test blocks PostgreSQL there with a lock and kills the calling process. */
type InsideSql = 'after_idem_insert' | 'after_hold_before_commit' | 'in_finish_before_commit';

export type CrashSite = CrashPoint | InsideSql | 'after_upstream_accept_before_save, with lookup';

/** One crash and the state that it left. */
export interface Crash {
  project: TestProject;
  /** Empty if the request wrote no task. */
  taskId: string;
  /** How the process ended. */
  how: string;
  seen: Seen;
  /** The calls that the upstream and the receiver had seen before the crash. */
  submits: number;
  polls: number;
  calls: number;
  books: { ok: boolean };
}

export const startCredits = 1_000;

/** What the database holds about the requests of a project. */
export interface Seen extends Record<string, unknown> {
  keys: number;
  tasks: number;
  ended: number;
  admission: string | null;
  status: string | null;
  /** Whether the task is recorded as started by a workflow. */
  started: boolean | null;
  money: string | null;
  reserved: number;
  attempts: number;
  operations: number;
  outcome: string | null;
  delivery: string | null;
  tries: number | null;
  files: number;
}

export const request = (site: CrashSite) => ({ prompt: site, key: `key of ${site}` });
