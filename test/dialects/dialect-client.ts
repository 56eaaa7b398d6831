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

/** The object at a place in JSON; empty if there is none. */
export function objectAt(value: JsonValue | undefined, ...path: (string | number)[]): JsonObject {
  const found = at(value, ...path);
  return typeof found === 'object' && found !== null && !Array.isArray(found) ? found : {};
}
export function listAt(value: JsonValue | undefined, ...path: (string | number)[]): JsonObject[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found.map((one) => objectAt(one)) : [];
}
export const textAt = (value: JsonValue | undefined, ...path: (string | number)[]): string => {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : '';
};
export const countAt = (value: JsonValue | undefined, ...path: (string | number)[]): number => {
  const found = at(value, ...path);
  return typeof found === 'number' ? found : 0;
};
function at(value: JsonValue | undefined, ...path: (string | number)[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>(
    (inner, key) =>
      Array.isArray(inner)
        ? inner[Number(key)]
        : typeof inner === 'object' && inner !== null
          ? inner[String(key)]
          : undefined,
    value,
  );
}

/** The JSON in a text. */
export const parsed = (text: string): JsonValue => JSON.parse(text) as JsonValue;
