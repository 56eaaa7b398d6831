import type { GatewayError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { openaiError } from './openai.ts';

/** The openai error beside `success: false`, which is the member that clients of the old platform look at. */
export const legacyError = (error: GatewayError): JsonObject => ({ success: false, ...openaiError(error) });

/** The same where the answer's members stand under `data` (spec §4.6, video status). */
export const legacyDataError = (error: GatewayError): JsonObject => ({ ...legacyError(error), data: null });
