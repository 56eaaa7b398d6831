/**
 * The channels of each provider key: the base URL, and the channel groups of the catalog's models that are sold there. The name of a
 * channel is `env-` and `name`. Some keys also serve chats, at another address and in OpenAI's wire format.
 */
export const providers = [
  // OpenAI ended its video API in September 2026 (see `openai-media.ts`).
  {
    name: 'openai',
    variable: 'OPENAI_API_KEY',
    setting: 'openaiApiKey',
    family: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    groups: ['chat', 'images'],
  },
  {
    name: 'gemini',
    variable: 'GEMINI_API_KEY',
    setting: 'geminiApiKey',
    family: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    groups: ['chat', 'images', 'videos'],
  },
  {
    name: 'anthropic',
    variable: 'ANTHROPIC_API_KEY',
    setting: 'anthropicApiKey',
    family: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    groups: ['chat'],
  },
  {
    name: 'fal',
    variable: 'FAL_KEY',
    setting: 'falKey',
    family: 'fal',
    baseUrl: 'https://queue.fal.run',
    groups: ['images', 'videos'],
  },
  {
    name: 'replicate',
    variable: 'REPLICATE_API_TOKEN',
    setting: 'replicateApiToken',
    family: 'replicate',
    baseUrl: 'https://api.replicate.com/v1',
    groups: ['images', 'videos'],
  },
  {
    name: 'xai',
    variable: 'XAI_API_KEY',
    setting: 'xaiApiKey',
    family: 'xai',
    baseUrl: 'https://api.x.ai/v1',
    groups: ['xai'],
  },
  {
    name: 'xai-chat',
    variable: 'XAI_API_KEY',
    setting: 'xaiApiKey',
    family: 'openai',
    baseUrl: 'https://api.x.ai/v1',
    groups: ['xai'],
  },
  // The international region. Keys of other regions need a channel of their own.
  {
    name: 'dashscope',
    variable: 'DASHSCOPE_API_KEY',
    setting: 'dashscopeApiKey',
    family: 'dashscope',
    baseUrl: 'https://dashscope-intl.aliyuncs.com/api/v1',
    groups: ['dashscope'],
  },
  {
    name: 'dashscope-chat',
    variable: 'DASHSCOPE_API_KEY',
    setting: 'dashscopeApiKey',
    family: 'openai',
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    groups: ['qwen'],
  },
  {
    name: 'minimax',
    variable: 'MINIMAX_API_KEY',
    setting: 'minimaxApiKey',
    family: 'minimax',
    baseUrl: 'https://api.minimax.io/v2',
    groups: ['minimax'],
  },
  {
    name: 'minimax-chat',
    variable: 'MINIMAX_API_KEY',
    setting: 'minimaxApiKey',
    family: 'openai',
    baseUrl: 'https://api.minimax.io/v1',
    groups: ['minimax'],
  },
  {
    name: 'runway',
    variable: 'RUNWAYML_API_SECRET',
    setting: 'runwayApiSecret',
    family: 'runway',
    baseUrl: 'https://api.dev.runwayml.com/v1',
    groups: ['runway'],
  },
] as const;

export type ProviderKeyName = (typeof providers)[number]['variable'];
export const providerKeyNames: readonly ProviderKeyName[] = [...new Set(providers.map(({ variable }) => variable))];
