import { hash } from 'node:crypto';
import { piecesOf, tokensOfText, type StreamWords } from './chat-stream.ts';
import { tokensOfHeard, type HeardDocument } from './heard-document.ts';
import { json, recordHit, scriptedRefusal, type FamilyCall, type Refusals, type Reply } from './family.ts';
import type { Behaviour } from './script.ts';

/** What came with a chat beside its texts: the pictures, and how many tool calls of earlier turns have their result. */
export interface CameWith {
  pictures: number;
  results: number;
}

/** A tool of a request, with the JSON schema of its arguments. */
export interface OfferedTool {
  name: string;
  schema: object | null;
}

/** A chat request, independent of the family that it arrived in. */
export interface ChatRequest {
  /** In order. A tool result has the role `tool`. */
  messages: { role: 'system' | 'user' | 'assistant' | 'tool'; text: string }[];
  maxTokens: number;
  tools: OfferedTool[];
  /** The tool that the request forces, or `any` if it forces any one of them. */
  forced: { name: string } | 'any' | null;
  /** The texts at which the answer ends. */
  stops: string[];
  /** The signed thoughts and signed calls of earlier turns. */
  signed: number;
  cameWith: CameWith;
  /** The documents of the whole conversation, and what the provider counts for a page of them. */
  documents?: { heard: HeardDocument[]; tokensPerPage: number };
  /** The JSON schema that the answer must follow. `{}` allows any JSON. */
  schema: object | null;
}

export interface ToolCalled {
  id: string;
  name: string;
  arguments: Fields;
}

export interface ChatAnswered {
  text: string;
  /** The calls of one answer. */
  tools: readonly ToolCalled[];
  finish: 'stop' | 'length' | 'tool' | 'empty';
  /** The stop sequence that ended the text. */
  stop?: string;
  /** Tokens, with the cached input and the thoughts in the totals. Null if the script omits them. */
  usage: { input: number; output: number; cached: number; written: number; thoughts: number } | null;
  /** What the model thought before it answered. Empty if it did not. */
  thoughts: string;
}

/** How one family words the outcomes of a chat. */
export interface ChatWords {
  answer: (answered: ChatAnswered) => unknown;
  /** Present if the request asks for a stream. */
  stream?: ((answered: ChatAnswered) => StreamWords) | undefined;
  refusals: Refusals;
}

/**
 * Does what the script in the last user message and the system text says. Without a script it echoes immediately. `never`, a
 * failure of media jobs, means that no answer comes.
 */
export function answerChat(call: FamilyCall, sent: ChatRequest, { answer, stream, refusals }: ChatWords): Reply {
  const hasSchema = Object.keys(sent.schema ?? {}).length > 0;
  const request = hasSchema ? sent : { ...sent, schema: instructedSchema(sent) ?? sent.schema };
  const question = questionIndex(request.messages);
  const prompt = request.messages[question]?.text ?? '';
  const system = request.messages.filter(({ role }) => role === 'system').map(({ text }) => text);
  const others = request.messages.filter((_, index) => index !== question).map(({ text }) => text);
  const hit = recordHit(call, 'chat', [prompt, ...others].join('\n'));
  const { pictures, results: resultsOfCalls } = request.cameWith;
  if (request.signed > 0) hit.signed = request.signed;
  if (pictures > 0) hit.pictures = pictures;
  if (resultsOfCalls > 0) hit.results = resultsOfCalls;
  if (request.documents && request.documents.heard.length > 0) hit.documents = request.documents.heard;

  const { fail, ...behaviour } = call.scripting.next([...system, prompt].join('\n'), call.channel);
  // A tool that was called and answered as often as the script says is not called again, else an agent loop would never end.
  const results = request.messages.slice(question + 1).filter(({ role }) => role === 'tool').length;
  const scripted = scriptedCalls(behaviour);
  if (scripted.length === 0) scripted.push(...namedCall(request, prompt));
  const isAnswered = results >= (behaviour.calls ?? 1) * scripted.length;
  const { forced, tools: offered } = request;
  const forcedTool = forced === 'any' ? offered[0] : offered.find(({ name }) => name === forced?.name);
  const called = forcedTool
    ? [{ name: forcedTool.name, arguments: scripted[0]?.arguments ?? sampleArguments(forcedTool) }]
    : isAnswered
      ? []
      : scripted;
  // The ids of later rounds and of further calls differ.
  const tools = called.map((one, index) => ({
    id: `call_${hashOf(prompt + one.name + (results || '') + (index > 0 ? `/${index}` : ''))}`,
    ...one,
  }));
  const thoughtTokens = Math.min(behaviour.thoughts ?? 0, request.maxTokens);
  const written =
    thoughtTokens > 0 && thoughtTokens === request.maxTokens
      ? ({ text: '', tools: [], finish: 'length' } as const)
      : write(request, prompt, {
          tools,
          isEmpty: fail === 'no_output',
          tokens: behaviour.tokens,
          thoughtTokens,
        });
  const usage = behaviour.usage ?? usageOf(request, written, thoughtTokens, behaviour.tokens);
  const parts = { cached: behaviour.cached ?? 0, written: behaviour.written ?? 0, thoughts: thoughtTokens };
  const thoughts = tokensOfText(thoughtTokens).join('');
  const answered = { ...written, thoughts, usage: usage === 'none' ? null : { ...usage, ...parts } };
  const reply =
    scriptedRefusal(fail === 'never' ? 'hang' : fail, refusals) ??
    (stream
      ? {
          kind: 'stream' as const,
          words: stream(answered),
          pieces: piecesOfAnswer(written.text, thoughtTokens, behaviour.tokens !== undefined),
          script: behaviour,
          hit,
        }
      : json(200, answer(answered)));
  const { latencyMs = 0, rate } = behaviour;
  const writingMs = stream || rate === undefined ? 0 : ((thoughtTokens + (behaviour.tokens ?? 0)) / rate) * 1_000;
  return latencyMs + writingMs > 0 ? { kind: 'later', ms: latencyMs + writingMs, reply } : reply;
}

/** The format in the first system message, into which a gateway writes it for vendors that do not take it. */
function instructedSchema({ messages }: ChatRequest): object | null {
  const instructions = messages.find(({ role }) => role === 'system')?.text ?? '';
  if (instructions.includes('Answer with one JSON object and nothing else.')) return {};
  const [, text] = /must match this JSON schema: (\{.*\})$/s.exec(instructions) ?? [];
  try {
    return text === undefined ? null : (objectOf(JSON.parse(text)) ?? null);
  } catch {
    return null;
  }
}

/**
 * The message that is answered: the last one of the user. Agents add reminders to the results of their tools, which belong to the question before
 * them.
 */
function questionIndex(messages: ChatRequest['messages']): number {
  const isQuestion = (index: number): boolean => {
    if (messages[index]?.role !== 'user') return false;
    const before = messages.slice(0, index).findLast(({ role }) => role === 'assistant' || role === 'tool');
    return before?.role !== 'tool';
  };
  const question = messages.findLastIndex((_, index) => isQuestion(index));
  return question >= 0 ? question : messages.findLastIndex(({ role }) => role === 'user');
}

/** A question that names the only tool, as "What's the weather like?" does for `get_weather`, calls it, as a model would. */
function namedCall({ tools }: ChatRequest, prompt: string): Omit<ToolCalled, 'id'>[] {
  const [tool, ...others] = tools;
  // Only a question without instructions ends so.
  if (tool === undefined || others.length > 0 || !prompt.trimEnd().endsWith('?')) return [];
  const words = new Set(prompt.toLowerCase().split(/[^a-z]+/));
  const isNamed = tool.name
    .toLowerCase()
    .split(/[^a-z]+/)
    .some((word) => word.length > 4 && words.has(word));
  return isNamed ? [{ name: tool.name, arguments: sampleArguments(tool) }] : [];
}

/** The calls that the script wants in one answer. A list of arguments has those of each call; the last name stands for all further ones. */
function scriptedCalls({ tool, toolArguments }: Behaviour): Omit<ToolCalled, 'id'>[] {
  if (tool === undefined) return [];
  const names = tool.split(',');
  const listed = toolArguments.startsWith('[') ? objectsOf(parsedOr(toolArguments, [])) : null;
  return Array.from({ length: Math.max(names.length, listed?.length ?? 1) }, (_, index) => ({
    name: names[index] ?? names.at(-1) ?? '',
    arguments: (listed ? listed[index] : objectOf(toolArguments)) ?? {},
  }));
}

function parsedOr(text: string, otherwise: unknown): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}

const piecesOfAnswer = (text: string, thoughtTokens: number, isCounted: boolean) => [
  ...tokensOfText(thoughtTokens).map((thought) => ({ text: thought, isThought: true })),
  ...(isCounted ? (text.match(/\s?\S+/g) ?? []) : piecesOf(text)).map((piece) => ({ text: piece, isThought: false })),
];

type Written = Omit<ChatAnswered, 'usage' | 'thoughts'>;

function write(
  request: ChatRequest,
  prompt: string,
  {
    tools,
    isEmpty,
    tokens,
    thoughtTokens,
  }: {
    tools: readonly ToolCalled[];
    isEmpty: boolean;
    tokens: number | undefined;
    thoughtTokens: number;
  },
): Written {
  if (isEmpty) return { text: '', tools: [], finish: 'empty' };
  if (tools.length > 0) return { text: '', tools, finish: 'tool' };
  if (request.schema) {
    const sample = 'type' in request.schema || 'properties' in request.schema ? sampleOf(request.schema, 0) : null;
    return { text: JSON.stringify(sample ?? { answer: echoOf(prompt) }), tools: [], finish: 'stop' };
  }
  if (tokens !== undefined) {
    const most = request.maxTokens - thoughtTokens;
    return {
      text: tokensOfText(Math.min(tokens, most)).join(''),
      tools: [],
      finish: tokens > most ? 'length' : 'stop',
    };
  }
  const echo = `Sandbox answer to: ${echoOf(prompt)}`;
  const stop = request.stops.find((text) => echo.includes(text));
  if (stop !== undefined) return { text: echo.slice(0, echo.indexOf(stop)), tools: [], finish: 'stop', stop };
  const text = cut(echo, request.maxTokens * bytesPerToken);
  return { text, tools: [], finish: text === echo ? 'stop' : 'length' };
}

const bytesPerToken = 4;
const echoCharactersMax = 40;

/** The prompt without its script, shortened. */
function echoOf(prompt: string): string {
  const unscripted = prompt.slice(0, 1_000).replaceAll(/\[\[[^]{0,500}?\]\]/g, ' ');
  return [...unscripted.replaceAll(/\s+/g, ' ').trim()].slice(0, echoCharactersMax).join('');
}

function cut(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  return bytes.length <= bytesMax ? text : bytes.subarray(0, bytesMax).toString('utf8').replaceAll('\uFFFD', '');
}

function usageOf(request: ChatRequest, { text, tools, finish }: Written, thoughts: number, tokens: number | undefined) {
  const tokensOf = (...texts: string[]) => Math.max(Math.ceil(Buffer.byteLength(texts.join('')) / bytesPerToken), 1);
  const hasCalls = tools.length > 0;
  const output = hasCalls ? tools.map((tool) => tool.name + JSON.stringify(tool.arguments)).join('') : text;
  return {
    input:
      tokensOf(...request.messages.map((message) => message.text)) +
      tokensOfHeard(request.documents?.heard ?? [], request.documents?.tokensPerPage ?? 0),
    output:
      tokens !== undefined && !hasCalls
        ? Math.min(tokens + thoughts, request.maxTokens)
        : finish === 'empty'
          ? 0
          : (output === '' ? 0 : tokensOf(output)) + thoughts,
  };
}

/** Small arguments that fit the schema of a tool, as a model would make them. */
const sampleArguments = ({ schema }: OfferedTool): Fields => objectOf(schema && sampleOf(schema, 0)) ?? {};

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
  const types = get('type');
  // Gemini's own words are in capitals.
  const type = String(Array.isArray(types) ? types[0] : types).toLowerCase();
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

/** The strings of a list, or a single one. */
export const stringsOf = (value: unknown): string[] =>
  [value].flat().filter((one): one is string => typeof one === 'string');

/** A short hash of a text. */
export const hashOf = (text: string): string => hash('sha1', text).slice(0, 8);

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

/** The tools of a request, in the words of any family. */
export const offeredTools = (tools: (Fields | null)[]): OfferedTool[] =>
  tools.flatMap((tool) => {
    if (typeof tool?.name !== 'string') return [];
    const { parameters, parametersJsonSchema, input_schema } = tool;
    return [{ name: tool.name, schema: objectOf(parameters ?? parametersJsonSchema ?? input_schema) }];
  });

/** One turn of a family whose tool results arrive inside a user message. */
export const turnOf = (role: 'user' | 'assistant', text: string, results: string[]): ChatRequest['messages'] => [
  ...results.map((result) => ({ role: 'tool' as const, text: result })),
  ...(text !== '' || results.length === 0 ? [{ role, text }] : []),
];

/** The first field that this provider does not know and therefore refuses. `accepted` lists names, apart by spaces. */
export const strangeField = (fields: Fields, accepted: string): string | undefined =>
  Object.keys(fields).find((field) => !accepted.split(' ').includes(field));
