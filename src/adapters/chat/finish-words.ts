import type { FinishReason } from '../../domain/chat/chat.ts';

/** `failed`: the provider broke the answer off. `malformed`: the model wrote something that is no answer. Neither is one. */
export type FinishMeaning = FinishReason | 'failed' | 'malformed';

/** What the words of one family mean, by the word in lower case. */
export type FinishTable = Readonly<Record<string, FinishMeaning>>;

/**
 * What a provider's reason for the end of an answer means: by the table of its family, else by the words that all of them are made of, in any
 * case and with any separator. Undefined for a word that says nothing. Null for none: an empty word is no reason, nor is "null".
 */
export function finishMeaning(table: FinishTable, value: unknown): FinishMeaning | undefined | null {
  // DashScope writes the word "null" until the answer has ended.
  if (typeof value !== 'string' || /^\s*(null)?\s*$/i.test(value)) return null;
  const word = value
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_');
  if (Object.hasOwn(table, word)) return table[word];
  return commonWords.find(([pattern]) => pattern.test(word))?.[1];
}

/** The first pattern decides: a failed filter or a malformed call is a failure, whatever else its word says. */
const commonWords: readonly [RegExp, FinishMeaning][] = [
  [/malformed|unexpected_tool|too_many_tool|missing_thought_signature|^function_call_filter/, 'malformed'],
  [/network|error|abort|fail|interrupt|cancel|time_?out|timed_out|insufficient|overload|unavailable/, 'failed'],
  [/max_?(output_?|new_?|completion_?)?tokens|length|context_window|token_limit|truncat/, 'length'],
  [/filter|safety|sensitive|moderat|block|prohibited|recitation|spii|refus|flagged|guardrail|policy/, 'content_filter'],
  [/^(tool|function)_?(calls?|use)$/, 'tool_calls'],
];

/**
 * OpenAI's words and those of compatible vendors: DeepSeek's `insufficient_system_resource`
 * (https://api-docs.deepseek.com/api/create-chat-completion), Z.ai's `sensitive`, `model_context_window_exceeded` and `network_error`
 * (https://docs.z.ai/api-reference/llm/chat-completion), Mistral's `model_length` and `error` (the types of `@mistralai/mistralai`) and the
 * `function_call_filter: MALFORMED_FUNCTION_CALL` of Gemini's OpenAI dialect. All read on 2026-11-26.
 */
export const openaiFinishWords: FinishTable = {
  stop: 'stop',
  length: 'length',
  model_length: 'length',
  model_context_window_exceeded: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  sensitive: 'content_filter',
  error: 'failed',
  network_error: 'failed',
  insufficient_system_resource: 'failed',
};

/** https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons, read on 2026-11-21. */
export const anthropicFinishWords: FinishTable = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

/** FinishReason of `google-genai` 3.6.1, read on 2026-11-27. What is malformed is among the common words. */
export const geminiFinishWords: FinishTable = {
  stop: 'stop',
  max_tokens: 'length',
  safety: 'content_filter',
  recitation: 'content_filter',
  blocklist: 'content_filter',
  prohibited_content: 'content_filter',
  spii: 'content_filter',
  image_safety: 'content_filter',
  image_prohibited_content: 'content_filter',
  image_recitation: 'content_filter',
  model_armor: 'content_filter',
  escalation: 'content_filter',
  continuation: 'length',
  pup_limited_disabled: 'failed',
};
