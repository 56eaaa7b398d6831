import { listedProviders } from '../../../src/domain/channels/listed-providers.ts';

/** The provider keys of the environment, by the names of the providers that they make a channel of. The name of a channel is `env-` and that name. */
const keys = {
  openai: { variable: 'OPENAI_API_KEY', setting: 'openaiApiKey' },
  gemini: { variable: 'GEMINI_API_KEY', setting: 'geminiApiKey' },
  anthropic: { variable: 'ANTHROPIC_API_KEY', setting: 'anthropicApiKey' },
  fal: { variable: 'FAL_KEY', setting: 'falKey' },
  replicate: { variable: 'REPLICATE_API_TOKEN', setting: 'replicateApiToken' },
  xai: { variable: 'XAI_API_KEY', setting: 'xaiApiKey' },
  'xai-chat': { variable: 'XAI_API_KEY', setting: 'xaiApiKey' },
  dashscope: { variable: 'DASHSCOPE_API_KEY', setting: 'dashscopeApiKey' },
  'dashscope-chat': { variable: 'DASHSCOPE_API_KEY', setting: 'dashscopeApiKey' },
  minimax: { variable: 'MINIMAX_API_KEY', setting: 'minimaxApiKey' },
  'minimax-chat': { variable: 'MINIMAX_API_KEY', setting: 'minimaxApiKey' },
  runway: { variable: 'RUNWAYML_API_SECRET', setting: 'runwayApiSecret' },
} as const;

/** The channels of each provider key. */
export const providers = listedProviders.flatMap((provider) =>
  provider.name in keys ? [{ ...provider, ...keys[provider.name as keyof typeof keys] }] : [],
);

export type ProviderKeyName = (typeof keys)[keyof typeof keys]['variable'];
export const providerKeyNames: readonly ProviderKeyName[] = [...new Set(providers.map(({ variable }) => variable))];
