import { isWireFault, json, type FamilyCall, type FamilyParts, type Reply } from './family.ts';
import type { FailKind } from './script.ts';

/** A chat request, independent of the family that it arrived in. */
export interface ChatAsked {
  /** In order. A tool result has the role `tool`. */
  messages: { role: 'system' | 'user' | 'assistant' | 'tool'; text: string }[];
  maxTokens: number;
  tools: string[];
  /** The tool that the request forces, or `any` if it forces any one of them. */
  forced: { name: string } | 'any' | null;
  /** The JSON schema that the answer must follow. `{}` allows any JSON. */
  schema: object | null;
}

export interface ChatAnswered {
  text: string;
  tool: { id: string; name: string; arguments: Record<string, unknown> } | null;
  finish: 'stop' | 'length' | 'tool' | 'empty';
  /** Null if the script omits it. */
  usage: { input: number; output: number } | null;
}

/** How one family words the outcomes of a chat. */
export interface ChatWords {
  family: string;
  answer: (answered: ChatAnswered) => unknown;
  refusals: Record<'transient' | 'rate_limit' | 'refused' | 'auth' | 'lost' | 'late_fail', Reply>;
}

/** Does what the script in the last user message and the system text says. Without a script it echoes immediately. */
export function answerChat(parts: FamilyParts, call: FamilyCall, asked: ChatAsked, words: ChatWords): Reply {
  const lastUser = asked.messages.findLastIndex(({ role }) => role === 'user');
  const prompt = asked.messages[lastUser]?.text ?? '';
  const system = asked.messages.filter(({ role }) => role === 'system').map(({ text }) => text);
  const script = [...system, prompt].join('\n');
  const others = asked.messages.filter((_, index) => index !== lastUser).map(({ text }) => text);
  const key = call.headers['idempotency-key'];
  parts.hits.record(
    {
      channel: call.channel,
      family: words.family,
      route: `${call.method} ${call.path}`,
      kind: 'chat',
      idempotency_key: typeof key === 'string' ? key : null,
    },
    [prompt, ...others].join('\n'),
  );

  const behaviour = parts.scripting.next(script, call.channel);
  // A tool that was called and answered is not called again, else an agent loop would never end.
  const isAnswered = asked.messages.slice(lastUser + 1).some(({ role }) => role === 'tool');
  const forced = asked.forced === 'any' ? asked.tools[0] : asked.forced?.name;
  const tool = forced ?? (isAnswered ? undefined : behaviour.tool);
  const said = replyOf(behaviour.fail, words, () => {
    const written = write(asked, prompt, {
      tool: tool === undefined ? null : { name: tool, arguments: objectOf(behaviour.toolArguments) ?? {} },
      isEmpty: behaviour.fail === 'no_output',
    });
    const usage = behaviour.usage ?? usageOf(asked, written);
    return {
      ...written,
      usage: usage === 'none' ? null : Array.isArray(usage) ? { input: usage[0], output: usage[1] } : usage,
    };
  });
  return behaviour.latencyMs ? { kind: 'later', ms: behaviour.latencyMs, reply: said } : said;
}

/** Failures that only media jobs have become the nearest failure of a chat: `never` means that no answer comes. */
function replyOf(fail: FailKind | undefined, words: ChatWords, answer: () => ChatAnswered): Reply {
  if (fail === 'never') return { kind: 'fault', fault: 'hang' };
  if (isWireFault(fail)) return { kind: 'fault', fault: fail };
  if (fail === undefined || fail === 'no_output') return json(200, words.answer(answer()));
  return words.refusals[fail];
}

type Written = Omit<ChatAnswered, 'usage'>;

function write(
  asked: ChatAsked,
  prompt: string,
  { tool, isEmpty }: { tool: { name: string; arguments: Record<string, unknown> } | null; isEmpty: boolean },
): Written {
  if (isEmpty) return { text: '', tool: null, finish: 'empty' };
  if (tool) return { text: '', tool: { id: `call_${hashOf(prompt + tool.name)}`, ...tool }, finish: 'tool' };
  if (asked.schema) {
    const sample = 'type' in asked.schema || 'properties' in asked.schema ? sampleOf(asked.schema, 0) : null;
    return { text: JSON.stringify(sample ?? { answer: echoOf(prompt) }), tool: null, finish: 'stop' };
  }
  const whole = `Sandbox answer to: ${echoOf(prompt)}`;
  const text = cut(whole, asked.maxTokens * bytesPerToken);
  return { text, tool: null, finish: text === whole ? 'stop' : 'length' };
}

const bytesPerToken = 4;
const echoCharactersMax = 40;

/** The prompt without its script, shortened. */
const echoOf = (prompt: string): string =>
  [
    ...prompt
      .slice(0, 1_000)
      .replaceAll(/\[\[[^]{0,500}?\]\]/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  ]
    .slice(0, echoCharactersMax)
    .join('');

function cut(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  return bytes.length <= bytesMax ? text : bytes.subarray(0, bytesMax).toString('utf8').replaceAll('\uFFFD', '');
}

function usageOf(asked: ChatAsked, { text, tool, finish }: Written): { input: number; output: number } {
  const input = asked.messages.reduce((sum, message) => sum + Buffer.byteLength(message.text), 0);
  const output = tool ? tool.name + JSON.stringify(tool.arguments) : text;
  return {
    input: Math.max(Math.ceil(input / bytesPerToken), 1),
    output: finish === 'empty' ? 0 : Math.max(Math.ceil(Buffer.byteLength(output) / bytesPerToken), 1),
  };
}

/** A small value that fits a JSON Schema of the kind that chat requests use. */
function sampleOf(schema: object, depth: number): unknown {
  const get = (word: string): unknown => Reflect.get(schema, word);
  const listed = get('enum');
  if (Array.isArray(listed)) return listed[0];
  if (get('const') !== undefined) return get('const');
  const inner = (value: unknown): unknown =>
    typeof value === 'object' && value !== null && depth < sampleDepthMax ? sampleOf(value, depth + 1) : null;
  for (const word of ['anyOf', 'oneOf', 'allOf']) {
    const choices = get(word);
    if (Array.isArray(choices)) return inner(choices[0]);
  }
  const told = get('type');
  const type: unknown = Array.isArray(told) ? told[0] : told;
  const properties = get('properties');
  if (type === 'object' || typeof properties === 'object') {
    const entries = typeof properties === 'object' && properties !== null ? Object.entries(properties) : [];
    return Object.fromEntries(entries.map(([name, value]) => [name, inner(value)]));
  }
  if (type === 'array') return [inner(get('items'))];
  if (type === 'integer' || type === 'number') return typeof get('minimum') === 'number' ? get('minimum') : 1;
  if (type === 'boolean') return true;
  return type === 'null' ? null : 'sandbox';
}
const sampleDepthMax = 16;

/** A short hash of a text. */
export function hashOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < Math.min(text.length, 4_000); index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash.toString(36).padStart(7, '0');
}

export type Fields = Record<string, unknown>;

/** A JSON object, parsed from text or given as a value. Null for anything else. */
export function objectOf(value: unknown): Fields | null {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  if (typeof value !== 'string') return null;
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === 'string' ? null : objectOf(parsed);
  } catch {
    return null;
  }
}

/** The objects of a list, without its other elements. */
export const objectsOf = (value: unknown): Fields[] =>
  (Array.isArray(value) ? value : []).flatMap((one: unknown): Fields[] => {
    const object = objectOf(one);
    return object ? [object] : [];
  });

/** The text of a content that is a string or a list of parts. */
export const textOfParts = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : objectsOf(content)
        .flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
        .join('\n');

/** The first field that this provider does not know and therefore refuses. */
export const strangeField = (fields: Fields, known: readonly string[]): string | undefined =>
  Object.keys(fields).find((field) => !known.includes(field));
