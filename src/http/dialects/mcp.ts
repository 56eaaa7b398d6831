import type { GatewayError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { nonNullFields } from './chat-fields.ts';

/**
 * `{jsonrpc, id, error: {code, message, data}}` of a request that was refused before its message was read, which is why `id` is null
 * (https://www.jsonrpc.org/specification, section 5). Our own code is in `data.code`.
 */
export const mcpError = (error: GatewayError, status: number, requestId: string): JsonObject => ({
  jsonrpc: '2.0',
  id: null,
  error: {
    code: rpcCode(error, status),
    message: error.message,
    data: { code: error.code, ...nonNullFields({ param: error.param, task_id: error.taskId }), request_id: requestId },
  },
});

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const INTERNAL_ERROR = -32_603;

function rpcCode({ code }: GatewayError, status: number): number {
  if (code === 'invalid_json') return PARSE_ERROR;
  return status >= 500 ? INTERNAL_ERROR : INVALID_REQUEST;
}
