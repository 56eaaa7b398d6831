/** The callbacks that one process sends at the same time. A slow receiver takes the slots of its own host and project and no others. */
export interface SendSlots {
  /** Waits a moment for a slot. Resolves with a slot to release after the call, or with the seconds until it is worth asking again. */
  enter(projectId: string, host: string): Promise<SendSlot | { kind: 'busy'; waitSeconds: number }>;
}

export interface SendSlot {
  kind: 'entered';
  release(): void;
}

export interface SendLimits {
  /** Sockets of one process. */
  total: number;
  perProject: number;
  perHost: number;
  /** Callbacks of one project that may wait for a slot. Each holds an activity slot of the worker while it waits. */
  waitingPerProject: number;
  waitMs: number;
}

/** With answers after 100 ms, one host gets 160 callbacks a second from each worker, and one project 640. */
const usualLimits: SendLimits = { total: 256, perProject: 64, perHost: 16, waitingPerProject: 100, waitMs: 1_000 };

/** Long enough that thousands of postponed callbacks cost little, short enough for a receiver that has recovered. */
const postponeMaxSeconds = 300;

/** The callbacks of one host, of one project or of the process. */
interface Line {
  max: number;
  running: number;
  waiting: number;
  /** A moving average of the duration of a call. */
  callMs: number;
  /** When the postponed callbacks will have had their turn, by `performance.now()`. */
  bookedUntil: number;
}

interface Waiter {
  lines: Line[];
  enter(slot: SendSlot): void;
}

/**
 * Bounds the callbacks in flight per host, per project and in total. A callback beyond a bound waits for `waitMs`. After that it is
 * postponed by the time that its line needs for those before it, so that 2,000 callbacks to a receiver that hangs are not all tried
 * again at the same moment.
 */
export function createSendSlots(limits: SendLimits = usualLimits): SendSlots {
  const everyone = newLine(limits.total);
  const lines = new Map<string, Line>();
  const waiters = new Set<Waiter>();

  const lineOf = (name: string, max: number): Line => {
    const line = lines.get(name) ?? newLine(max);
    lines.set(name, line);
    return line;
  };
  const take = (own: Line[]): SendSlot => {
    const startedAt = performance.now();
    for (const line of own) line.running += 1;
    return {
      kind: 'entered',
      release() {
        const ms = performance.now() - startedAt;
        for (const line of own) {
          line.running -= 1;
          line.callMs += (ms - line.callMs) / 8;
        }
        admitWaiters();
      },
    };
  };
  const admitWaiters = (): void => {
    for (const waiter of waiters) {
      if (everyone.running >= everyone.max) return;
      if (waiter.lines.every(hasFreeSlot)) waiter.enter(take(waiter.lines));
    }
  };
  const forgetIdle = (): void => {
    const now = performance.now();
    for (const [name, line] of lines) {
      if (line.running === 0 && line.waiting === 0 && line.bookedUntil <= now) lines.delete(name);
    }
  };

  return {
    async enter(projectId, host) {
      if (lines.size > linesKeptMax) forgetIdle();
      const project = lineOf(`project ${projectId}`, limits.perProject);
      const own = [everyone, project, lineOf(`host ${host}`, limits.perHost)];
      if (own.every(hasFreeSlot)) return take(own);
      if (project.waiting >= limits.waitingPerProject) return postponed(own);
      project.waiting += 1;
      const entered = Promise.withResolvers<SendSlot | null>();
      const waiter: Waiter = { lines: own, enter: settle };
      function settle(slot: SendSlot | null): void {
        clearTimeout(timer);
        waiters.delete(waiter);
        project.waiting -= 1;
        entered.resolve(slot);
      }
      const timer = setTimeout(settle, limits.waitMs, null).unref();
      waiters.add(waiter);
      return (await entered.promise) ?? postponed(own);
    },
  };
}

const linesKeptMax = 1_000;
const hasFreeSlot = ({ running, max }: Line): boolean => running < max;
const newLine = (max: number): Line => ({ max, running: 0, waiting: 0, callMs: 1_000, bookedUntil: 0 });

/** Books the next turn in the slowest of the full lines. */
function postponed(own: Line[]): { kind: 'busy'; waitSeconds: number } {
  const now = performance.now();
  const full = own.filter((line) => !hasFreeSlot(line));
  const waitsMs = full.map((line) => {
    line.bookedUntil = Math.max(line.bookedUntil, now) + line.callMs / line.max;
    return line.bookedUntil - now;
  });
  return { kind: 'busy', waitSeconds: Math.min(Math.max(1, ...waitsMs.map((ms) => ms / 1_000)), postponeMaxSeconds) };
}
