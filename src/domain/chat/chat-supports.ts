import { asksForNothing } from './asks-for-nothing.ts';
import { blankTurn } from './blank-turn.ts';
import type { UpstreamMapping } from '../catalog/catalog.ts';
import { withoutUnsent, type ChatRequest, type VendorApi } from './chat.ts';
import { GatewayError } from '../errors.ts';
import { listDocuments, plainDocuments, refusedDocument, type DocumentSupports } from './documents.ts';
import { isObject, type JsonValue } from '../json.ts';
import { optionalParameters, usedParameters, type OptionalParameter } from './optional-parameters.ts';
import { fromThinkingConfig, isEffort } from './reasoning.ts';
import { asksForThoughts, type ThoughtKind } from './thoughts.ts';
import { leftOutSilently, neverLeftOut, onWhenEmpty, passThroughDefault, inertFields } from './pass-through.ts';
import { asTakenBy, cannotForce, type VendorRules } from './vendor-rules.ts';

/** The parts of a chat request that one provider family supports, beyond messages, tools and the usual parameters. */
export interface ChatSupports {
  /** The optional parameters that the family takes; `parallel_tool_calls`: calls in parallel can be switched off. */
  parameters: readonly OptionalParameter[];
  /** The most stop sequences. */
  stopMax: number;
  /** Whether a stop sequence may be only white space. */
  blankStops: boolean;
  /** Whether listed further fields are passed through. */
  extra: boolean;
  /** The most tools; absent if the family has no limit of its own. A mapping's `tools_max` stands before it. */
  toolsMax?: number;
  /** Continues an answer whose beginning is the last message. */
  prefill?: true;
  /** Cannot be held to JSON without a schema. An instruction asks for it, but on the routes of the specification. */
  lacksJsonObject?: true;
  /** Refuses a turn of the user that is only white space. */
  refusesBlankTurns?: true;
  /** The family takes PDFs, of the models whose mapping has `documents`. */
  documents?: DocumentSupports;
  /** The kinds of signed thoughts that the family takes back. */
  thoughts?: readonly ThoughtKind[];
  /** Whether the family takes the fields of Gemini's own request. */
  gemini?: true;
  /** The vendor's API that the family speaks, whose own fields it is sent. */
  vendorApi?: VendorApi;
  /** The further fields that the family translates. */
  translates?: readonly string[];
  /** What the vendor of the mapping takes, of the family `openai`. */
  vendor?: VendorRules;
}

/**
 * The first field that a family does not support, or null. Checked before credits are held (rules "Chat"). `passThrough` lists the
 * further fields that may be sent to this family.
 */
export function unsupportedBy(
  supports: ChatSupports,
  request: ChatRequest,
  passThrough: readonly string[] = passThroughDefault,
): string | null {
  const { isOfSpec, responseFormat } = request;
  const blank = supports.refusesBlankTurns ? blankTurn(request.messages) : undefined;
  const fields: [field: string, isSupported: boolean][] = [
    [`messages.${blank}.content`, blank === undefined],
    ['tools', request.tools.length <= (supports.toolsMax ?? Infinity)],
    ['messages', supports.prefill === true || request.isPrefilled !== true],
    ['response_format', !(supports.lacksJsonObject && isOfSpec && responseFormat?.type === 'json_object')],
    ...lackedParameters(supports, request).map((field): [string, boolean] => [field, false]),
    ['stop', (request.stop?.length ?? 0) <= supports.stopMax],
    ['stop', supports.blankStops || (request.stop ?? []).every((text) => text.trim() !== '')],
    ['generationConfig.thinkingConfig', supports.gemini || !request.gemini?.thinkingConfig],
    ['safetySettings', supports.gemini || !request.gemini?.safetySettings],
    [request.vendor?.paths[0] ?? '', !request.vendor?.paths.length || request.vendor.api === supports.vendorApi],
    ...furtherFields(supports, request).map((field): [string, boolean] => [
      field,
      (supports.extra ? passThrough : [...inertFields, ...(supports.translates ?? [])]).includes(field),
    ]),
  ];
  return fields.find(([, isSupported]) => !isSupported)?.[0] ?? null;
}

/** What the request uses and the family lacks. A family without stop sequences says so by `stopMax`. */
const lackedParameters = ({ parameters }: ChatSupports, request: ChatRequest): OptionalParameter[] =>
  usedParameters(request).filter((name) => name !== 'stop' && !parameters.includes(name));

/** A family that translates `parallel_tool_calls` takes it without a list. */
const furtherFields = ({ extra }: ChatSupports, request: ChatRequest): string[] =>
  Object.keys(
    extra && request.parallelToolCalls !== undefined
      ? { ...request.extra, parallel_tool_calls: request.parallelToolCalls }
      : request.extra,
  );

/** What a mapping says about the requests that its model takes. */
type MappingLimits = Partial<
  Pick<
    UpstreamMapping,
    | 'pass_through'
    | 'parameters'
    | 'fixed'
    | 'no_forced_tools'
    | 'tools_max'
    | 'documents'
    | 'thinking'
    | 'api'
    | 'vendor'
  >
>;

/**
 * The further fields that a request may have at a mapping's family. A client that asks for another value of a fixed field would not get it. What
 * a vendor takes beyond the usual fields, a route of the specification refuses as it always did.
 */
function passedThrough(
  { pass_through: listed, fixed = {} }: MappingLimits,
  { vendor }: ChatSupports,
  { isOfSpec }: ChatRequest,
): readonly string[] {
  const further = isOfSpec ? [] : (vendor?.further ?? []);
  return (listed ?? [...passThroughDefault, ...further]).filter((field) => !Object.hasOwn(fixed, field));
}

/** The request as the vendor of a mapping takes it, and what it loses for that. What the catalog lists, the vendor takes. */
function atVendor(
  { pass_through: listed = [], parameters = {} }: MappingLimits,
  { vendor }: ChatSupports,
  request: ChatRequest,
): { request: ChatRequest; lost: string[] } {
  if (vendor === undefined) return { request, lost: [] };
  const further = [...vendor.further, ...listed].filter((field) => parameters[field] !== null);
  // A field that a route of the specification would not pass through is refused there and not lost.
  const usual = request.isOfSpec ? passThroughDefault : [...passThroughDefault, ...vendor.further];
  const taken = asTakenBy({ ...vendor, further }, request, usual);
  return { ...taken, lost: taken.lost.filter((field) => !leftOutSilently.includes(field)) };
}

/**
 * The request as the family of a mapping can carry it, and what it loses for that, by the names of the shared checks. A tolerant request loses
 * fields of another vendor's API and further fields that the family is not sent (`leftOut`). Every request loses the parameters that the
 * vendor of the mapping lacks, which are `unsent` if the request is not tolerant.
 */
export function carriedBy(
  mapping: MappingLimits,
  supports: ChatSupports,
  clientRequest: ChatRequest,
): { request: ChatRequest; leftOut: string[]; unsent: string[] } {
  const { request: taken, lost } = atVendor(
    mapping,
    supports,
    supports.documents?.hasBlocks ? clientRequest : plainDocuments(clientRequest),
  );
  if (taken.leftOut === undefined) return { request: taken, leftOut: [], unsent: lost };
  const { request, leftOut: unable } = withoutUnable(supports, taken);
  const sent = supports.extra
    ? passedThrough(mapping, supports, request)
    : [...inertFields, ...(supports.translates ?? [])];
  const followsEffort = !supports.translates?.includes('reasoning_effort') || mapping.thinking !== undefined;
  const isOwn = request.vendor === undefined || request.vendor.api === supports.vendorApi;
  const repeated = isOwn ? (request.vendor?.shared ?? []) : [];
  const isSent = (field: string): boolean => sent.includes(field) && (field !== 'reasoning_effort' || followsEffort);
  // What must not be left out stays, so that it is refused.
  const isKept = (field: string, value: JsonValue): boolean =>
    !repeated.includes(field) && (isSent(field) || (Object.hasOwn(neverLeftOut, field) && !asksForNothing(value)));
  const { vendor, thinking, ...shared } = supports.gemini ? request : withoutGemini(request);
  const isThinkable = followsEffort || !asksForThoughts(thinking);
  const further = Object.entries(shared.extra);
  const isNamed = (field: string, value: JsonValue): boolean =>
    !isKept(field, value) && !repeated.includes(field) && !isWithoutEffect(field, value);
  return {
    request: {
      ...(isOwn ? shared : withoutVendorFields(shared)),
      ...(isOwn && vendor && { vendor }),
      ...(isThinkable && thinking && { thinking }),
      extra: Object.fromEntries(further.filter(([field, value]) => isKept(field, value))),
    },
    leftOut: [
      ...further.flatMap(([field, value]) => (isNamed(field, value) ? [field] : [])),
      ...(isOwn ? [] : (vendor?.paths ?? [])),
      ...(isThinkable ? [] : ['thinking']),
      ...(supports.gemini || !request.gemini?.safetySettings ? [] : ['safetySettings']),
      ...lost,
      ...unable,
    ],
    unsent: [],
  };
}

/** A tolerant request without the parameters that its family lacks. They change how an answer is drawn, not what it is about. */
function withoutUnable(
  supports: ChatSupports,
  request: ChatRequest,
): { request: ChatRequest; leftOut: OptionalParameter[] } {
  const leftOut = lackedParameters(supports, request);
  return {
    request: { ...request, ...Object.fromEntries(leftOut.map((name) => [optionalParameters[name].member, undefined])) },
    leftOut,
  };
}

/** The request without the fields that only Gemini takes, and its `thinkingConfig` in the words of the other families. */
function withoutGemini({ gemini, ...request }: ChatRequest): ChatRequest {
  if (!gemini?.thinkingConfig) return request;
  const { effort, thinking } = fromThinkingConfig(gemini.thinkingConfig);
  const extra = effort === undefined ? request.extra : { ...request.extra, reasoning_effort: effort };
  return { ...request, extra, ...(thinking && { thinking }) };
}

function refusalOf(
  param: string,
  { toolsMax, stopMax, vendor }: ChatSupports,
  { tools, stop = [], isOfSpec }: ChatRequest,
): string {
  const stopsTaken = Math.min(stopMax, vendor?.stopMax ?? stopMax);
  if (/^messages\.\d+\.content$/.test(param))
    return `${param}: this model takes no turn of the user that is only white space.`;
  if (param === 'tools' && toolsMax !== undefined)
    return `tools: this model takes at most ${toolsMax} tools, and this request offers ${tools.length}.`;
  if (param === 'tool_choice' && !isOfSpec)
    return 'tool_choice: this model cannot be forced to call a tool. Send "auto", or ask for JSON by response_format.';
  if (param === 'stop' && stopsTaken > 0 && stop.length > stopsTaken)
    return `stop: this model takes at most ${stopsTaken} stop sequences, and this request has ${stop.length}.`;
  const advice = Object.hasOwn(neverLeftOut, param) ? neverLeftOut[param] : undefined;
  const refusal = `This model does not support the field ${param}, or not with this value`;
  return advice === undefined ? `${refusal}.` : `${refusal}: ${advice}`;
}

const isWithoutEffect = (field: string, value: JsonValue): boolean =>
  leftOutSilently.includes(field) || (asksForNothing(value) && !(onWhenEmpty.includes(field) && isObject(value)));

const withoutVendorFields = (request: ChatRequest): ChatRequest => ({
  ...request,
  tools: request.tools.map(({ vendor: _, ...tool }) => tool),
  messages: request.messages.flatMap(({ vendor, ...message }) => {
    const isOnlyVendors = vendor !== undefined && message.role === 'system' && message.content.length === 0;
    return isOnlyVendors ? [] : [message];
  }),
});

/** The first field that the model of a mapping does not support, or null. */
function unsupportedByMapping(mapping: MappingLimits, supports: ChatSupports, request: ChatRequest): string | null {
  const document = refusedDocument({ mapping, supports }, listDocuments(request));
  if (document) return document.at;
  const choice = request.toolChoice;
  if (supports.vendor && !request.isOfSpec && cannotForce(supports.vendor, request)) return 'tool_choice';
  if (supports.vendor && !request.isOfSpec && (request.stop?.length ?? 0) > (supports.vendor.stopMax ?? Infinity))
    return 'stop';
  if (mapping.no_forced_tools && (choice === 'required' || typeof choice === 'object')) return 'tool_choice';
  // A family that translates efforts thinks only where the catalog says how.
  if (supports.translates?.includes('reasoning_effort') && !mapping.thinking && asksForThoughts(request.thinking))
    return 'thinking';
  const effort = request.extra.reasoning_effort;
  if (effort === undefined || !supports.translates?.includes('reasoning_effort')) return null;
  return mapping.thinking && isEffort(effort) ? null : 'reasoning_effort';
}

/**
 * The families of `upstream` that support the whole request; never one without chat. Throws `unsupported_parameter` with the
 * first family's field if there are families and none supports it.
 */
export function familiesTaking(
  upstream: Readonly<Record<string, MappingLimits>>,
  supportsOf: (family: string, api: UpstreamMapping['api'], vendor: string | undefined) => ChatSupports | undefined,
  clientRequest: ChatRequest,
): string[] {
  const judged = Object.entries(upstream).flatMap(([family, mapping]) => {
    const ofFamily = supportsOf(family, mapping.api, mapping.vendor);
    if (!ofFamily) return [];
    const supports = { ...ofFamily, ...(mapping.tools_max !== undefined && { toolsMax: mapping.tools_max }) };
    const request = withoutUnsent(carriedBy(mapping, supports, clientRequest).request, mapping.parameters ?? {});
    const passThrough = passedThrough(mapping, supports, request);
    const field = unsupportedByMapping(mapping, supports, request) ?? unsupportedBy(supports, request, passThrough);
    return [{ family, field, supports }];
  });
  const able = judged.filter(({ field }) => field === null).map(({ family }) => family);
  const [first] = judged;
  const param = first?.field?.slice(0, 100);
  if (able.length > 0 || !first || param === undefined) return able;
  throw new GatewayError('unsupported_parameter', {
    param,
    message: refusalOf(param, first.supports, clientRequest),
  });
}
