import { z } from 'zod';
import type { Model } from '../../../domain/catalog/catalog.ts';
import type { ErrorCode } from '../../../domain/errors.ts';
import { promptCharactersMax } from '../../../domain/catalog/parameters.ts';
import { firstOf } from '../model-examples.ts';
import { json, type Answer, type Operation, type Parameter } from '../operation.ts';

/** The headers of a read that a client may ask for again with `If-None-Match`. */
export const validated = { ETag: 'Send it as `If-None-Match`: the answer is 304 until the content changes.' };

export const notModified: Answer = {
  description: 'The client has this version (`If-None-Match`).',
  headers: validated,
};

export const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    '1 to 255 printable ASCII characters. A retry with the same key and body returns the first answer and is not charged again. Kept for 48 hours.',
  schema: z.string().regex(/^[\x21-\x7e]{1,255}$/),
};

export const replayed = {
  'Idempotent-Replayed': '`true` if this answers an earlier request with the same `Idempotency-Key`.',
};

/** The parameters of a list that every list takes. */
export const pageParameters: readonly Parameter[] = [
  {
    name: 'limit',
    in: 'query',
    description:
      'The most items of a page; 20 if absent. A page of large items has fewer: `has_more` tells whether there are others.',
    schema: z.int().min(1).max(100),
  },
  { name: 'after', in: 'query', description: 'The `next_cursor` of the page before.', schema: z.string() },
];

/** The model in a path, with the first model of a type as its example. */
export const modelInPath = (description: string, type: Model['type'] = 'chat'): Parameter => ({
  name: 'model',
  in: 'path',
  description,
  schema: z.string(),
  example: (catalog) => firstOf(catalog, type)?.model.id,
});

/** The parameter of the routes that can wait for the end of a task. */
export const wait: Parameter = {
  name: 'wait',
  in: 'query',
  description: 'Seconds for which the answer is held until the task has ended.',
  schema: z.int().min(0).max(60),
};

/** The header of an answer with `wait` about a task that has not ended. */
export const notHeld = {
  'Retry-After': 'Seconds to wait before the next request, if the answer could not be held for `wait` seconds.',
};

/** The prompt of every media model, which the catalog's rules check on all routes alike. */
export const Prompt = z.string().min(1).max(promptCharactersMax).regex(/\S/);

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
} satisfies Partial<Operation>;

/** What was left out of a request under `/v1`. */
export const ignored = {
  'x-tollgate-ignored':
    'Under `/v1`: the fields that were left out, because the gateway or the model does not take them.',
};

/** What was changed in a request under `/v1`. */
export const changed = {
  'x-tollgate-clamped': 'Under `/v1`: the field whose value was lowered to what the model writes.',
  ...ignored,
};

/** The same, and what a stream says of itself. */
export const streamed = { 'x-tollgate-stream': 'Of a streamed answer: `live` or `buffered`.', ...changed };

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
export const answered: readonly ErrorCode[] = [
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
): Pick<Operation, 'answers' | 'errors'> => ({
  answers: {
    200: { description: 'The pictures.', content: json(pictures), headers: cost, sometimes: { ...replayed, ...more } },
  },
  errors: answersOrCreates,
});

/** The refusals of a route that answers itself, or waits for a task that it creates. */
export const answersOrCreates: readonly ErrorCode[] = [...purchase, ...answered, ...created, 'task_canceled'];
