import { z } from 'zod';
import type { ReadError } from './classify-outcome.ts';

/**
 * Reads an error of OpenAI or of a compatible provider (https://platform.openai.com/docs/guides/error-codes, read on
 * 2026-11-21).
 */
export const readOpenaiError: ReadError = (json) => {
  const error = ErrorBody.safeParse(json).data;
  if (!error) return null;
  const { message, type, code } = error;
  const words = [type, code].flatMap((one) => (one === null || one === undefined ? [] : [String(one)]));
  // Reasoning models say "your prompt was flagged as potentially violating our usage policy".
  if (words.includes('invalid_prompt')) words.push('content_policy');
  // Compatible providers say this in prose only: "This model's maximum context length is 131072 tokens."
  if (/maximum context length|context window/i.test(message) && !words.includes('context_length_exceeded')) {
    words.push('context_length_exceeded');
  }
  // "The model `x` does not exist or you do not have access to it". Some providers send this with 400.
  if (/^(the )?model .{1,200} does not exist/i.test(message)) words.push('model_not_found');
  return words;
};

const word = z.union([z.string(), z.number()]).nullish().catch(null);
const ErrorParts = z.object({ message: z.string(), type: word, code: word });
/** The error with OpenAI's wrapper, or without it (vLLM). */
const ErrorBody = z.union([
  z.object({ error: ErrorParts }).transform(({ error }) => error),
  ErrorParts.extend({ object: z.literal('error') }),
]);
