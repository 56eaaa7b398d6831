import type { GatewayError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { anthropicError } from './anthropic.ts';
import { geminiError } from './gemini.ts';
import { legacyDataError, legacyError } from './legacy.ts';
import { openaiError } from './openai.ts';

/** The dialects of error bodies. */
export type DialectName = 'openai' | 'anthropic' | 'gemini' | 'legacy' | 'legacy_data';

/** The error body of each dialect. `status` is the HTTP status of the answer. */
export const errorBodyOf = {
  openai: openaiError,
  anthropic: anthropicError,
  gemini: geminiError,
  legacy: legacyError,
  legacy_data: legacyDataError,
} satisfies Record<DialectName, (error: GatewayError, status: number, requestId: string) => JsonObject>;

/** The dialect for a path without a route. Clients under the prefixes of Gemini and Anthropic can read only their own errors. */
export function dialectOfPath(path: string): DialectName {
  const isBelow = (prefix: string): boolean => path === prefix || path.startsWith(`${prefix}/`);
  return isBelow('/api/v1beta') ? 'gemini' : isBelow('/v1/messages') ? 'anthropic' : 'openai';
}
