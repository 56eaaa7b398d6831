import { newIdempotencyKey, send, sendJson, type Call } from './request.ts';

const base = '/api/admin/v1';

/** Reads a resource of the admin API. */
export const read = <T>(path: string, signal?: AbortSignal): Promise<T> => sendJson<T>(`${base}${path}`, { signal });

/** Changes something by the admin API. Each call has an idempotency key of its own, so one press of a button acts once. */
export async function change<T>(method: NonNullable<Call['method']>, path: string, body: unknown = {}): Promise<T> {
  const isDelete = method === 'DELETE';
  const response = await send(`${base}${path}`, {
    method,
    ...(!isDelete && { body }),
    headers: isDelete ? {} : { 'idempotency-key': newIdempotencyKey() },
  });
  return (await response.json()) as T;
}
