import { setTimeout as sleep } from 'node:timers/promises';

/** Something that runs as a process of its own and can be started again. */
export interface ChildPlan<Child extends RunningChild = RunningChild> {
  name: string;
  /** Resolves when it is ready to be used; rejects, with nothing left running, when it is not. */
  start: () => Promise<Child>;
}

export interface RunningChild {
  pid: number;
  /** Resolves with words for a person once it has ended. Never rejects. */
  exited: Promise<string>;
  stop(): Promise<void>;
}

export interface SupervisorOptions {
  say: (text: string) => void;
  /** Called whenever a child has been started, with all that run. */
  onPids: (pids: Record<string, number>) => void;
  backoff?: { minSeconds: number; maxSeconds: number; calmSeconds: number };
}

export interface Supervisor {
  /** Starts a child and from then on keeps it running. Rejects when the first start fails. */
  start<Child extends RunningChild>(plan: ChildPlan<Child>): Promise<Child>;
  /** The process of each child; of one that is just down, the last. */
  pids(): Record<string, number>;
  /** Stops these children together, for good. Resolves when they are gone. */
  stop(names: readonly string[]): Promise<void>;
  /** Kills all that run, at once, for a stop that may take no longer. */
  kill(): void;
}

/** Starts children and starts each one again when it dies, a little later each time; one that ran calmly begins at the shortest wait. */
export function createSupervisor({ say, onPids, backoff = usualBackoff }: SupervisorOptions): Supervisor {
  const children = new Map<string, Child>();

  const pids = () => Object.fromEntries([...children].map(([name, { pid }]) => [name, pid]));

  async function keepRunning(plan: ChildPlan, first: RunningChild, stopping: AbortController): Promise<void> {
    let running: RunningChild | null = first;
    let waitSeconds = backoff.minSeconds;
    // Ends with `stop`; a child that can never start again is tried at the longest wait for as long as we run.
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
      // A stop that came while it was starting finds it here.
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
          // One that was just being started is waited for only so long; the guardian has it.
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
          // It has just ended.
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
