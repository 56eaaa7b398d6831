import { optionalNames } from './optional-parameters.ts';

/**
 * Further fields of a chat request: everything of OpenAI's request that the gateway does not read itself. A field may cost money
 * (`service_tier`, `web_search_options`), keep content with the provider (`store`), call another model (`models`, `fallbacks`) or
 * reach into a self-hosted server (`chat_template`), and no list has them all. So only listed fields are sent (`pass_through`).
 */

/** What is passed through where the catalog lists nothing: fields that cost nothing beyond the tokens of the answer. */
export const passThroughDefault: readonly string[] = [
  'parallel_tool_calls',
  'prompt_cache_key',
  'metadata',
  'reasoning_effort',
  'verbosity',
];

/** Fields that do not change the answer. A family that takes no further fields is not sent them, and refuses no request because of them. */
export const inertFields: readonly string[] = ['prompt_cache_key', 'metadata'];

/** Fields that do not change the answer, so that a client is not told when its tolerant request loses them. */
export const leftOutSilently: readonly string[] = [...inertFields, 'prompt_cache_retention', 'prompt_cache_options'];

/** Fields with which `{}` asks for a search, so that a client whose request loses one is told so. */
export const onWhenEmpty: readonly string[] = ['web_search_options', 'search_parameters'];

/**
 * Further fields that would silently change the price or the meaning of the answer if a tolerant request lost them. A family that is not sent
 * them refuses the request; the value ends the sentence of that refusal.
 */
export const neverLeftOut: Readonly<Record<string, string>> = {
  store: 'answers are not stored here, so store must be false or absent.',
  background: 'answers are not stored here, so background must be false or absent.',
  service_tier: 'prices are those of the default tier, so send "default" or leave it out.',
  logit_bias: 'tell the model in a message which words to avoid.',
  models: 'send one request for each model.',
  fallbacks: 'the gateway itself chooses another provider of the same model.',
};

/** Fields that the gateway reads itself, and fields that would give the answer a shape that it cannot read. */
export const neverPassedThrough: readonly string[] = [
  'model',
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  ...optionalNames.filter((name) => name !== 'parallel_tool_calls'),
  'user',
  'tools',
  'tool_choice',
  'response_format',
  'stream',
  'stream_options',
  'n',
  'best_of',
  'logprobs',
  'top_logprobs',
  'functions',
  'function_call',
  'audio',
  'modalities',
];

/** Fields that the catalog must not fix: the gateway decides them, or credits are held for them, under the name of any family. */
export const neverFixed: readonly string[] = [
  ...neverPassedThrough,
  'system',
  'input',
  'contents',
  'stop_sequences',
  'max_output_tokens',
  'maxOutputTokens',
  'candidateCount',
];
