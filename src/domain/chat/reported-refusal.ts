import { optionalNames } from './optional-parameters.ts';

/** What a provider says about a request that it refuses with a 400, as it said it. For clients only after `clientRefusal`. */
export interface ReportedRefusal {
  message: string;
  /** The provider's name of the field at fault. */
  param?: string;
}

const messageMax = 300;
/** Words about the operator's account, and ids of accounts, projects, keys and requests. A sentence with one is not shown. */
const unfit =
  /\b(accounts?|organi[sz]ations?|billing|quotas?|balance|api[ _-]?keys?|credentials?|tenants?|workspaces?|subscriptions?|deployments?)\b|\bprojects?[/ #:]+\d|\b(org|proj|acct|sk|pk|xai|gsk|req|resp|trace|ws)[-_](?=\w*\d)\w{5,}|\buser-\w{16,}|\bsk-|\bproj_|\borg-|AIza|@/i;
const uuid = /\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/i;
const longToken = /[A-Za-z0-9_-]{40,}/;
const vendorNames =
  /\b(open ?ai|azure|anthropic|claude|google|gemini|vertex|x\.?ai|grok|mistral|deepseek|moonshot|kimi|qwen|alibaba|aliyun|dashscope|z\.ai|zhipu(ai)?|bigmodel|glm|minimax|openrouter|together ?ai|fireworks ?ai|groq|bedrock|aws|vllm|litellm|cloudflare|volcengine|siliconflow|novita|deepinfra)\b(\s*(ai|api)\b)?/gi;

/** Addresses: with a scheme, of a well-known domain, or an IPv4 address. */
const addresses = [
  /\b[a-z][a-z\d+.-]*:\/\/\S+/gi,
  /\b(?:[a-z\d-]+\.)+(?:com|cn|ai|io|net|org|dev|cloud|app|internal|local)\b(?:[:/]\S*)?/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}\b(?::\d+)?/g,
];
/** A request id with its label, which some vendors append. */
const labelledRequestId = /[([{]?\b(?:request|trace|log)[ _-]?id\b['"]?\s*[:=]?\s*['"]?[\w.-]+['"]?[)\]}]?/gi;
/** Qwen writes `<400> InternalError.Algo.InvalidParameter: …`, LiteLLM `litellm.BadRequestError: …`. */
const preamble = /^(?:<\d{3}>\s*)?(?:(?:[A-Za-z]\w*\.)+[A-Z]\w*:\s*)?/;

/**
 * The first sentence of a provider's refusal as a client may read it; null if it cannot be cleaned. It has no URL, no id of a request and no name
 * of a provider, the provider's name of the model becomes ours, and a sentence about an account or a key is not shown at all.
 */
export function cleanedSentence(
  text: string,
  names: { upstreamModel: string; model: string; host: string },
): string | null {
  const plain = [...addresses, labelledRequestId].reduce((rest, pattern) => rest.replaceAll(pattern, ''), text);
  const [line = ''] = plain.trim().split(/[\r\n]/);
  const [sentence = ''] = line.replace(preamble, '').split(/(?<=[.!?])\s+(?=[A-Z"'])|(?<=[。！？])/);
  const renamed = sentence
    .replaceAll(modelIn(names.upstreamModel), names.model)
    .replaceAll(vendorNames, (found) => (hasWord(names.model, found) ? found : 'the provider'))
    .replaceAll(/\p{Cc}/gu, ' ')
    .replaceAll(/\s+([.,;:!?])/g, '$1')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const [hostname = ''] = names.host.split(':');
  const isHidden =
    [unfit, uuid, longToken].some((pattern) => pattern.test(renamed)) ||
    (hostname !== '' && renamed.includes(hostname));
  if (renamed.length < 4 || isHidden) return null;
  const short = renamed.length > messageMax ? `${renamed.slice(0, messageMax - 3)}...` : renamed;
  return /[.!?。！？]$/.test(short) ? short : `${short}.`;
}

const hasWord = (text: string, word: string): boolean => text.toLowerCase().includes(word.toLowerCase());

/** The provider's name of the model, in any case, with Google's folder and a date behind it. */
const modelIn = (name: string): RegExp =>
  new RegExp(
    `(?:\\bmodels/)?${name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}(?:-\\d{4}-?\\d\\d-?\\d\\d)?`,
    'gi',
  );

/** Roots of fields in the requests of all families, by our names. Messages are divided otherwise at each family. */
const roots: Readonly<Record<string, string>> = {
  ...Object.fromEntries(optionalNames.map((name) => [name, name])),
  messages: 'messages',
  contents: 'messages',
  input: 'messages',
  system: 'messages',
  system_instruction: 'messages',
  instructions: 'messages',
  max_tokens: 'max_tokens',
  max_completion_tokens: 'max_tokens',
  max_output_tokens: 'max_tokens',
  temperature: 'temperature',
  top_p: 'top_p',
  random_seed: 'seed',
  stop_sequences: 'stop',
  tool_choice: 'tool_choice',
  tool_config: 'tool_choice',
  response_format: 'response_format',
  text: 'response_format',
  output_config: 'response_format',
  response_json_schema: 'response_format',
  response_schema: 'response_format',
  thinking: 'thinking',
  thinking_config: 'thinking',
  reasoning_effort: 'reasoning_effort',
  reasoning: 'reasoning_effort',
};

/** The field at fault by the names of the shared checks: by the provider's `param`, or by a path in its message. */
export function sharedParam({ param, message }: ReportedRefusal): string | undefined {
  const path = param ?? pathIn(message);
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

/** The path of a field in a message, or the field with which the message begins: `max_tokens: 300000 > 64000, which is the maximum`. */
const pathIn = (message: string): string | undefined =>
  /(?:^|['"\s*.])((?:messages|tools|contents|system|generation_?config|input)(?:[[.][\w[\].]+))/i.exec(message)?.[1] ??
  /^['"`]?([a-z_]+)['"`]?\s*:/i.exec(message)?.[1];

/** `tools.N`, or `tools.N.function.parameters` if its schema is at fault. Gemini has all functions in one tool. */
function toolParam(parts: readonly string[]): string {
  const nested = parts.indexOf('function_declarations');
  const index = parts[nested < 0 ? 1 : nested + 1];
  if (index === undefined || !/^\d+$/.test(index)) return 'tools';
  const isSchema = parts.some((part) => /^(parameters|input_schema|parameters_json_schema)$/.test(part));
  return isSchema ? `tools.${index}.function.parameters` : `tools.${index}`;
}
