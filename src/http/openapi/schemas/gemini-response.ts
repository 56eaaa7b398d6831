import { z } from 'zod';
import { ChatCost } from './chat-cost.ts';
import { errorBodies } from './errors.ts';

const Part = z.object({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  functionCall: z.object({ id: z.string(), name: z.string(), args: z.record(z.string(), z.unknown()) }).optional(),
  thoughtSignature: z.string().optional(),
  inlineData: z.object({ mimeType: z.string(), data: z.string() }).optional(),
  fileData: z.object({ mimeType: z.string(), fileUri: z.string() }).optional(),
});

const GeminiCandidate = z.object({
  content: z.object({ role: z.literal('model'), parts: z.array(Part) }),
  finishReason: z.enum(['STOP', 'MAX_TOKENS', 'SAFETY', 'MALFORMED_FUNCTION_CALL']),
  index: z.literal(0),
});

/** The answer of generateContent, of a chat model or an image model. */
export const GeminiResponse = z
  .object({
    candidates: z.array(GeminiCandidate),
    usageMetadata: z.object({
      promptTokenCount: z.int(),
      candidatesTokenCount: z.int(),
      totalTokenCount: z.int(),
      thoughtsTokenCount: z.int().optional(),
      cachedContentTokenCount: z.int().optional(),
      tollgate: ChatCost.optional().describe('Of chat models.'),
    }),
    modelVersion: z.string(),
    responseId: z.string().describe('The task id, for image models.'),
    tollgate: z.object({ warning: z.string() }).optional(),
  })
  .meta({ id: 'GeminiResponse' });

/** A part of a streamed answer. Only the last one says why the answer ended and counts what it used. */
const GeminiChunk = GeminiResponse.extend({
  candidates: z.array(GeminiCandidate.partial({ finishReason: true })),
}).meta({ id: 'GeminiChunk' });

/** The array form of streamGenerateContent. An answer that breaks off ends with an error. */
export const GeminiResponses = z.array(z.union([GeminiChunk, errorBodies.gemini]));

/** The answer of countTokens. */
export const GeminiTokens = z
  .object({
    totalTokens: z.int(),
    promptTokensDetails: z.array(z.object({ modality: z.literal('TEXT'), tokenCount: z.int() })),
  })
  .meta({ id: 'GeminiTokens' });

/** The answer of predict. */
export const Predictions = z
  .object({
    predictions: z.array(
      z.object({
        mimeType: z.string(),
        bytesBase64Encoded: z.string().optional(),
        gcsUri: z.string().optional().describe('A signed URL, of a picture that is too large for the answer.'),
      }),
    ),
    metadata: z.object({ taskId: z.string() }),
  })
  .meta({ id: 'Predictions' });
