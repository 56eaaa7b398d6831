/** Timers of Node may fire this much early. */
const TIMER_MS = 2;

export interface PollWatch {
  fetch: typeof globalThis.fetch;
  requests: () => number;
  /** The requests that were sent earlier than the answer before allowed, or before that answer arrived. */
  early: string[];
}

/**
 * A fetch that notes, for each create and each task, when the server allows the next request: once it has answered, and not before `Retry-After`
 * is over.
 */
export function watchPolls(): PollWatch {
  const allowedAt = new Map<string, number>();
  const early: string[] = [];
  let requests = 0;
  return {
    early,
    requests: () => requests,
    async fetch(input, init) {
      requests += 1;
      const url = urlOf(input);
      const about = /task_\w+/.exec(url)?.[0] ?? new Headers(init?.headers).get('idempotency-key') ?? '';
      if (performance.now() < (allowedAt.get(about) ?? 0) - TIMER_MS) early.push(`${init?.method} ${url}`);
      allowedAt.set(about, Infinity);
      const response = await fetch(input, init);
      const { task_id: taskId } = (await response.clone().json()) as { task_id?: string };
      const at = performance.now() + 1_000 * Number(response.headers.get('retry-after') ?? 0);
      allowedAt.set(about, at);
      if (taskId !== undefined) allowedAt.set(taskId, at);
      return response;
    },
  };
}

export const urlOf = (input: Parameters<typeof globalThis.fetch>[0]): string =>
  input instanceof Request ? input.url : input.toString();
