import { z } from 'zod';
import type { ReadError } from './classify-outcome.ts';

/** Reads Google's error (google.rpc.Status; https://ai.google.dev/gemini-api/docs/troubleshooting, read on 2026-11-21). */
export const readGeminiError: ReadError = (json) => {
  const body = ErrorBody.safeParse(json).data;
  if (!body) return null;
  const { status, message, details } = body.error;
  const words = [...(status ? [status] : []), ...(details ?? []).flatMap(({ reason }) => (reason ? [reason] : []))];
  // Google reports an invalid key and an unsupported region as 400. Both concern our account, not the request.
  const isAccount =
    words.some((word) => /^API_KEY_|BILLING|^CONSUMER_SUSPENDED$|^SERVICE_DISABLED$/.test(word)) ||
    status === 'FAILED_PRECONDITION';
  if (isAccount) words.push('billing');
  if (/token count .{0,60}exceeds/i.test(message)) words.push('context_length_exceeded');
  return words;
};

const ErrorBody = z.object({
  error: z.object({
    code: z.number(),
    message: z.string(),
    status: z.string().nullish(),
    details: z
      .array(z.object({ reason: z.string().nullish() }))
      .nullish()
      .catch(null),
  }),
});

/** The reasons for which a model made no image though no policy refused one. */
export const failureReasons: ReadonlySet<string> = new Set([
  'NO_IMAGE',
  'IMAGE_OTHER',
  'OTHER',
  'MAX_TOKENS',
  'LANGUAGE',
]);
