import type { JsonObject, JsonValue } from '../../src/domain/json.ts';

/** What a test asks for, independent of the dialect. */
export interface Ask {
  model: string;
  prompt: string;
  isStream?: boolean;
  maxTokens?: number;
  /** A base64 PNG. */
  picture?: string;
  /** Offers the tool `weather`. */
  hasTool?: boolean;
  /** The model's turn as it came, and the result of its call. */
  answered?: { turn: JsonValue; callId: string; result: string };
  /** Asks for an answer by a schema with the text `city`. */
  isStructured?: boolean;
  /** Asks for much thought, and for the thoughts. */
  isThinking?: boolean;
  stop?: string;
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
export const citySchema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
