import type { GatewayError } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';

/**
 * `{error: {code, message, status, details}}` with the words of google.rpc.Code. `details` has our own code as an ErrorInfo and, if
 * the client should wait, a RetryInfo (google.rpc error_details.proto).
 */
export function geminiError(error: GatewayError, status: number): JsonObject {
  const metadata: JsonObject = {
    ...(error.param !== undefined && { param: error.param }),
    ...(error.taskId !== undefined && { task_id: error.taskId }),
  };
  const details: JsonObject[] = [
    {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: error.code.toUpperCase(),
      domain: 'tollgate',
      metadata,
    },
  ];
  if (error.retryAfterSeconds !== undefined) {
    details.push({
      '@type': 'type.googleapis.com/google.rpc.RetryInfo',
      retryDelay: `${Math.ceil(error.retryAfterSeconds)}s`,
    });
  }
  return { error: { code: status, message: error.message, status: rpcWord(status), details } };
}

const rpcWords: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};
const rpcWord = (status: number): string => rpcWords[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT');
