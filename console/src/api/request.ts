/** An error that the gateway answered, in its own sentence, or with the status 0 that it did not answer. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** The field of the request that is wrong, if it is one. */
  readonly param: string | null;

  constructor(status: number, { message, code, param }: { message: string; code: string; param: string | null }) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
  }
}

/** Whether another operator changed the thing after it was read. */
export const isConflict = (error: unknown): boolean => error instanceof ApiError && error.code === 'version_conflict';

export interface Call {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

/** Sends a request to this origin and returns the response. Throws `ApiError` for an answer that is an error and for none. */
export async function send(path: string, { method = 'GET', body, headers, signal }: Call = {}): Promise<Response> {
  const isForm = body instanceof FormData;
  const response = await fetch(path, {
    method,
    headers: { ...(body !== undefined && !isForm && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((cause: unknown) => {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause;
    const message = 'The gateway does not answer. Check that it runs and that you are connected, then try again.';
    throw new ApiError(0, { message, code: 'unreachable', param: null });
  });
  if (!response.ok) throw await errorOf(response);
  return response;
}

async function errorOf(response: Response): Promise<ApiError> {
  const fallback = `The gateway answered with status ${response.status}.`;
  const body = (await response.json().catch(() => null)) as { error?: Partial<ApiError> } | null;
  return new ApiError(response.status, {
    message: body?.error?.message ?? fallback,
    code: body?.error?.code ?? 'unknown',
    param: body?.error?.param ?? null,
  });
}

/** The JSON body of an answer. The caller names its type, which the server's own schema of the route guarantees. */
export const sendJson = async <T>(path: string, call?: Call): Promise<T> =>
  (await send(path, call)).json() as Promise<T>;

/** A query string of the given values, without those that are empty. Begins with `?`, or is empty. */
export function query(values: Readonly<Record<string, unknown>>): string {
  const filled = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return filled.length === 0
    ? ''
    : `?${new URLSearchParams(filled.map(([key, value]) => [key, String(value)])).toString()}`;
}

/** An `Idempotency-Key`. Not `crypto.randomUUID`, which browsers lack on plain http. */
export const newIdempotencyKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
