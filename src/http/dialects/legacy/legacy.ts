import type { GatewayError } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { openaiError } from '../openai/openai.ts';

/** The OpenAI error with `success: false`, the member that clients of the old platform read. */
export const legacyError = (error: GatewayError): JsonObject => ({ success: false, ...openaiError(error) });

/** The same for answers whose members are under `data` (spec §4.6, video status). */
export const legacyDataError = (error: GatewayError): JsonObject => ({ ...legacyError(error), data: null });
