import { queryOptions, type QueryClient } from '@tanstack/react-query';
import { change } from './admin.ts';
import { ApiError, newIdempotencyKey, send, sendJson, type Call } from './request.ts';
import type { Model, Task } from './client-types.ts';

export interface Wallet {
  projectId: string;
  /** The most credits that this operator may spend of the project in a day (UTC). */
  budgetDaily: number;
}

/** A short-lived key by which the console calls the client API. It lives in the memory of this page only. */
const keyQuery = ({ projectId, budgetDaily }: Wallet) =>
  queryOptions({
    queryKey: ['playground-key', projectId, budgetDaily],
    queryFn: () => change('post', '/playground/key', {}, { project_id: projectId, budget_daily: budgetDaily }),
    staleTime: 11 * 3_600_000,
    gcTime: Infinity,
  });

/** The id of that key, by which the operator's own requests are found. */
export const playgroundKeyId = async (queryClient: QueryClient, wallet: Wallet): Promise<string> =>
  (await queryClient.fetchQuery(keyQuery(wallet))).key_id;

/** Calls the client API as any client would, with a key of the chosen project. */
export interface ClientApi {
  send: (path: string, call?: Call) => Promise<Response>;
  json: <T>(path: string, call?: Call) => Promise<T>;
}

/** A key that another window of the same operator has replaced is made again once. */
export function clientApi(queryClient: QueryClient, wallet: Wallet): ClientApi {
  const withKey = async <T>(call: Call, run: (call: Call) => Promise<T>): Promise<T> => {
    const attempt = async (): Promise<T> => {
      const { api_key: key } = await queryClient.fetchQuery(keyQuery(wallet));
      return run({ ...call, headers: { authorization: `Bearer ${key}`, ...call.headers } });
    };
    return attempt().catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.code !== 'invalid_api_key') throw error;
      queryClient.removeQueries({ queryKey: keyQuery(wallet).queryKey });
      return attempt();
    });
  };
  return {
    send: (path, call = {}) => withKey(call, (ready) => send(path, ready)),
    json: (path, call = {}) => withKey(call, (ready) => sendJson(path, ready)),
  };
}

/** The models that clients are offered. */
export const modelsQuery = (api: ClientApi, { projectId }: Wallet) =>
  queryOptions({
    queryKey: ['client-models', projectId],
    queryFn: async () => (await api.json<{ data: Model[] }>('/api/v1/models')).data,
    staleTime: 300_000,
  });

export const createPath = (type: Model['type']): string =>
  type === 'image' ? '/api/v1/images/generate' : '/api/v1/video/generate';

/** Creates a task and calls `onChange` with it after each change that the gateway tells, until it has ended. */
export async function runTask(
  api: ClientApi,
  {
    type,
    body,
    signal,
    onChange,
  }: { type: Model['type']; body: object; signal: AbortSignal; onChange: (task: Task) => void },
): Promise<Task> {
  const headers = { 'idempotency-key': newIdempotencyKey() };
  let task = await api.json<Task>(createPath(type), { method: 'POST', body, headers, signal });
  onChange(task);
  while (!isFinal(task)) {
    // Short waits, so that a status between the first and the last is shown.
    task = await api.json<Task>(`/api/v1/tasks/${task.task_id}?wait=2`, { signal });
    onChange(task);
  }
  return task;
}

export const isFinal = ({ status }: Pick<Task, 'status'>): boolean =>
  ['succeeded', 'failed', 'canceled'].includes(status);

/** The address of a file on this origin, which the page's policy allows. The signature covers the path only. */
export function sameOrigin(url: string): string {
  const { pathname, search } = new URL(url, location.origin);
  return pathname + search;
}
