import { z } from 'zod';
import { timestamp } from '../../../schemas/time.ts';
import { ChatCost } from './chat-cost.ts';

const FunctionCall = z.object({
  index: z.int().optional().describe("Under `/v1`, for DeepSeek's models."),
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string().describe('JSON text as the model wrote it.') }),
  extra_content: z
    .object({ google: z.object({ thought_signature: z.string() }) })
    .optional()
    .describe('Opaque state of Gemini. Send it back with the call.'),
});
/**
 * The document names calls of functions alone: an alternative in an answer would break generated clients, and only a client that offers a
 * custom tool gets one.
 */
const ToolCallSchema: z.ZodType<
  unknown,
  z.input<typeof FunctionCall> | { id: string; type: 'custom'; custom: { name: string; input: string } }
> = FunctionCall;

const absentBefore = 'Absent from a replay of what a release before 0.3.0 stored.';
const noTokens = z.literal(0).optional().describe(absentBefore);
const writes = z.int().optional().describe(absentBefore);

/** A whole answer of `POST /api/v1/chat/completions`. */
export const ChatCompletion = z
  .object({
    id: z.string(),
    object: z.literal('chat.completion'),
    created: timestamp,
    model: z.string(),
    system_fingerprint: z.string().nullish().describe('Always `fp_tollgate`, but null or absent before 0.3.0.'),
    choices: z.array(
      z.object({
        index: z.literal(0),
        message: z.object({
          role: z.literal('assistant'),
          content: z.string().nullable(),
          reasoning_content: z.string().optional().describe('The thoughts of the model, or a summary of them.'),
          refusal: z.string().nullable(),
          tool_calls: z.array(ToolCallSchema).optional(),
        }),
        logprobs: z.null(),
        finish_reason: z.enum(['stop', 'length', 'tool_calls', 'content_filter']),
      }),
    ),
    usage: z.object({
      prompt_tokens: z.int(),
      completion_tokens: z.int(),
      total_tokens: z.int(),
      prompt_tokens_details: z.object({ cached_tokens: z.int(), cache_write_tokens: writes, audio_tokens: noTokens }),
      completion_tokens_details: z.object({
        reasoning_tokens: z.int(),
        audio_tokens: noTokens,
        accepted_prediction_tokens: noTokens,
        rejected_prediction_tokens: noTokens,
      }),
      tollgate: ChatCost.optional().describe('Absent from a replay of what release 0.2.0 stored.'),
    }),
    tollgate: z.object({ warning: z.string() }).optional(),
  })
  .meta({ id: 'ChatCompletion' });

/** Server-Sent Events. A tool may check the text or each event, so there is no type. */
export const EventText = z.any().describe('Server-Sent Events.');
