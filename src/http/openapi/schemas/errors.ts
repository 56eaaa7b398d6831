import { z } from 'zod';
import type { ErrorCode } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { THREAD_UNSUPPORTED } from '../../dialects/anthropic/anthropic.ts';
import type { DialectName } from '../../dialects/dialect-name.ts';

export const openaiErrorSchema = z.object({
  message: z.string().describe('A sentence for people. It names the field, the value and what is accepted.'),
  type: z.string(),
  param: z.string().nullable().describe('The field or query parameter at fault.'),
  code: z.string().describe('The code to program against.'),
});

const anthropic = z.object({
  type: z.string(),
  message: z.string(),
  details: z.object({
    error_code: z.string().describe('The code to program against.'),
    param: z.string().optional().describe('The field at fault.'),
  }),
});

const gemini = z.object({
  code: z.int().describe('The HTTP status.'),
  message: z.string(),
  status: z.string().describe('The word of google.rpc.Code.'),
  details: z.array(z.record(z.string(), z.unknown())).describe('`reason` of the first one has our code in capitals.'),
});

const mcp = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number()]).nullable(),
  error: z.object({
    code: z.int(),
    message: z.string(),
    data: z
      .looseObject({ code: z.string().optional().describe('The code to program against.') })
      .optional()
      .describe('Absent if the protocol itself refuses the message.'),
  }),
});

/** The error body of each dialect. */
export const errorBodies = {
  openai: z.object({ error: openaiErrorSchema }).meta({ id: 'Error' }),
  anthropic: z
    .object({ type: z.literal('error'), error: anthropic, request_id: z.string() })
    .meta({ id: 'AnthropicError' }),
  gemini: z.object({ error: gemini }).meta({ id: 'GeminiError' }),
  legacy: z.object({ success: z.literal(false), error: openaiErrorSchema }).meta({ id: 'LegacyError' }),
  legacy_data: z
    .object({ success: z.literal(false), error: openaiErrorSchema, data: z.null() })
    .meta({ id: 'LegacyDataError' }),
  mcp: mcp.meta({ id: 'McpError' }),
} satisfies Record<DialectName, z.ZodType>;

/** What a body with one of these codes has beyond its dialect's schema. */
export function withCodes(dialect: DialectName, codes: readonly ErrorCode[]): JsonObject {
  const has = (member: string, schema: JsonObject): JsonObject => ({
    type: 'object',
    properties: { [member]: schema },
  });
  const oneOf = (values: readonly string[]): JsonObject => ({ enum: [...values] });
  if (dialect === 'anthropic') return has('error', has('details', has('error_code', oneOf(anthropicCodes(codes)))));
  if (dialect === 'gemini') {
    const reason = oneOf(codes.map((code) => code.toUpperCase()));
    return has('error', has('details', { type: 'array', items: has('reason', reason) }));
  }
  if (dialect === 'mcp') return has('error', has('data', has('code', oneOf(codes))));
  return has('error', has('code', oneOf(codes)));
}

/** A refused `thread` has a code of Anthropic's own. */
const anthropicCodes = (codes: readonly ErrorCode[]): string[] =>
  codes.includes('unsupported_parameter') ? [...codes, THREAD_UNSUPPORTED] : [...codes];
