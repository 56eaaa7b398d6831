/** How channels of another program are reached here. */
export interface ChannelTarget {
  family: 'openai' | 'anthropic' | 'gemini' | 'replicate' | 'kling' | 'seedance' | 'xai';
  /** Where no address is configured. Absent: the channel must have its own. */
  baseUrl?: string;
  /** What follows a configured address; the program appends paths such as `/v1/chat/completions` itself. */
  path: string;
}

const openai = (baseUrl?: string, path = '/v1'): ChannelTarget => ({
  family: 'openai',
  path,
  ...(baseUrl !== undefined && { baseUrl }),
});
const anthropic: ChannelTarget = { family: 'anthropic', baseUrl: 'https://api.anthropic.com', path: '/v1' };
const gemini: ChannelTarget = {
  family: 'gemini',
  baseUrl: 'https://generativelanguage.googleapis.com',
  path: '/v1beta',
};
const dashscope = openai('https://dashscope.aliyuncs.com', '/compatible-mode/v1');
const volcengine = openai('https://ark.cn-beijing.volces.com', '/api/v3');

/** The types that both programs have under one number (one-api `relay/channeltype`, new-api `constant/channel.go`). */
const shared: Readonly<Record<number, ChannelTarget>> = {
  1: openai('https://api.openai.com'),
  3: openai(undefined, '/openai/v1'),
  6: openai('https://api.openaimax.com'),
  7: openai('https://api.ohmygpt.com'),
  8: openai(),
  10: openai('https://api.aiproxy.io'),
  12: openai('https://api.api2gpt.com'),
  13: openai('https://api.aigc2d.com'),
  14: anthropic,
  17: dashscope,
  19: openai('https://api.360.cn'),
  20: openai('https://openrouter.ai/api'),
  24: gemini,
  25: openai('https://api.moonshot.cn'),
  31: openai('https://api.lingyiwanwu.com'),
};

const oneApi: Readonly<Record<number, ChannelTarget>> = {
  ...shared,
  2: openai('https://oa.api2d.net'),
  4: openai('https://api.closeai-proxy.xyz'),
  5: openai('https://api.openai-sb.com'),
  9: openai('https://api.caipacity.com'),
  16: openai('https://open.bigmodel.cn', '/api/paas/v4'),
  19: openai('https://ai.360.cn'),
  26: openai('https://api.baichuan-ai.com'),
  27: openai('https://api.minimax.chat'),
  28: openai('https://api.mistral.ai'),
  29: openai('https://api.groq.com/openai'),
  30: openai('http://localhost:11434'),
  32: openai('https://api.stepfun.com'),
  36: openai('https://api.deepseek.com'),
  39: openai('https://api.together.xyz'),
  40: volcengine,
  41: openai('https://api.novita.ai/v3/openai', ''),
  44: openai('https://api.siliconflow.cn'),
  45: openai('https://api.x.ai'),
  46: { family: 'replicate', baseUrl: 'https://api.replicate.com', path: '/v1' },
  47: openai('https://qianfan.baidubce.com', '/v2'),
  48: openai('https://spark-api-open.xf-yun.com'),
  49: dashscope,
  50: openai(),
  51: openai('https://generativelanguage.googleapis.com/v1beta/openai', ''),
};

const newApi: Readonly<Record<number, ChannelTarget>> = {
  ...shared,
  4: openai('http://localhost:11434'),
  26: openai('https://open.bigmodel.cn', '/api/paas/v4'),
  27: openai('https://api.perplexity.ai', ''),
  34: openai('https://api.cohere.ai', '/compatibility/v1'),
  35: openai('https://api.minimax.chat'),
  40: openai('https://api.siliconflow.cn'),
  42: openai('https://api.mistral.ai'),
  43: openai('https://api.deepseek.com'),
  45: volcengine,
  46: openai('https://qianfan.baidubce.com', '/v2'),
  47: openai(),
  48: openai('https://api.x.ai'),
  50: { family: 'kling', baseUrl: 'https://api.klingai.com', path: '' },
  53: openai('https://llm.submodel.ai'),
  54: { family: 'seedance', baseUrl: 'https://ark.cn-beijing.volces.com', path: '/api/v3' },
  55: openai('https://api.openai.com'),
  56: { family: 'replicate', baseUrl: 'https://api.replicate.com', path: '/v1' },
};

/** How a channel type is reached here; null for a type that has no counterpart. */
export const channelTarget = (program: 'one-api' | 'new-api', type: number): ChannelTarget | null =>
  (program === 'one-api' ? oneApi : newApi)[type] ?? null;

/** The providers of LiteLLM, by the word before the slash of a model. */
const providers: Readonly<Record<string, ChannelTarget>> = {
  openai: openai('https://api.openai.com/v1', ''),
  text_completion_openai: openai('https://api.openai.com/v1', ''),
  openai_like: openai(undefined, ''),
  custom_openai: openai(undefined, ''),
  hosted_vllm: openai(undefined, ''),
  lm_studio: openai(undefined, ''),
  llamafile: openai(undefined, ''),
  litellm_proxy: openai(undefined, ''),
  azure: openai(undefined, '/openai/v1'),
  azure_ai: openai(undefined, ''),
  anthropic,
  gemini,
  deepseek: openai('https://api.deepseek.com/v1', ''),
  mistral: openai('https://api.mistral.ai/v1', ''),
  groq: openai('https://api.groq.com/openai/v1', ''),
  xai: openai('https://api.x.ai/v1', ''),
  openrouter: openai('https://openrouter.ai/api/v1', ''),
  together_ai: openai('https://api.together.xyz/v1', ''),
  fireworks_ai: openai('https://api.fireworks.ai/inference/v1', ''),
  perplexity: openai('https://api.perplexity.ai', ''),
  deepinfra: openai('https://api.deepinfra.com/v1/openai', ''),
  moonshot: openai('https://api.moonshot.ai/v1', ''),
  dashscope: openai('https://dashscope-intl.aliyuncs.com/compatible-mode/v1', ''),
  minimax: openai('https://api.minimax.io/v1', ''),
  volcengine: openai('https://ark.cn-beijing.volces.com/api/v3', ''),
  zai: openai('https://api.z.ai/api/paas/v4', ''),
  cerebras: openai('https://api.cerebras.ai/v1', ''),
  nvidia_nim: openai('https://integrate.api.nvidia.com/v1', ''),
  sambanova: openai('https://api.sambanova.ai/v1', ''),
  novita: openai('https://api.novita.ai/v3/openai', ''),
  ollama: openai('http://localhost:11434'),
  ollama_chat: openai('http://localhost:11434'),
  replicate: { family: 'replicate', baseUrl: 'https://api.replicate.com', path: '/v1' },
};

/** How a provider of LiteLLM is reached here; null for one that has no counterpart. */
export const providerTarget = (provider: string): ChannelTarget | null => providers[provider] ?? null;

/** The vendors of OpenAI-compatible addresses that have a table of their own (`openai-vendors.ts`). */
const vendorOfHost: Readonly<Record<string, string>> = {
  'api.openai.com': 'openai',
  'api.x.ai': 'xai',
  'api.deepseek.com': 'deepseek',
  'dashscope.aliyuncs.com': 'qwen',
  'dashscope-intl.aliyuncs.com': 'qwen',
  'api.moonshot.cn': 'moonshot',
  'api.moonshot.ai': 'moonshot',
  'open.bigmodel.cn': 'zai',
  'api.z.ai': 'zai',
  'api.minimax.chat': 'minimax',
  'api.minimax.io': 'minimax',
  'api.minimaxi.com': 'minimax',
  'api.mistral.ai': 'mistral',
  'openrouter.ai': 'openrouter',
};

/** The word for the vendor of an address in a mapping of the catalog; null if it has none. */
export const vendorOfUrl = (url: string): string | null => vendorOfHost[URL.parse(url)?.hostname ?? ''] ?? null;

/**
 * The base URL of a channel here: the configured address with the path of the type, unless it ends in a version already; else the usual
 * address. Null if the type has none.
 */
export function targetUrl({ baseUrl, path }: ChannelTarget, configured: string): string | null {
  const own = configured
    .trim()
    .replace(/\/+$/, '')
    .replace(/\/(chat\/completions|messages)$/, '');
  const base = own === '' ? baseUrl : own;
  if (base === undefined) return null;
  return own !== '' && (path === '' || /\/v\d+(beta\d*)?$/.test(own)) ? own : `${base}${path}`;
}
