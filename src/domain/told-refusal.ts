/** What a provider says about a request that it refuses with a 400, as it said it. For clients only after `clientRefusal`. */
export interface ToldRefusal {
  message: string;
  /** The provider's name of the field at fault. */
  param?: string;
}

const messageMax = 300;
/** Words about the operator's account, and what looks like a key or an id of one. */
const unfit =
  /\b(account|organi[sz]ation|billing|api[ _-]?key|credential|tenant|workspace|subscription)\b|\borg-|\bsk-|\bproj_|AIza|@/i;
const longToken = /[A-Za-z0-9_-]{40,}/;
const vendors =
  /\b(open ?ai|azure|anthropic|claude|google|gemini|vertex|x\.?ai|grok|mistral|deepseek|moonshot|kimi|qwen|alibaba|dashscope|z\.ai|zhipu|minimax|openrouter|together|fireworks|groq|bedrock|vllm)\b(\s*(ai|api))?/gi;

/**
 * The first sentence of a provider's refusal as a client may read it; null if it cannot be cleaned. It has no URL and no name of a provider, the
 * provider's name of the model becomes ours, and a sentence about an account or a key is not shown at all.
 */
export function cleanedSentence(
  text: string,
  names: { upstreamModel: string; model: string; host: string },
): string | null {
  const [line = ''] = text
    .replaceAll(/https?:\/\/\S+/gi, '')
    .trim()
    .split(/[\r\n]/);
  const [sentence = ''] = line.split(/(?<=[.!?])\s+(?=[A-Z"'])/);
  const renamed = sentence
    .replaceAll(names.upstreamModel, names.model)
    .replaceAll(vendors, (found) => (names.model.includes(found) ? found : 'the provider'))
    .replaceAll(/\p{Cc}/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const isHidden =
    unfit.test(renamed) || longToken.test(renamed) || (names.host !== '' && renamed.includes(names.host));
  if (renamed.length < 4 || isHidden) return null;
  const short = renamed.length > messageMax ? `${renamed.slice(0, messageMax - 3)}...` : renamed;
  return /[.!?]$/.test(short) ? short : `${short}.`;
}

/** Roots of fields in the requests of all families, by our names. Messages are divided otherwise at each family. */
const roots: Readonly<Record<string, string>> = {
  ...{ messages: 'messages', contents: 'messages', input: 'messages', system: 'messages' },
  ...{ system_instruction: 'messages', instructions: 'messages' },
  ...{ max_tokens: 'max_tokens', max_completion_tokens: 'max_tokens', max_output_tokens: 'max_tokens' },
  ...{ temperature: 'temperature', top_p: 'top_p', top_k: 'top_k', seed: 'seed', random_seed: 'seed' },
  ...{ stop: 'stop', stop_sequences: 'stop', tool_choice: 'tool_choice', tool_config: 'tool_choice' },
  ...{ response_format: 'response_format', text: 'response_format', output_config: 'response_format' },
  ...{ response_json_schema: 'response_format', response_schema: 'response_format', thinking: 'thinking' },
  ...{ thinking_config: 'thinking', reasoning_effort: 'reasoning_effort', reasoning: 'reasoning_effort' },
};

/** The field at fault by the names of the shared checks: by the provider's `param`, or by a path in its message. */
export function sharedParam({ param, message }: ToldRefusal): string | undefined {
  const path =
    param ??
    /(?:^|['"\s*.])((?:messages|tools|contents|system|generation_?config|input)(?:[[.][\w[\].]+))/i.exec(message)?.[1];
  if (path === undefined || !/^[\w.[\]-]{1,200}$/.test(path)) return undefined;
  const parts = path
    .replaceAll(/\[(\w+)\]/g, '.$1')
    .split('.')
    .map((part) => part.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
    .filter((part) => part !== '' && part !== 'generation_config');
  if (parts[0] === 'tools') return toolParam(parts);
  const root = parts[0] ?? '';
  return Object.hasOwn(roots, root) ? roots[root] : undefined;
}

/** `tools.N`, or `tools.N.function.parameters` if its schema is at fault. Gemini has all functions in one tool. */
function toolParam(parts: readonly string[]): string {
  const nested = parts.indexOf('function_declarations');
  const index = parts[nested < 0 ? 1 : nested + 1];
  if (index === undefined || !/^\d+$/.test(index)) return 'tools';
  const isSchema = parts.some((part) => /^(parameters|input_schema|parameters_json_schema)$/.test(part));
  return isSchema ? `tools.${index}.function.parameters` : `tools.${index}`;
}
