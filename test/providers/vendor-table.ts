/** What becomes of a field: the name under which its vendor receives it, `named` for one that is left out and named, `silent` for one left out without a word. */
type Fate = string | null;
/** Left out and named. */
export const named = null;
/** Left out without a word: it changes nothing that the client sees. */
export const silent = '';

/** A field that a client of chat completions may send. */
export const clientFields = {
  temperature: 0.4,
  top_p: 0.9,
  top_k: 40,
  seed: 5,
  stop: ['END'],
  user: 'customer-17',
  frequency_penalty: 0.5,
  presence_penalty: 0.25,
  reasoning_effort: 'high',
  verbosity: 'low',
  parallel_tool_calls: false,
  prompt_cache_key: 'k',
  prompt_cache_retention: '24h',
  metadata: { a: 'b' },
  min_p: 0.1,
  never_heard_of: 1,
} as const;
export type ClientField = keyof typeof clientFields;

interface Vendor {
  model: string;
  fields: Record<ClientField, Fate>;
  /** The name of the length, and whether a stream asks for its counts. */
  length: string;
  streamOptions: boolean;
  /** Whether messages have names, and tools `strict`. */
  names: boolean;
  strict: boolean;
}

const same = (fields: readonly ClientField[]) => Object.fromEntries(fields.map((field) => [field, field]));
const all = (fate: Fate, fields: readonly ClientField[]) => Object.fromEntries(fields.map((field) => [field, fate]));
/** What only OpenAI and those named below have. */
const usual = {
  ...all(silent, ['user', 'prompt_cache_key', 'prompt_cache_retention', 'metadata']),
  ...all(named, ['never_heard_of', 'min_p', 'verbosity']),
} as Record<ClientField, Fate>;

/**
 * What each vendor of the family `openai` receives, from the types of its SDK or its documents (src/adapters/chat/openai-vendors.ts names them). Written
 * independently of the table of the adapter.
 */
export const vendors = {
  openai: {
    model: 'gpt-5-mini',
    fields: {
      ...usual,
      ...same(['seed', 'user', 'reasoning_effort', 'verbosity', 'parallel_tool_calls']),
      ...same(['prompt_cache_key', 'prompt_cache_retention']),
      ...all(named, ['top_k', 'temperature', 'top_p', 'stop', 'frequency_penalty', 'presence_penalty']),
    },
    length: 'max_completion_tokens',
    streamOptions: true,
    names: true,
    strict: true,
  },
  xai: {
    model: 'grok-4.7',
    fields: {
      ...usual,
      ...same(['temperature', 'top_p', 'seed', 'user', 'reasoning_effort', 'parallel_tool_calls']),
      ...all(named, ['top_k', 'stop', 'frequency_penalty', 'presence_penalty']),
    },
    length: 'max_completion_tokens',
    streamOptions: true,
    names: false,
    strict: false,
  },
  deepseek: {
    model: 'deepseek-v4-flash',
    fields: {
      ...usual,
      ...same(['temperature', 'top_p', 'stop', 'frequency_penalty', 'presence_penalty', 'reasoning_effort']),
      user: 'user_id',
      ...all(named, ['top_k', 'seed', 'parallel_tool_calls']),
    },
    length: 'max_tokens',
    streamOptions: true,
    names: true,
    strict: false,
  },
  qwen: {
    model: 'qwen3.8-flash',
    fields: {
      ...usual,
      ...same(['temperature', 'top_p', 'top_k', 'seed', 'stop', 'presence_penalty', 'reasoning_effort']),
      ...same(['parallel_tool_calls']),
      ...all(named, ['frequency_penalty']),
    },
    length: 'max_tokens',
    streamOptions: true,
    names: false,
    strict: true,
  },
  moonshot: {
    model: 'kimi-k3.1-pro',
    fields: {
      ...usual,
      ...same(['stop', 'reasoning_effort', 'prompt_cache_key']),
      user: 'safety_identifier',
      ...all(named, ['temperature', 'top_p', 'top_k', 'seed', 'frequency_penalty', 'presence_penalty']),
      ...all(named, ['parallel_tool_calls']),
    },
    length: 'max_completion_tokens',
    streamOptions: true,
    names: true,
    strict: true,
  },
  zai: {
    model: 'glm-5.3',
    fields: {
      ...usual,
      ...same(['temperature', 'top_p', 'seed', 'stop', 'reasoning_effort']),
      user: 'user_id',
      ...all(named, ['top_k', 'frequency_penalty', 'presence_penalty', 'parallel_tool_calls']),
    },
    length: 'max_tokens',
    streamOptions: false,
    names: false,
    strict: false,
  },
  minimax: {
    model: 'minimax-m3',
    fields: {
      ...usual,
      ...same(['temperature', 'top_p', 'stop']),
      ...all(named, ['top_k', 'seed', 'frequency_penalty', 'presence_penalty', 'parallel_tool_calls']),
      ...all(named, ['reasoning_effort']),
    },
    length: 'max_completion_tokens',
    streamOptions: true,
    names: true,
    strict: false,
  },
  mistral: {
    model: 'mistral-large-4',
    fields: {
      ...usual,
      ...same(['temperature', 'top_p', 'stop', 'frequency_penalty', 'presence_penalty', 'reasoning_effort']),
      ...same(['parallel_tool_calls', 'metadata']),
      seed: 'random_seed',
      ...all(named, ['top_k']),
    },
    length: 'max_tokens',
    streamOptions: false,
    names: false,
    strict: true,
  },
  openrouter: {
    model: 'deepseek-v3.2',
    fields: {
      ...usual,
      ...same(['temperature', 'top_p', 'top_k', 'seed', 'stop', 'user', 'frequency_penalty', 'presence_penalty']),
      ...same(['reasoning_effort', 'parallel_tool_calls', 'prompt_cache_key', 'metadata', 'min_p']),
    },
    length: 'max_tokens',
    streamOptions: true,
    names: true,
    strict: true,
  },
} satisfies Record<string, Vendor>;
export type VendorName = keyof typeof vendors;
export const vendorNames = Object.keys(vendors) as VendorName[];
