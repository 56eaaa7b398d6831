import { z } from 'zod';
import type { Model } from '../../domain/catalog/catalog.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { json, type DescribedAnswer, type Catalog, type Description, type Examples } from '../description.ts';
import { exampleWith, firstOf } from '../openapi/model-examples.ts';
import { EventText } from '../openapi/schemas/chat-completion.ts';
import { queryNumber } from '../request/query.ts';

/** The headers of a read that a client may ask for again with `If-None-Match`. */
const validated = { ETag: 'Send it as `If-None-Match`: the answer is 304 until the content changes.' };

export const notModified: DescribedAnswer = {
  description: 'The client has this version (`If-None-Match`).',
  headers: validated,
};

/** What `readIdempotencyKey` accepts. */
export const idempotencyKey = {
  'Idempotency-Key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/)
    .describe(
      '1 to 255 printable ASCII characters. A retry with the same key and body returns the first answer and is not charged again. Kept for 48 hours.',
    ),
};

/** A read that answers with its version. */
export const versioned = <Content extends DescribedAnswer['content']>(
  description: string,
  content: Content,
  more: Pick<DescribedAnswer, 'sometimes'> = {},
) => ({ 200: { description, content, headers: validated, ...more }, 304: notModified });

export const replayed = {
  'Idempotent-Replayed': '`true` if this answers an earlier request with the same `Idempotency-Key`.',
};

/** The model in a path, with the first model of a type as its example. */
export const modelInPath = (description: string, type: Model['type'] = 'chat') => ({
  params: { model: z.string().describe(description) },
  paramExamples: (catalog: Catalog) => ({ model: firstOf(catalog, type)?.model.id }),
});

/** The parameter of the routes that can wait for the end of a task. */
export const waitParameter = (description = 'Seconds for which the answer is held until the task has ended.') =>
  queryNumber(description, { min: 0, max: 60 });

/** The header of an answer with `wait` about a task that has not ended. */
export const notHeld = {
  'Retry-After': 'Seconds to wait before the next request, if the answer could not be held for `wait` seconds.',
};

/** What a chat or a Gemini answer cost. */
export const cost = {
  'x-tollgate-credits': 'The credits charged.',
  'x-tollgate-attempts': 'The number of channels tried.',
};

/** The same where the answer may be a stream, whose last chunk has them. */
export const costOfWhole = {
  'x-tollgate-credits': 'Of a whole answer: the credits charged.',
  'x-tollgate-attempts': 'Of a whole answer: the number of channels tried.',
};

/** What the counts of tokens share. */
export const counting = {
  tag: 'Chat',
  description: "The gateway's own estimate. It costs nothing and asks no provider.",
  errors: ['model_not_found', 'model_not_allowed', 'model_type_mismatch', 'context_length_exceeded', 'invalid_url'],
} as const;

/** What was left out of a request under `/v1`. */
export const ignored = {
  'x-tollgate-ignored':
    'Under `/v1`: the fields that were left out, because the gateway or the model does not take them.',
};

/** What was changed in a request under `/v1`. */
export const changedHeaders = {
  'x-tollgate-clamped': 'Under `/v1`: the field whose value was lowered to what the model writes.',
  ...ignored,
};

/** The same, and what a stream says of itself. */
export const streamed = { 'x-tollgate-stream': 'Of a streamed answer: `live` or `buffered`.', ...changedHeaders };

/** The refusals of a request that names a model and is charged. */
export const purchase: readonly ErrorCode[] = [
  'model_not_found',
  'model_not_allowed',
  'model_type_mismatch',
  'insufficient_credits',
  'key_budget_exceeded',
  'concurrency_limit_exceeded',
  'idempotency_in_progress',
  'idempotency_key_reused',
  'no_channel_available',
];

/** The refusals of a request that waits for a provider. */
const providerErrors: readonly ErrorCode[] = [
  'content_policy_violation',
  'context_length_exceeded',
  'idempotency_result_gone',
  'invalid_url',
  'upstream_error',
  'upstream_timeout',
];

/** The refusals of a request that creates a media task. */
export const created: readonly ErrorCode[] = [
  'invalid_url',
  'invalid_callback_url',
  'max_credits_exceeded',
  'invalid_image',
  'file_not_found',
  'storage_quota_exceeded',
  'idempotency_result_gone',
];

/** The answer of a route that waits for pictures, and its refusals. */
export const waitsForPictures = (
  pictures: z.ZodType,
  more: Readonly<Record<string, string>> = {},
): Pick<Description, 'answers' | 'errors'> => ({
  answers: {
    200: { description: 'The pictures.', content: json(pictures), headers: cost, sometimes: { ...replayed, ...more } },
  },
  errors: answersOrCreates,
});

/** The refusals of a route that answers itself, or waits for a task that it creates. */
export const answersOrCreates: readonly ErrorCode[] = [...purchase, ...providerErrors, ...created, 'task_canceled'];

/** A chat, which is answered whole or as a stream. */
export const chatAnswer = (answer: z.ZodType, more: readonly ErrorCode[] = []) =>
  ({
    rate: 'in_handler',
    tag: 'Chat',
    answers: {
      200: {
        description: 'The answer.',
        content: { 'application/json': answer, 'text/event-stream': EventText },
        sometimes: { ...costOfWhole, ...replayed, ...streamed },
      },
    },
    errors: [...purchase, ...providerErrors, ...more],
  }) as const;

/** The example of a chat in the words of a dialect, for the first chat model. */
export const question =
  (write: (model: string) => JsonObject) =>
  (catalog: Catalog): Examples =>
    exampleWith(firstOf(catalog, 'chat'), 'A question', write);

export const questionText = 'Name three rivers that flow north.';
