import { z } from 'zod';
import { isObject, snakeCase } from '../../../domain/json.ts';
import { camelCase, markSnakeCased } from '../../request/unknown-fields.ts';
import { AnyBase64 } from '../base64.ts';

/**
 * An object whose fields may also come under their snake_case names. Of its unknown fields only the first is passed on: it is the
 * one that the error names, and a body may have ten thousand in each object.
 */
export const aliased = <Shape extends z.ZodRawShape>(shape: Shape) => {
  const object = z.strictObject(shape);
  markSnakeCased(object);
  return z.preprocess((value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const recognized: [string, unknown][] = [];
    let unknown: [string, unknown] | undefined;
    for (const [key, inner] of Object.entries(value)) {
      const name = Object.hasOwn(shape, key) ? key : camelCase(key);
      if (Object.hasOwn(shape, name)) recognized.push([name, inner]);
      else unknown ??= [key, inner];
    }
    return Object.fromEntries(unknown ? [...recognized, unknown] : recognized);
  }, object);
};

/** The lists of requests, and what each has: objects, with the lists in them, or texts. */
const lists = listFieldsOf({
  contents: [{ parts: [{ functionResponse: { parts: [{}] } }] }],
  systemInstruction: { parts: [{}] },
  generationConfig: { stopSequences: [''], responseModalities: [''] },
  tools: [{ functionDeclarations: [{}] }],
  toolConfig: { functionCallingConfig: { allowedFunctionNames: [''] } },
  safetySettings: [{}],
  instances: [{}],
});

/** A field, the type of its items if it is a list, and the fields of those or of itself. */
interface ListField {
  name: string;
  type: string | null;
  within: ListField[];
}

function listFieldsOf(shape: object): ListField[] {
  return Object.entries(shape).flatMap(([field, kind]) => {
    const item: unknown = Array.isArray(kind) ? kind[0] : kind;
    const about = { type: Array.isArray(kind) ? typeof item : null, within: isObject(item) ? listFieldsOf(item) : [] };
    return [...new Set([field, snakeCase(field)])].map((name) => ({ name, ...about }));
  });
}

/**
 * Makes a list of one of a value that stands where a list belongs, in the body itself, which it returns. Google reads it so, and many programs rely
 * on that: `"contents": {"parts": {"text": "Hello"}}`. R writes a vector of one as a plain value.
 */
export function withLists<Body extends Record<string, unknown>>(body: Body, fields = lists): Body {
  for (const { name, type, within } of fields) {
    const value: unknown = body[name];
    if (value !== null && !Array.isArray(value) && typeof value === type) Object.assign(body, { [name]: [value] });
    const items: unknown[] = Array.isArray(value) ? value : [value];
    if (within.length > 0) for (const one of items) if (isObject(one)) withLists(one, within);
  }
  return body;
}

/** One of these words. Google reads them in any case, and its documents write `Image` too. */
export const wordOf = <const Words extends readonly string[]>(words: Words) =>
  z.preprocess((value) => (typeof value === 'string' ? value.toUpperCase() : value), z.enum(words));

const imageMimeType = z
  .string()
  .regex(/^image\/[\w.+-]{1,60}$/i, 'must be an image type')
  .transform((type) => type.toLowerCase());

/** An image in base64. */
export const InlineData = aliased({ mimeType: imageMimeType, data: AnyBase64, displayName: z.string().optional() });

/** Clients may send the URL-safe alphabet, which protobuf's JSON accepts too. Data URIs have the standard alphabet only. */
export const dataUriOf = ({ mimeType, data }: z.output<typeof InlineData>): string =>
  `data:${mimeType};base64,${data.replaceAll('-', '+').replaceAll('_', '/')}`;
