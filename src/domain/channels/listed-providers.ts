/** A provider whose address is known: what the form and the environment of `npm start` make a channel of. */
export interface ListedProvider {
  /** Also the name of the channel that is made of it. */
  name: string;
  label: string;
  /** Its adapter. Some providers also serve chats, at another address and in OpenAI's wire format. */
  family: string;
  /** Empty where it depends on the account or the region. */
  baseUrl: string;
  /** The channel groups of the catalog's models that are sold there. */
  groups: readonly string[];
}

/** At least one for each family of `adapterFamilies`. */
export const listedProviders = [
  // OpenAI ended its video API in September 2026 (see `openai-media.ts`).
  {
    name: 'openai',
    label: 'OpenAI',
    family: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    groups: ['chat', 'images'],
  },
  {
    name: 'gemini',
    label: 'Google Gemini',
    family: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    groups: ['chat', 'images', 'videos'],
  },
  {
    name: 'anthropic',
    label: 'Anthropic',
    family: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    groups: ['chat'],
  },
  { name: 'fal', label: 'fal', family: 'fal', baseUrl: 'https://queue.fal.run', groups: ['images', 'videos'] },
  {
    name: 'replicate',
    label: 'Replicate',
    family: 'replicate',
    baseUrl: 'https://api.replicate.com/v1',
    groups: ['images', 'videos'],
  },
  { name: 'xai', label: 'xAI, pictures and videos', family: 'xai', baseUrl: 'https://api.x.ai/v1', groups: ['xai'] },
  { name: 'xai-chat', label: 'xAI, chat', family: 'openai', baseUrl: 'https://api.x.ai/v1', groups: ['xai'] },
  // The international region. Keys of other regions need a channel of their own.
  {
    name: 'dashscope',
    label: 'Alibaba Model Studio, pictures and videos',
    family: 'dashscope',
    baseUrl: 'https://dashscope-intl.aliyuncs.com/api/v1',
    groups: ['dashscope'],
  },
  {
    name: 'dashscope-chat',
    label: 'Alibaba Model Studio, chat',
    family: 'openai',
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    groups: ['qwen'],
  },
  {
    name: 'minimax',
    label: 'MiniMax, videos',
    family: 'minimax',
    baseUrl: 'https://api.minimax.io/v2',
    groups: ['minimax'],
  },
  {
    name: 'minimax-chat',
    label: 'MiniMax, chat',
    family: 'openai',
    baseUrl: 'https://api.minimax.io/v1',
    groups: ['minimax'],
  },
  {
    name: 'runway',
    label: 'Runway',
    family: 'runway',
    baseUrl: 'https://api.dev.runwayml.com/v1',
    groups: ['runway'],
  },
  {
    name: 'deepseek',
    label: 'DeepSeek',
    family: 'openai',
    baseUrl: 'https://api.deepseek.com/v1',
    groups: ['deepseek'],
  },
  {
    name: 'moonshot',
    label: 'Moonshot AI',
    family: 'openai',
    baseUrl: 'https://api.moonshot.ai/v1',
    groups: ['moonshot'],
  },
  {
    name: 'openrouter',
    label: 'OpenRouter',
    family: 'openai',
    baseUrl: 'https://openrouter.ai/api/v1',
    groups: ['openrouter'],
  },
  { name: 'kling', label: 'Kling', family: 'kling', baseUrl: '', groups: ['videos'] },
  { name: 'seedance', label: 'ByteDance Seedance', family: 'seedance', baseUrl: '', groups: ['videos'] },
  { name: 'tollgate', label: 'Another Tollgate', family: 'tollgate', baseUrl: '', groups: ['images', 'videos'] },
  { name: 'other', label: 'Other provider with an API like OpenAI’s', family: 'openai', baseUrl: '', groups: ['chat'] },
] as const satisfies readonly ListedProvider[];
