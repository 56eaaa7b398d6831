import type { IncomingMessage } from 'node:http';
import type { GatewayError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { AppContext } from '../context.ts';
import type { DialectName } from './dialect-name.ts';
import { vendorOf } from '../vendor.ts';
import { anthropicError } from './anthropic/anthropic.ts';
import { geminiError } from './gemini/gemini.ts';
import { legacyDataError, legacyError } from './legacy/legacy.ts';
import { mcpError } from './mcp.ts';
import { openaiError } from './openai/openai.ts';

/** The error body of each dialect. `status` is the HTTP status of the answer. */
export const errorBodyOf = {
  openai: openaiError,
  anthropic: anthropicError,
  gemini: geminiError,
  legacy: legacyError,
  legacy_data: legacyDataError,
  mcp: mcpError,
} satisfies Record<DialectName, (error: GatewayError, status: number, requestId: string) => JsonObject>;

/** The dialect of a request's errors: that of its route, or of the clients that use addresses like this one. */
export function dialectOf({ state: { route }, path, req }: AppContext): DialectName {
  if (!route) return dialectOfPath(path, req);
  return route.dialectBy?.(req) ?? route.dialect;
}

function dialectOfPath(path: string, request: Pick<IncomingMessage, 'headers'>): DialectName {
  const isBelow = (prefix: string): boolean => path === prefix || path.startsWith(`${prefix}/`);
  if (['/api/v1beta', '/v1beta', '/v1beta1'].some(isBelow)) return 'gemini';
  if (isBelow('/v1/messages')) return 'anthropic';
  return isBelow('/v1') ? vendorOf(request) : 'openai';
}
