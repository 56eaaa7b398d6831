import type { z } from 'zod';
import type { FinishReason, ToolCall } from '../../../domain/chat/chat.ts';
import type { GeminiResponse } from '../../openapi/schemas/gemini-response.ts';
import { answerTokenParts, costMember, type AnswerUsage, type ChatAnswer } from '../chat-answer.ts';
import { callArguments } from '../call-arguments.ts';

type Response = z.input<typeof GeminiResponse>;
export type GeminiPart = Response['candidates'][number]['content']['parts'][number];

/** Writes the generateContent response (https://ai.google.dev/api/generate-content#generatecontentresponse). */
export function geminiResponse({ id, model, reply, usage, warning, ...cost }: ChatAnswer): Response {
  const calls = reply.toolCalls.map(toCallPart);
  const isBroken = calls.includes(null);
  return {
    candidates: [
      {
        content: {
          role: 'model',
          parts: [
            ...(reply.reasoning === undefined ? [] : [{ text: reply.reasoning, thought: true }]),
            ...[reply.content, reply.refusal].flatMap((text) => (text ? [{ text }] : [])),
            ...calls.filter((part) => part !== null),
          ],
        },
        // Google's word for a call with broken arguments, which must be an object here.
        finishReason: isBroken ? 'MALFORMED_FUNCTION_CALL' : finishWords[reply.finishReason],
        index: 0,
      },
    ],
    usageMetadata: geminiUsage({ reply, usage, ...cost }),
    modelVersion: model,
    responseId: id,
    // Not a member of Google's: its SDKs drop it.
    ...(warning !== undefined && { tollgate: { warning } }),
  };
}

/** The `usageMetadata` of pictures, which are priced per request, and of events before the last one: clients add up counts anyway. */
export const uncounted = { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 };

/** The `usageMetadata` of a response and of the last event of a stream. */
export function geminiUsage(answer: AnswerUsage): Response['usageMetadata'] {
  const { usage } = answer;
  const { cached, reasoning: thoughts } = answerTokenParts(answer);
  return {
    promptTokenCount: usage.input,
    candidatesTokenCount: usage.output - thoughts,
    totalTokenCount: usage.input + usage.output,
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    ...(cached > 0 && { cachedContentTokenCount: cached }),
    ...costMember(answer),
  };
}

export const finishWords = {
  stop: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'SAFETY',
} as const satisfies Record<FinishReason, string>;

export function toCallPart({ id, name, arguments: text, signature }: ToolCall): GeminiPart | null {
  const args = callArguments(text);
  return args && { functionCall: { id, name, args }, ...(signature !== undefined && { thoughtSignature: signature }) };
}
