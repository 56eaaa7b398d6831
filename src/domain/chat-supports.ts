import { isDataUri, listImages, type ChatRequest } from './chat.ts';
import { GatewayError } from './errors.ts';

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
  /** Whether unknown fields are passed on. */
  extra: boolean;
}

/** The first field that a family does not support, or null. Checked before credits are held (rules "Chat"). */
export function unsupportedBy(supports: ChatSupports, request: ChatRequest): string | null {
  const fields: [field: string, isSupported: boolean][] = [
    ['messages', supports.httpsImages || listImages(request).every(({ url }) => isDataUri(url))],
    ['response_format', supports.jsonObject || request.responseFormat?.type !== 'json_object'],
    ['response_format', supports.jsonSchema || request.responseFormat?.type !== 'json_schema'],
    ['seed', supports.seed || request.seed === undefined],
    ['top_k', supports.topK || request.topK === undefined],
    ['parallel_tool_calls', supports.serialToolCalls || request.parallelToolCalls !== false],
    ['stop', (request.stop?.length ?? 0) <= supports.stopMax],
    [Object.keys(request.extra)[0] ?? '', supports.extra || Object.keys(request.extra).length === 0],
  ];
  return fields.find(([, isSupported]) => !isSupported)?.[0] ?? null;
}

/**
 * The families among `families` that support the whole request; never one without chat. Throws `unsupported_parameter` with the
 * first family's field if there are families and none supports it.
 */
export function familiesTaking(
  families: readonly string[],
  supportsOf: (family: string) => ChatSupports | undefined,
  request: ChatRequest,
): string[] {
  const judged = families.flatMap((family) => {
    const supports = supportsOf(family);
    return supports ? [{ family, field: unsupportedBy(supports, request) }] : [];
  });
  const able = judged.filter(({ field }) => field === null).map(({ family }) => family);
  const param = judged[0]?.field?.slice(0, 100);
  if (able.length > 0 || param === undefined) return able;
  throw new GatewayError('unsupported_parameter', {
    param,
    message: `This model does not support the field ${param}, or not with this value.`,
  });
}
