import type { VendorParameter, VendorRules } from '../../domain/chat/vendor-rules.ts';

const usual: readonly VendorParameter[] = ['stop', 'stream_options'];
const penalties = ['frequency_penalty', 'presence_penalty'];

/**
 * The vendors of the family `openai` and what each takes of a chat, by the word `vendor` of a mapping. Read on 2026-11-26, each in the types or
 * the requests of an SDK and in the vendor's documents. Fields beyond OpenAI's own (`thinking`, `enable_thinking`, …) cost nothing but the
 * tokens of the answer.
 */
export const openaiVendors: Readonly<Record<string, VendorRules>> = {
  /**
   * `openai` 7.57.0 (chat/completions.d.ts). `metadata` is refused without `store` (Effect-TS/effect#6830), and reasoning models refuse penalties
   * and `logit_bias`, as their mappings say.
   */
  openai: {
    takes: [...usual, 'n', 'seed', 'user', 'name', 'strict', 'parallel_tool_calls'],
    further: [...penalties, 'prompt_cache_key', 'prompt_cache_retention', 'reasoning_effort', 'verbosity'],
    formats: 'schema',
    forcedTools: 'always',
  },
  /**
   * `@ai-sdk/xai` 3.0.138 (the last with chat completions) and litellm 1.110.2 (llms/xai): Grok 4 and later refuse `stop` and penalties, names of
   * messages and `strict` of tools are stripped. Efforts from https://docs.x.ai/developers/model-capabilities/text/reasoning.
   */
  xai: {
    takes: ['n', 'seed', 'user', 'stream_options', 'parallel_tool_calls'],
    further: ['reasoning_effort'],
    names: { max_tokens: 'max_completion_tokens' },
    formats: 'schema',
    forcedTools: 'always',
    efforts: ['low', 'medium', 'high', 'xhigh'],
  },
  /**
   * https://api-docs.deepseek.com/api/create-chat-completion, …/guides/thinking_mode and `@ai-sdk/deepseek` 3.0.56. Penalties are taken, and
   * have no effect while the model thinks. While it thinks, a forced tool is refused (deepseek-ai/DeepSeek-V3#1376). `strict` needs the beta URL.
   */
  deepseek: {
    takes: [...usual, 'user', 'name'],
    further: [...penalties, 'reasoning_effort', 'thinking'],
    names: { user: 'user_id' },
    formats: 'object',
    forcedTools: 'unthinking',
    unthinking: { thinking: { type: 'disabled' } },
    efforts: ['low', 'high', 'max'],
  },
  /**
   * https://docs.qwencloud.com/api-reference/chat/openai-chat, `@ai-sdk/alibaba` 2.0.58 (no `frequency_penalty`, JSON schemas from Qwen3.7 on)
   * and litellm 1.110.2 (`reasoning_effort`). While the model thinks, a forced tool is refused (cloudwego/eino#994). The temperature is below 2.
   */
  qwen: {
    takes: [...usual, 'n', 'seed', 'top_k', 'strict', 'parallel_tool_calls'],
    further: [
      'presence_penalty',
      'repetition_penalty',
      'reasoning_effort',
      'enable_thinking',
      'thinking_budget',
      'preserve_thinking',
    ],
    most: { temperature: 1.99 },
    formats: 'schema',
    forcedTools: 'unthinking',
    unthinking: { enable_thinking: false },
  },
  /**
   * https://platform.kimi.ai/docs/api/chat (`prompt_cache_key`, `safety_identifier`) and `@ai-sdk/moonshotai` 3.0.60: neither `seed` nor
   * `top_k`, penalties are fixed, Kimi K2.6 refuses the choice `required` and takes a named tool.
   */
  moonshot: {
    takes: [...usual, 'user', 'name', 'strict'],
    further: ['prompt_cache_key', 'reasoning_effort', 'thinking'],
    names: { max_tokens: 'max_completion_tokens', user: 'safety_identifier' },
    formats: 'schema',
    forcedTools: 'always',
    forcesByName: true,
    efforts: ['low', 'high', 'max'],
  },
  /**
   * https://docs.z.ai/api-reference/llm/chat-completion, `zai-sdk` 0.2.3 (chat/completions.py) and litellm 1.110.2 (llms/zai). The choice of tools
   * is `auto`, one stop word, JSON without a schema. GLM-5.3 always thinks. The last chunk of a stream has the counts by itself.
   */
  zai: {
    takes: ['stop', 'seed', 'user'],
    further: ['reasoning_effort', 'thinking', 'do_sample', 'tool_stream'],
    names: { user: 'user_id' },
    most: { temperature: 1 },
    least: { top_p: 0.01 },
    stopMax: 1,
    formats: 'object',
    forcedTools: 'never',
    choosesAlone: true,
    efforts: ['low', 'high', 'max'],
  },
  /**
   * https://platform.minimax.io/docs/api-reference/text-chat-openai and AgentScope's adapter (java.agentscope.io/v2/en/integration/model/minimax),
   * which strips what that page does not have: the choice of tools, formats, seeds, penalties, efforts and `strict`.
   */
  minimax: {
    takes: [...usual, 'name'],
    further: ['reasoning_effort', 'thinking', 'reasoning_split'],
    names: { max_tokens: 'max_completion_tokens' },
    most: { temperature: 1 },
    least: { temperature: 0.01, top_p: 0.01 },
    formats: 'none',
    forcedTools: 'never',
    choosesAlone: true,
    unthinking: { thinking: { type: 'disabled' } },
    efforts: [],
  },
  /**
   * `@mistralai/mistralai` 2.7.0 (ChatCompletionRequest). Mistral refuses fields that it does not know ("Extra inputs are not permitted",
   * langroid/langroid#1094). The last chunk of a stream has the counts by itself.
   */
  mistral: {
    takes: ['stop', 'n', 'seed', 'strict', 'parallel_tool_calls'],
    further: [...penalties, 'metadata', 'reasoning_effort', 'safe_prompt', 'prompt_mode'],
    names: { seed: 'random_seed' },
    most: { temperature: 1.5 },
    formats: 'schema',
    forcedTools: 'always',
    efforts: ['minimal', 'low', 'medium', 'high', 'xhigh'],
  },
  /** `@openrouter/sdk` 1.3.19 (ChatRequest). OpenRouter leaves out what the provider behind it does not take. */
  openrouter: {
    takes: [...usual, 'seed', 'top_k', 'user', 'name', 'strict', 'parallel_tool_calls'],
    further: [
      ...penalties,
      'repetition_penalty',
      'min_p',
      'top_a',
      'logit_bias',
      'metadata',
      'prompt_cache_key',
      'reasoning_effort',
      'reasoning',
    ],
    formats: 'schema',
    forcedTools: 'always',
  },
};
