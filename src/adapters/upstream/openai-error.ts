import { z } from 'zod';
import type { ReadError } from './classify-outcome.ts';

/**
 * Reads an error of OpenAI or of a compatible provider (https://platform.openai.com/docs/guides/error-codes, read on
 * 2026-11-21). OpenRouter gives its reasons in `metadata` (https://openrouter.ai/docs/api/reference/errors-and-debugging, read on
 * 2026-11-22). Its 402 names the limit that was reached (https://openrouter.ai/docs/api/reference/limits, read on 2026-11-22):
 * `{"error":{"code":402,"message":"This request would exceed your available credits given your current in-flight requests. …",
 * "metadata":{"reason":"in_flight_budget_exhausted","limit_source":"openrouter_in_flight_budget","remedy_hint":"Retry after …"}}}`
 * with `Retry-After: 120`. Only that limit frees itself: `openrouter_credits` and `openrouter_key_limit` need an operator.
 */
export const readOpenaiError: ReadError = (json) => {
  const minimax = MinimaxError.safeParse(json).data;
  if (minimax) return readMinimaxError(minimax);
  const xai = XaiError.safeParse(json).data;
  if (xai) return readXaiError(xai);
  const error = ErrorBody.safeParse(json).data;
  if (!error) return null;
  const { message, type, code, metadata } = error;
  const words = [type, code, metadata?.error_type, metadata?.limit_source].flatMap((one) =>
    one === null || one === undefined ? [] : [String(one)],
  );
  // `patterns`: a guardrail of the account found them in the prompt. `refusal`: the model's provider refused the prompt.
  const isFlagged = metadata?.flagged_input !== undefined || metadata?.reasons || metadata?.patterns;
  if (isFlagged || words.includes('refusal')) words.push('content_policy');
  // Reasoning models say "your prompt was flagged as potentially violating our usage policy".
  if (words.includes('invalid_prompt')) words.push('content_policy');
  words.push(...vendorWords(message, words));
  // Compatible providers say this in prose only: "This model's maximum context length is 131072 tokens."
  if (
    /maximum context length|context window|exceeded model token limit|range of input length/i.test(message) &&
    !words.includes('context_length_exceeded')
  ) {
    words.push('context_length_exceeded');
  }
  // "The model `x` does not exist or you do not have access to it". Some providers send this with 400.
  if (/^(the )?model .{1,200} does not exist/i.test(message)) words.push('model_not_found');
  return words;
};

/**
 * What the words and numbers of some vendors mean. DeepSeek has one code for all its 400s, "invalid_request_error", and says the rest in
 * prose: "Content Exists Risk", "Model Not Exist" (https://api-docs.deepseek.com/quick_start/error_codes). GLM has numbers
 * (https://docs.bigmodel.cn/cn/api/api-code), Qwen `AllocationQuota.FreeTierOnly` for a free quota that is used up
 * (https://help.aliyun.com/en/model-studio/error-code). All read on 2026-11-22.
 */
function vendorWords(message: string, words: string[]): string[] {
  const text = message.trim();
  if (/^content exists risk\.?$/i.test(text)) return ['content_policy'];
  if (/^model not exist\.?$/i.test(text)) return ['model_not_found'];
  if (words.some((word) => /FreeTierOnly/i.test(word))) return ['insufficient_quota'];
  return words.flatMap((word) => glmCodes[word] ?? []);
}

const glmCodes: Readonly<Record<string, string>> = {
  1110: 'billing',
  1111: 'billing',
  1112: 'billing',
  1113: 'insufficient_balance',
  1121: 'billing',
  1000: 'unauthorized',
  1001: 'unauthorized',
  1002: 'unauthorized',
  1003: 'unauthorized',
  1004: 'unauthorized',
  1210: 'invalid_request',
  1213: 'invalid_request',
  1214: 'invalid_request',
  1302: 'rate_limit',
  1303: 'rate_limit',
  1211: 'model_not_found',
  1221: 'model_not_found',
  1222: 'model_not_found',
  1261: 'context_length_exceeded',
  1301: 'content_policy',
  1304: 'insufficient_quota',
  1308: 'insufficient_quota',
  1309: 'billing',
  1310: 'insufficient_quota',
  1305: 'overloaded',
  1312: 'overloaded',
};

/**
 * xAI's errors are prose. A flagged prompt is 403 "Content violates usage guidelines. … Failed check: SAFETY_CHECK_TYPE_BIO", an empty
 * account is 403 with "credits" or "spending limit" (UKGovernmentBEIS/inspect_ai#2267 and griptape-ai/griptape-nodes-engine#1079,
 * read on 2026-11-22).
 */
function readXaiError({ code, error }: z.infer<typeof XaiError>): string[] {
  if (/violates usage guidelines|SAFETY_CHECK_TYPE_/i.test(error)) return [code, 'content_policy'];
  if (/\bcredits\b|spending limit/i.test(error)) return [code, 'insufficient_credits'];
  return [code];
}
/**
 * MiniMax says how a chat went in `base_resp`, inside a 200 (https://platform.minimax.io/docs/api-reference/errorcode, read on 2026-11-26).
 * `{"choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`.
 */
const readMinimaxError = ({ base_resp: { status_code: code } }: z.infer<typeof MinimaxError>): string[] => [
  String(code),
  ...(Object.hasOwn(minimaxCodes, code) ? [minimaxCodes[code] ?? ''] : []),
];
const minimaxCodes: Readonly<Record<number, string>> = {
  1026: 'content_policy',
  1027: 'content_policy',
  1004: 'unauthorized',
  2049: 'unauthorized',
  1008: 'insufficient_balance',
  2056: 'insufficient_balance',
  1002: 'rate_limit',
  1039: 'rate_limit',
  2045: 'rate_limit',
  1001: 'overloaded',
  1013: 'overloaded',
  1024: 'overloaded',
  1033: 'overloaded',
  2013: 'invalid_request',
};
const MinimaxError = z.object({
  base_resp: z.object({ status_code: z.int().refine((code) => code !== 0), status_msg: z.string().nullish() }),
});

const XaiError = z.object({ code: z.string(), error: z.string() });

const word = z.union([z.string(), z.number()]).nullish().catch(null);
const list = z.array(z.unknown()).min(1).nullish().catch(null);
const Metadata = z.object({
  error_type: word,
  limit_source: word,
  reasons: list,
  patterns: list,
  flagged_input: z.string().optional().catch(undefined),
});
const ErrorParts = z.object({ message: z.string(), type: word, code: word, metadata: Metadata.nullish().catch(null) });
/** The error with OpenAI's wrapper, or without it (vLLM, events of responses). */
const ErrorBody = z.union([
  z.object({ error: ErrorParts }).transform(({ error }) => error),
  ErrorParts.extend({ object: z.literal('error') }),
  // An event of the Responses API.
  ErrorParts.extend({ type: z.literal('error') }),
]);
