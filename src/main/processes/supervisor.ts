import { setTimeout as sleep } from 'node:timers/promises';

/** A child process that can be restarted. */
export interface ChildPlan<Child extends RunningChild = RunningChild> {
  name: string;
  /** Starts the child and resolves when it is ready. If it rejects, nothing is left running. */
  start: () => Promise<Child>;
}

export interface RunningChild {
  pid: number;
  /** Resolves once it has ended, with a description: "ended with code 1", "was ended by SIGKILL". Never rejects. */
  exited: Promise<string>;
  /** Sends SIGTERM and resolves when it has ended. */
  stop(): Promise<void>;
}

export interface SupervisorOptions {
  say: (text: string) => void;
  /** Called with all running children whenever one has been started. */
  onPids: (pids: Record<string, number>) => void;
  backoff?: { minSeconds: number; maxSeconds: number; calmSeconds: number };
}

export interface Supervisor {
  /** Starts a child and restarts it whenever it ends. Rejects if the first start fails. */
  start<Child extends RunningChild>(plan: ChildPlan<Child>): Promise<Child>;
  /** The process of each child. For a child that is down: its last process. */
  pids(): Record<string, number>;
  /** Stops these children together, without restart. Resolves when they have ended. */
  stop(names: readonly string[]): Promise<void>;
  /** Kills all running children, to cut a stop short. */
  kill(): void;
}

/** Restarts children that end, with a growing backoff. After a long run the backoff starts again at the shortest wait. */
export function createSupervisor({ say, onPids, backoff = usualBackoff }: SupervisorOptions): Supervisor {
  const children = new Map<string, Child>();

  const pids = () => Object.fromEntries([...children].map(([name, { pid }]) => [name, pid]));

  async function keepRunning(plan: ChildPlan, first: RunningChild, stopping: AbortController): Promise<void> {
    let running: RunningChild | null = first;
    let waitSeconds = backoff.minSeconds;
    // Ends with `stop`. A child that cannot start is tried again at the longest wait.
    while (!stopping.signal.aborted) {
      if (running !== null) {
        const since = Date.now();
        const how: string = await running.exited;
        if (stopping.signal.aborted) return;
        setRunning(plan.name, null);
        if (Date.now() - since > backoff.calmSeconds * 1_000) waitSeconds = backoff.minSeconds;
        say(`${plan.name} ${how}; starting it again in ${waitSeconds} s`);
      }
      await sleep(waitSeconds * 1_000, undefined, { signal: stopping.signal }).catch(() => {});
      waitSeconds = Math.min(waitSeconds * 2, backoff.maxSeconds);
      if (stopping.signal.aborted) return;
      try {
        running = await plan.start();
      } catch (error) {
        running = null;
        say(`${plan.name} did not start (${firstLine(error)}); trying again in ${waitSeconds} s`);
        continue;
      }
      setRunning(plan.name, running);
      // A stop during the start of the child finds it here.
      if (stopping.signal.aborted) return running.stop();
      say(`${plan.name} runs again`);
      onPids(pids());
    }
  }

  function setRunning(name: string, running: RunningChild | null): void {
    const child = children.get(name);
    if (!child) return;
    child.running = running;
    if (running !== null) child.pid = running.pid;
  }

  return {
    async start<Child extends RunningChild>(plan: ChildPlan<Child>): Promise<Child> {
      const running = await plan.start();
      const stopping = new AbortController();
      children.set(plan.name, { pid: running.pid, running, stopping, loop: keepRunning(plan, running, stopping) });
      onPids(pids());
      return running;
    },
    pids,
    async stop(names) {
      await Promise.all(
        names.map(async (name) => {
          const child = children.get(name);
          if (!child) return;
          child.stopping.abort();
          await child.running?.stop();
          // A child that is still starting is waited for only this long. The guardian stops it.
          await Promise.race([child.loop, sleep(startingMsMax, undefined, { ref: false })]);
          children.delete(name);
        }),
      );
    },
    kill() {
      for (const { running } of children.values()) {
        if (running === null) continue;
        try {
          process.kill(running.pid, 'SIGKILL');
        } catch {
          // The child has just ended.
        }
      }
    },
  };
}

interface Child {
  pid: number;
  running: RunningChild | null;
  stopping: AbortController;
  loop: Promise<void>;
}

const startingMsMax = 10_000;
const usualBackoff = { minSeconds: 1, maxSeconds: 30, calmSeconds: 60 };

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
