import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { GuardianLine } from './guardian.ts';
import { processStart } from './process-identity.ts';

/** Stops the children of this process when it ends, even if it is killed. */
export interface Guardian {
  pid: number;
  /** Registers a child. A higher rank is stopped earlier. False if the guardian is closed: then the caller must stop the child. */
  watch(pid: number, how: { signal: 'SIGINT' | 'SIGTERM'; graceSeconds: number; rank: number }): boolean;
  forget(pid: number): void;
  /** Registers a folder to remove after the processes have ended. */
  removeFolder(path: string): void;
  /** Ends the guardian and all registered processes. Resolves when they have ended, after 90 s at most. */
  close(): Promise<void>;
}

/** Starts the guardian process in its own session, so that a signal to this process group does not reach it. */
export function startGuardian(): Guardian {
  const lines = new Map<string, GuardianLine>();
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
      // The guardian was killed: a new one gets the same list. The pause limits the restarts of one that cannot start.
      setTimeout(() => {
        if (!closing) child = launch();
      }, 1_000).unref();
    });
    for (const line of lines.values()) next.stdin.write(`${JSON.stringify(line)}\n`);
    // Neither the process nor its pipe keeps this process running.
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
      lines.set(String(pid), line);
      tell(line);
      return true;
    },
    forget(pid) {
      lines.delete(String(pid));
      tell({ do: 'forget', pid });
    },
    removeFolder(path) {
      const line: GuardianLine = { do: 'remove-folder', path };
      lines.set(path, line);
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
