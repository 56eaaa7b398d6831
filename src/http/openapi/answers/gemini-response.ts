import { z } from 'zod';

const Part = z.object({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  functionCall: z.object({ id: z.string(), name: z.string(), args: z.record(z.string(), z.unknown()) }).optional(),
  thoughtSignature: z.string().optional(),
  inlineData: z.object({ mimeType: z.string(), data: z.string() }).optional(),
  fileData: z.object({ mimeType: z.string(), fileUri: z.string() }).optional(),
});

/** The answer of generateContent, of a chat model or an image model. */
export const GeminiResponse = z
  .object({
    candidates: z.array(
      z.object({
        content: z.object({ role: z.literal('model'), parts: z.array(Part) }),
        finishReason: z.enum(['STOP', 'MAX_TOKENS', 'SAFETY', 'MALFORMED_FUNCTION_CALL']),
        index: z.literal(0),
      }),
    ),
    usageMetadata: z.object({
      promptTokenCount: z.int(),
      candidatesTokenCount: z.int(),
      totalTokenCount: z.int(),
      thoughtsTokenCount: z.int().optional(),
      cachedContentTokenCount: z.int().optional(),
    }),
    modelVersion: z.string(),
    responseId: z.string().describe('The task id, for image models.'),
    tollgate: z.object({ warning: z.string() }).optional(),
  })
  .meta({ id: 'GeminiResponse' });

/** The array form of streamGenerateContent, with one response. */
export const GeminiResponses = z.array(GeminiResponse);

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
