import type { GatewayError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { geminiError } from './gemini.ts';
import { legacyDataError, legacyError } from './legacy.ts';
import { openaiError } from './openai.ts';

/** The dialects of error bodies. */
export type DialectName = 'openai' | 'gemini' | 'legacy' | 'legacy_data';

/** The error body of each dialect. `status` is the HTTP status of the answer. */
export const errorBodyOf = {
  openai: openaiError,
  gemini: geminiError,
  legacy: legacyError,
  legacy_data: legacyDataError,
} satisfies Record<DialectName, (error: GatewayError, status: number) => JsonObject>;

/** The dialect for a path without a route. Clients under the Gemini prefix can read only Gemini's errors. */
export const dialectOfPath = (path: string): DialectName =>
  path === '/api/v1beta' || path.startsWith('/api/v1beta/') ? 'gemini' : 'openai';
