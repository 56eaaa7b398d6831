interface Refusal {
  status: number;
  code: string;
  message: string;
  field: string | null;
  requestId: string | null;
  retryAfterSeconds: number | null;
  mayRetry: boolean;
}

/** The gateway refused a request. `code` is what to program against; `{baseUrl}/docs/errors/{code}` explains it. */
export class TollgateError extends Error {
  override readonly name = 'TollgateError';
  /** The HTTP status. */
  readonly status: number;
  /** Such as `insufficient_credits`; `http_502` and the like if something else than the gateway answered. */
  readonly code: string;
  /** The field or query parameter at fault. */
  readonly field: string | null;
  /** The id under which the gateway logs the request. */
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
  /** Whether the same request, with the same idempotency key, may succeed later. */
  readonly mayRetry: boolean;

  constructor({ message, ...refusal }: Refusal) {
    super(message);
    this.status = refusal.status;
    this.code = refusal.code;
    this.field = refusal.field;
    this.requestId = refusal.requestId;
    this.retryAfterSeconds = refusal.retryAfterSeconds;
    this.mayRetry = refusal.mayRetry;
  }
}

/** No complete answer arrived. The gateway may have received the request; `cause` is what fetch threw. */
export class TollgateConnectionError extends Error {
  override readonly name = 'TollgateConnectionError';
}

/** The refusal in an answer that is not 2xx. */
export function readRefusal({ status, headers }: Response, text: string): TollgateError {
  const { code, message, param } = errorOf(text);
  const refusalCode = typeof code === 'string' ? code : `http_${status}`;
  return new TollgateError({
    status,
    code: refusalCode,
    message: typeof message === 'string' ? message : `The gateway answered ${status}.`,
    field: typeof param === 'string' ? param : null,
    requestId: headers.get('x-request-id'),
    retryAfterSeconds: readRetryAfter(headers),
    mayRetry: headers.get('x-should-retry') !== 'false' && isTemporary(status, refusalCode),
  });
}

const isTemporary = (status: number, code: string): boolean =>
  status === 408 || status === 429 || status >= 500 || code === 'idempotency_in_progress';

function errorOf(text: string): { code?: unknown; message?: unknown; param?: unknown } {
  try {
    const body = JSON.parse(text) as { error?: object } | null;
    return body?.error ?? {};
  } catch {
    // A proxy answers with a page of its own.
    return {};
  }
}

/** `Retry-After` in seconds from now, as a number or a date (RFC 9110 §10.2.3); null if it is absent. */
export function readRetryAfter(headers: Headers): number | null {
  const text = headers.get('retry-after');
  if (text === null) return null;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000;
  return Number.isNaN(seconds) ? null : Math.max(0, seconds);
}
