import type { z } from 'zod';
import type { ChatTool, ToolCall } from '../../../domain/chat/chat.ts';
import type { ChatCompletion } from '../../openapi/schemas/chat-completion.ts';
import { customCall, isCustomTool, type CustomCallForm } from '../custom-tool.ts';
import { answerTokenParts, costMember, type AnswerUsage, type ChatAnswer } from '../chat-answer.ts';

type Completion = z.input<typeof ChatCompletion>;

/** The `system_fingerprint` of completions and chunks. OpenRouter's SDK refuses an answer without it, and Cerebras' SDK needs a string. */
export const FINGERPRINT = 'fp_tollgate';

/** Some clients of Mistral's API read a tool call only if it is whole and in the chunk with the finish reason. */
export const hasWholeCalls = (ownedBy: string | undefined): boolean => ownedBy === 'mistral-ai';

/** These vendors send the counts in the last chunk of a stream unasked, and a text in each whole answer. Their clients rely on both. */
export const hasVendorForm = (ownedBy: string | undefined): boolean =>
  ownedBy === 'mistral-ai' || ownedBy === 'deepseek';

/** Writes the chat completion object (https://platform.openai.com/docs/api-reference/chat/object). `tools` are those of the request. */
export function openaiCompletion(
  { id, created, model, ownedBy, reply, usage, warning, ...cost }: ChatAnswer,
  tools: readonly ChatTool[] = [],
  customForm: CustomCallForm = 'custom',
): Completion {
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    system_fingerprint: FINGERPRINT,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: reply.content ?? (hasVendorForm(ownedBy) ? '' : null),
          // DeepSeek's name for the thoughts, which OpenAI-compatible servers and clients share.
          ...(reply.reasoning !== undefined && { reasoning_content: reply.reasoning }),
          refusal: reply.refusal,
          ...(reply.toolCalls.length > 0 && {
            tool_calls: reply.toolCalls.map((call, index) => ({
              // As DeepSeek sends it, and its client in rig demands.
              ...(ownedBy === 'deepseek' && { index }),
              ...toToolCall(call, tools, customForm),
            })),
          }),
        },
        logprobs: null,
        finish_reason: reply.finishReason,
      },
    ],
    usage: openaiUsage({ reply, usage, ...cost }),
    ...(warning !== undefined && { tollgate: { warning } }),
  };
}

/** The `usage` object of a completion and of the last chunk of a stream. */
export function openaiUsage(answer: AnswerUsage): Completion['usage'] {
  const { usage } = answer;
  const { cached, cacheWrite, reasoning } = answerTokenParts(answer);
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    // Typed clients demand each count of OpenAI's.
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWrite, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
    ...costMember(answer),
  };
}

function toToolCall(
  call: ToolCall,
  tools: readonly ChatTool[],
  customForm: CustomCallForm,
): NonNullable<Completion['choices'][number]['message']['tool_calls']>[number] {
  const { id, name: called, arguments: text, signature } = call;
  if (isCustomTool(tools, called)) return customCall(call, customForm);
  return {
    id,
    type: 'function',
    function: { name: called, arguments: text },
    // Where Google's own OpenAI dialect puts it (https://ai.google.dev/gemini-api/docs/thought-signatures).
    ...(signature !== undefined && { extra_content: { google: { thought_signature: signature } } }),
  };
}
