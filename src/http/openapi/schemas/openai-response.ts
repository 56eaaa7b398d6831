import { z } from 'zod';
import { timestamp } from '../../../schemas/time.ts';
import { ChatCost } from './chat-cost.ts';

/** A whole answer of `POST /v1/responses`. Fields of the request are repeated in it, as OpenAI does. */
export const OpenaiResponse = z
  .looseObject({
    id: z.string(),
    object: z.literal('response'),
    created_at: timestamp,
    status: z.enum(['completed', 'incomplete']),
    completed_at: timestamp.nullable(),
    incomplete_details: z.object({ reason: z.enum(['max_output_tokens', 'content_filter']) }).nullable(),
    model: z.string(),
    output: z
      .array(
        z.looseObject({ type: z.enum(['message', 'reasoning', 'function_call', 'custom_tool_call']), id: z.string() }),
      )
      .describe('Messages, thoughts, and calls of functions and of custom tools.'),
    temperature: z.number(),
    top_p: z.number(),
    presence_penalty: z.number(),
    frequency_penalty: z.number(),
    usage: z.object({
      input_tokens: z.int(),
      input_tokens_details: z.object({ cached_tokens: z.int(), cache_write_tokens: z.int() }),
      output_tokens: z.int(),
      output_tokens_details: z.object({ reasoning_tokens: z.int() }),
      total_tokens: z.int(),
      tollgate: ChatCost.optional().describe('Absent from a replay of what release 0.2.0 stored.'),
    }),
    tollgate: z.object({ warning: z.string() }).optional(),
  })
  .meta({ id: 'OpenaiResponse' });

/** The answer of `POST /v1/responses/input_tokens`. */
export const ResponseTokens = z
  .object({ object: z.literal('response.input_tokens'), input_tokens: z.int() })
  .meta({ id: 'ResponseTokens' });
