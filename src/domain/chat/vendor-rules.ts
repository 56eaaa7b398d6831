import { asksForNothing } from './asks-for-nothing.ts';
import type { ChatRequest } from './chat.ts';
import { optionalParameters, usedParameters, type OptionalParameter } from './optional-parameters.ts';
import type { JsonObject } from '../json.ts';
import type { Effort } from './reasoning.ts';

/** What one vendor takes of a chat in the format of OpenAI. */
export interface VendorRules {
  /**
   * The parameters that it takes, beside those that every vendor does (model, messages, tools, the length, temperature and top_p). Every other
   * is left out, because some vendors refuse a request with a field that they do not know.
   */
  takes: readonly VendorParameter[];
  /** The further fields (`ChatRequest.extra`) that it takes. None costs anything but the tokens of the answer. */
  further: readonly string[];
  /** Its own names of fields. */
  names?: Readonly<Partial<Record<VendorParameter | 'max_tokens', string>>>;
  /** The most that it takes of these. More is sent as this. */
  most?: Readonly<Partial<Record<'temperature' | 'top_p', number>>>;
  /** The least that it takes of these. */
  least?: Readonly<Partial<Record<'temperature' | 'top_p', number>>>;
  /** The most stop sequences. By default four. */
  stopMax?: number;
  /**
   * The formats to which the vendor holds an answer: `schema` a JSON schema or JSON of any form, `schema_only` a JSON schema, `object` JSON of any
   * form, `none` no format. Where the vendor has less than the client asks for, the instructions ask for it.
   */
  formats: 'schema' | 'schema_only' | 'object' | 'none';
  /** Whether a tool can be forced: always, only while the model does not think, or never. */
  forcedTools: 'always' | 'unthinking' | 'never';
  /** The choice of tools has no word but `auto`. A model that must call none is offered none. */
  choosesAlone?: true;
  /** `required` is refused, and a named tool is not (for models of this vendor that think). */
  forcesByName?: true;
  /** The fields that switch thoughts off. Absent: they cannot be, and the least effort is the nearest. */
  unthinking?: JsonObject;
  /** The efforts that it knows, from the least to the most. Absent: all. Another one is sent as the nearest, or not if it knows none. */
  efforts?: readonly Exclude<Effort, 'none'>[];
}

/** `name` is that of a message, `strict` that of a tool. */
export type VendorParameter = OptionalParameter | 'user' | 'name' | 'strict' | 'stream_options' | 'n';

const optionalMembers = Object.entries(optionalParameters);

/**
 * The request without what the vendor lacks, and the names of the parameters and of the fields that are `usual` for other vendors that it loses
 * for that. `usual` are the further fields that the request may have whatever its vendor takes.
 */
export function asTakenBy(
  { takes, further }: VendorRules,
  request: ChatRequest,
  usual: readonly string[],
): { request: ChatRequest; lost: string[] } {
  const lacked = optionalMembers.filter(([field]) => !takes.includes(field as OptionalParameter));
  const used = usedParameters(request);
  const isLost = (field: string): boolean => usual.includes(field) && !further.includes(field);
  const fields = Object.entries(request.extra);
  return {
    request: {
      ...request,
      ...Object.fromEntries(lacked.map(([, { member }]) => [member, undefined])),
      extra: Object.fromEntries(fields.filter(([field]) => !isLost(field))),
    },
    lost: [
      // They change the answer, so they are named. What else a vendor lacks is left out silently.
      ...used.filter((field) => !takes.includes(field)),
      ...fields.flatMap(([field, value]) => (isLost(field) && !asksForNothing(value) ? [field] : [])),
    ],
  };
}

/** Whether the request forces a tool that its vendor cannot force. */
export const cannotForce = (
  { forcedTools }: VendorRules,
  request: Pick<ChatRequest, 'toolChoice' | 'tools'>,
): boolean => forcedTools === 'never' && mustCallTool(request);

/** Whether the model must call a tool. */
export const mustCallTool = ({ toolChoice, tools }: Pick<ChatRequest, 'toolChoice' | 'tools'>): boolean =>
  tools.length > 0 && (toolChoice === 'required' || typeof toolChoice === 'object');
