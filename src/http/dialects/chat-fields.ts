import { z } from 'zod';
import { isDataUri, splitDataUri } from '../../domain/chat/chat.ts';
import { GatewayError } from '../../domain/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../domain/json.ts';

/** The limits of `max_tokens` and `temperature` (spec §4.2). */
export const MaxTokens = z.int().min(16).max(8_192);
export const Temperature = z.number().min(0).max(2);
/** `max_tokens` under `/v1`. More than the model writes is clamped (rules "Chat"). */
export const V1MaxTokens = z.int().min(1);
/** `top_k` under `/v1`. 0 (SillyTavern) and -1 (vLLM's word) ask for none. */
export const V1TopK = z
  .int()
  .min(-1)
  .max(1_000)
  .transform((count) => (count > 0 ? count : undefined))
  .nullish();
/** `top_p` under `/v1`. -1 (earlier versions of LangChain for Anthropic) asks for none. */
export const V1TopP = z
  .union([z.literal(-1), z.number().min(0).max(1)])
  .transform((share) => (share < 0 ? undefined : share))
  .nullish();
/** Both, by their usual names. */
export const v1Sampling = { top_k: V1TopK, top_p: V1TopP };
/** The most messages of a request, and parts of a message, on the routes of the specification. */
export const itemsMax = 1_000;
/** The same under `/v1`: as many as the objects of all lists together (`createJsonCounter`). */
export const v1ItemsMax = 10_000;
/** A picture in base64 may be as long as a body. */
export const inlineMax = 32_000_000;
/** OpenAI's own limit. */
export const toolsMax = 128;
/** The most tools under `/v1`. How many a model takes, its family says. */
export const v1ToolsMax = 1_000;
/** The stop sequences of a request under `/v1`. How many a model takes, its family says. */
export const V1Stops = z.array(z.string().min(1).max(500)).max(1_000);
/** A client's name of its user under `/v1`. Providers take 512 characters, which tell users apart as well. */
export const V1User = z
  .string()
  .max(10_000)
  .transform((user) => user.slice(0, 512));
export const FunctionName = z
  .string()
  .regex(/^[\w.:-]{1,128}$/, 'must be 1 to 128 letters, digits, "_", "-", "." or ":"');
export const JsonRecord = z.custom<JsonObject>(isObject, 'must be an object').meta({ type: 'object' });

/** A URL, or an image's bytes in base64. Whether the URL is public https is checked with the model (`prepareChat`). */
export const ImageUrl = z
  .string()
  .max(inlineMax)
  .refine(
    (url) => (!isDataUri(url) && URL.canParse(url)) || /^image\//.test(splitDataUri(url)?.mimeType ?? ''),
    'must be an https URL or a base64 data URI of an image',
  );

/** An `invalid_value` that names the field as the client spells it. */
export const fieldError = (param: string, what: string): GatewayError =>
  new GatewayError('invalid_value', { param, message: `${param}: ${what}` });

export const isNonNull = <T>(value: T | null | undefined): value is T => value !== null && value !== undefined;

/** The fields that are given. In an optional field null means absent. */
export function nonNullFields<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: NonNullable<Fields[Name]> };
export function nonNullFields(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => isNonNull(value)));
}

/** By field, the values that change nothing. */
export type HarmlessValues = Readonly<Record<string, readonly JsonValue[]>>;

/** The fields without those that have a harmless value: they are accepted and not sent. */
export const withoutHarmless = <Value>(
  fields: Readonly<Record<string, Value>>,
  harmless: HarmlessValues,
): Record<string, Value> =>
  Object.fromEntries(
    Object.entries(fields).filter(([field, value]) => {
      const values = Object.hasOwn(harmless, field) ? harmless[field] : [];
      return !values?.some((one) => JSON.stringify(one) === JSON.stringify(value));
    }),
  );

/** Anthropic's mark for its prompt cache, where LiteLLM and OpenRouter accept it too. */
export const CacheMark = z.object({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).optional() }).nullish();
