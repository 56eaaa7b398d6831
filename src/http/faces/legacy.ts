import type { GatewayError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { openaiError } from './openai.ts';

/** The openai error beside `success: false`, which is the member that clients of the old platform look at. */
export const legacyError = (error: GatewayError): JsonObject => ({ success: false, ...openaiError(error) });
