import type { Environment } from './operator-environment.ts';

/** One run of the command line. */
export interface Invocation {
  env: Environment;
  write: (text: string) => void;
  /** Set to 1 by a command that ran and reports a refusal. */
  exitCode: number;
}
