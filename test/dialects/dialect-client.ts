import type { JsonObject, JsonValue } from '../../src/domain/json.ts';

/** What a test asks for, independent of the dialect. */
export interface Ask {
  model: string;
  prompt: string;
  isStream?: boolean;
  maxTokens?: number;
  /** A base64 PNG. */
  picture?: string;
  /** A file beside the prompt. */
  file?: RequestFile;
  /** Offers the tool `weather`, and this many further ones. */
  hasTool?: boolean;
  furtherTools?: number;
  /** `weather` must be called, any tool must, or only `weather` may. */
  choice?: 'weather' | 'any' | 'allowed';
  /** The model's turn as it came, and the results of its calls in order. */
  answered?: { turn: JsonValue; results: ToolResult[] };
  /** Asks for an answer by a schema with the text `city`. */
  isStructured?: boolean;
  /** Asks for much thought, and for the thoughts. */
  isThinking?: boolean;
  stop?: string;
}

export interface ToolResult {
  callId: string;
  text: string;
  /** A base64 PNG that the tool returned. */
  picture?: string | undefined;
  /** A file that the tool returned. */
  file?: RequestFile | undefined;
}

export interface RequestFile {
  type: 'application/pdf' | 'text/plain';
  name: string;
  base64: string;
}

/** What a client sees of an answer, independent of the dialect. */
export interface Seen {
  text: string;
  thoughts: string;
  calls: { id: string; name: string; arguments: unknown }[];
  finish: string;
  usage: { input: number; output: number; cached: number; thoughts: number };
  /** The model's turn as the client sends it back. */
  turn: JsonValue;
}

/** How a client of one dialect asks and reads. */
export interface DialectClient {
  path(ask: Ask): string;
  body(ask: Ask): object;
  read(answer: JsonObject): Seen;
  /** The answer that a client puts together from the events of a stream. */
  join(events: JsonObject[]): JsonObject;
  /** The words of `finish` for an answer that ended by itself, was cut, called a tool or met a stop sequence. */
  finishes: { end: string; length: string; tool: string; stopSequence: string };
  error(body: JsonObject): { code: unknown; param: unknown };
}

export const weather = {
  name: 'weather',
  description: 'The weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
/** All tools that a request offers. */
export const toolsOf = ({ hasTool, furtherTools = 0 }: Ask): (typeof weather)[] => [
  ...(hasTool ? [weather] : []),
  ...Array.from({ length: furtherTools }, (_, index) => ({ ...weather, name: `tool_${index}` })),
];
export const citySchema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
