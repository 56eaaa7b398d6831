import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { GuardianLine } from './guardian.ts';
import { processStart } from './process-identity.ts';

/** Sees to it that what we start ends with us, even when we are killed without a chance to stop it. */
export interface Guardian {
  pid: number;
  /** From now on this process ends with ours; a higher rank is stopped earlier. False once closed: it must not run on. */
  watch(pid: number, how: { signal: 'SIGINT' | 'SIGTERM'; graceSeconds: number; rank: number }): boolean;
  forget(pid: number): void;
  /** The folder is removed when we are gone, after the processes. */
  removeFolder(path: string): void;
  /** Ends the guardian, and with it whatever is still watched. Resolves when both are done, after 90 s at most. */
  close(): Promise<void>;
}

/** Starts the guardian process in a session of its own, so that a signal to our group does not reach it. */
export function startGuardian(): Guardian {
  const known = new Map<string, GuardianLine>();
  let closing = false;
  let child = launch();

  function launch() {
    const next = spawn(process.execPath, [fileURLToPath(new URL('./guardian.ts', import.meta.url))], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
      env: { PATH: process.env.PATH },
    });
    next.stdin.on('error', () => {});
    next.on('error', () => {});
    next.on('exit', () => {
      if (closing) return;
      // It was killed on its own: a new one learns the same list. The pause bounds a guardian that cannot start at all.
      setTimeout(() => {
        if (!closing) child = launch();
      }, 1_000).unref();
    });
    for (const line of known.values()) next.stdin.write(`${JSON.stringify(line)}\n`);
    // Neither the process nor its pipe keeps us running.
    next.unref();
    if (next.stdin instanceof Socket) next.stdin.unref();
    return next;
  }

  const tell = (line: GuardianLine) => {
    if (!closing) child.stdin.write(`${JSON.stringify(line)}\n`);
  };

  return {
    get pid() {
      return child.pid ?? 0;
    },
    watch(pid, how) {
      if (closing) return false;
      const start = processStart(pid);
      if (start === null) return true;
      const line: GuardianLine = { do: 'watch', pid, start, ...how };
      known.set(String(pid), line);
      tell(line);
      return true;
    },
    forget(pid) {
      known.delete(String(pid));
      tell({ do: 'forget', pid });
    },
    removeFolder(path) {
      const line: GuardianLine = { do: 'remove-folder', path };
      known.set(path, line);
      tell(line);
    },
    async close() {
      if (closing) return;
      closing = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      await new Promise<void>((resolve) => {
        const limit = setTimeout(resolve, 90_000);
        child.once('exit', () => {
          clearTimeout(limit);
          resolve();
        });
        child.ref();
        child.stdin.end();
      });
    },
  };
}
