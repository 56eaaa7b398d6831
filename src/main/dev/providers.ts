/** The base URL of each provider, and the channel groups of the catalog's models that it sells. */
export const providers = [
  // OpenAI ended its video API in September 2026 (see `openai-media.ts`).
  {
    variable: 'OPENAI_API_KEY',
    setting: 'openaiApiKey',
    family: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    groups: ['chat', 'images'],
  },
  {
    variable: 'GEMINI_API_KEY',
    setting: 'geminiApiKey',
    family: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    groups: ['chat', 'images', 'videos'],
  },
  {
    variable: 'ANTHROPIC_API_KEY',
    setting: 'anthropicApiKey',
    family: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    groups: ['chat'],
  },
  {
    variable: 'FAL_KEY',
    setting: 'falKey',
    family: 'fal',
    baseUrl: 'https://queue.fal.run',
    groups: ['images', 'videos'],
  },
  {
    variable: 'REPLICATE_API_TOKEN',
    setting: 'replicateApiToken',
    family: 'replicate',
    baseUrl: 'https://api.replicate.com/v1',
    groups: ['images', 'videos'],
  },
] as const;

export type ProviderKeyName = (typeof providers)[number]['variable'];
export const providerKeyNames: readonly ProviderKeyName[] = providers.map(({ variable }) => variable);
