import type { GatewayError } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';

/**
 * `{type: "error", error: {type, message, details}, request_id}` (https://platform.claude.com/docs/en/api/errors, read 2026-11-22). Our own
 * code is in `details.error_code`, where Anthropic's SDKs look for one, and the field at fault in `details.param`.
 */
export const anthropicError = (error: GatewayError, status: number, requestId: string): JsonObject => ({
  type: 'error',
  error: {
    type: typeOf(status),
    message: error.message,
    details: { error_code: codeOf(error), ...(error.param !== undefined && { param: error.param }) },
  },
  request_id: requestId,
});

/** The SDKs' tool runners ask for a stored thread first. By this code they know to send the whole conversation. */
export const THREAD_UNSUPPORTED = 'thread_unsupported_request';

const codeOf = ({ code, param }: GatewayError): string => (param === 'thread' ? THREAD_UNSUPPORTED : code);

const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};
const typeOf = (status: number): string => types[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
