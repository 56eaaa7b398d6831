import { errorTable, type GatewayError } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';

/** `{error: {message, type, param, code}}`. All four members are always present, because official SDKs read each of them. */
export const openaiError = (error: GatewayError): { error: JsonObject } => ({
  error: { ...errorFields(error), ...(error.problems && { problems: error.problems.map((each) => ({ ...each })) }) },
});

/** The members of an OpenAI error. */
export const errorFields = (error: GatewayError) => ({
  message: error.message,
  type: errorTable[error.code].type,
  param: error.param ?? null,
  code: error.code,
});
