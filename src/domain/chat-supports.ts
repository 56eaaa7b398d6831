import type { UpstreamMapping } from './catalog.ts';
import { isDataUri, listImages, withoutUnsent, type ChatRequest } from './chat.ts';
import { GatewayError } from './errors.ts';
import { passThroughDefault, withoutEffect } from './pass-through.ts';

/** The parts of a chat request that one provider family supports, beyond messages, tools and the usual parameters. */
export interface ChatSupports {
  /** Images by https URL. All families accept `data:` URIs. */
  httpsImages: boolean;
  jsonObject: boolean;
  jsonSchema: boolean;
  seed: boolean;
  topK: boolean;
  /** Whether parallel tool calls can be switched off. */
  serialToolCalls: boolean;
  /** The most stop sequences. */
  stopMax: number;
  /** Whether listed further fields are passed through. */
  extra: boolean;
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
  const fields: [field: string, isSupported: boolean][] = [
    ['messages', supports.httpsImages || listImages(request).every(({ url }) => isDataUri(url))],
    ['response_format', supports.jsonObject || request.responseFormat?.type !== 'json_object'],
    ['response_format', supports.jsonSchema || request.responseFormat?.type !== 'json_schema'],
    ['seed', supports.seed || request.seed === undefined],
    ['top_k', supports.topK || request.topK === undefined],
    ['parallel_tool_calls', supports.serialToolCalls || request.parallelToolCalls !== false],
    ['stop', (request.stop?.length ?? 0) <= supports.stopMax],
    ...furtherFields(supports, request).map((field): [string, boolean] => [
      field,
      (supports.extra ? passThrough : withoutEffect).includes(field),
    ]),
  ];
  return fields.find(([, isSupported]) => !isSupported)?.[0] ?? null;
}

/** A family that translates `parallel_tool_calls` takes it without a list. */
const furtherFields = ({ extra }: ChatSupports, request: ChatRequest): string[] =>
  Object.keys(
    extra && request.parallelToolCalls !== undefined
      ? { ...request.extra, parallel_tool_calls: request.parallelToolCalls }
      : request.extra,
  );

/**
 * The families of `upstream` that support the whole request; never one without chat. Throws `unsupported_parameter` with the
 * first family's field if there are families and none supports it.
 */
export function familiesTaking(
  upstream: Readonly<Record<string, Partial<Pick<UpstreamMapping, 'pass_through' | 'parameters' | 'fixed'>>>>,
  supportsOf: (family: string) => ChatSupports | undefined,
  request: ChatRequest,
): string[] {
  const judged = Object.entries(upstream).flatMap(([family, { parameters = {}, fixed = {}, ...mapping }]) => {
    const supports = supportsOf(family);
    // A client that asks for another value of a fixed field would not get it.
    const passThrough = (mapping.pass_through ?? passThroughDefault).filter((field) => !Object.hasOwn(fixed, field));
    return supports
      ? [{ family, field: unsupportedBy(supports, withoutUnsent(request, parameters), passThrough) }]
      : [];
  });
  const able = judged.filter(({ field }) => field === null).map(({ family }) => family);
  const param = judged[0]?.field?.slice(0, 100);
  if (able.length > 0 || param === undefined) return able;
  throw new GatewayError('unsupported_parameter', {
    param,
    message: `This model does not support the field ${param}, or not with this value.`,
  });
}
