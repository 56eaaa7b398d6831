import { z } from 'zod';
import { ChatCost } from './chat-cost.ts';

const Block = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string(), citations: z.null() }),
  z.object({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() }),
  z.object({ type: z.literal('redacted_thinking'), data: z.string() }),
  z.object({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
    caller: z.object({ type: z.literal('direct') }),
  }),
]);

/** A whole answer of `POST /v1/messages`. */
export const AnthropicMessage = z
  .object({
    id: z.string(),
    type: z.literal('message'),
    role: z.literal('assistant'),
    model: z.string(),
    content: z.array(Block),
    container: z.null(),
    diagnostics: z.null(),
    stop_reason: z.enum(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal']),
    stop_sequence: z.string().nullable(),
    stop_details: z
      .object({ type: z.literal('refusal'), category: z.null(), explanation: z.string().nullable() })
      .nullable(),
    usage: z.object({
      input_tokens: z.int(),
      cache_read_input_tokens: z.int(),
      cache_creation_input_tokens: z.int(),
      cache_creation: z.object({ ephemeral_5m_input_tokens: z.int(), ephemeral_1h_input_tokens: z.int() }),
      output_tokens: z.int(),
      output_tokens_details: z.object({ thinking_tokens: z.int() }),
      server_tool_use: z.null(),
      service_tier: z.literal('standard'),
      inference_geo: z.null(),
      speed: z.null(),
      tollgate: ChatCost.optional().describe('Absent from a replay of what release 0.2.0 stored.'),
    }),
    tollgate: z.object({ warning: z.string() }).optional(),
  })
  .meta({ id: 'AnthropicMessage' });

export const TokenCount = z.object({ input_tokens: z.int() }).meta({ id: 'TokenCount' });
