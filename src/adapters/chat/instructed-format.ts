import type { ChatContent, ChatMessage, UpstreamChat } from '../../domain/chat/chat.ts';
import type { VendorRules } from '../../domain/chat/vendor-rules.ts';

type Formats = VendorRules['formats'];

export const anthropicFormats = 'schema_only';

/** The request with an instruction in place of a format to which its vendor cannot hold the model. */
export function withFormat(formats: Formats, request: UpstreamChat): UpstreamChat {
  const instruction = instructionFor(formats, request);
  if (instruction === null) return request;
  const { responseFormat: _, ...others } = request;
  return {
    ...others,
    messages: withInstruction(request.messages, instruction),
    ...(formats === 'object' && { responseFormat: { type: 'json_object' } }),
  };
}

/** What the client should know about such an instruction. */
export const formatWarnings = (formats: Formats, request: UpstreamChat): string[] =>
  instructionFor(formats, request) === null
    ? []
    : ['The model was told the format in its instructions and is not held to it.'];

/**
 * What tells the model about a format to which its vendor cannot hold it; null if it can. The routes of the specification send formats as they
 * are, as they always did.
 */
function instructionFor(formats: Formats, { responseFormat: format, isOfSpec }: UpstreamChat): string | null {
  if (isOfSpec) return null;
  if (format?.type === 'json_object' && (formats === 'none' || formats === 'schema_only'))
    return 'Answer with one JSON object and nothing else.';
  if (format?.type !== 'json_schema' || formats === 'schema' || formats === 'schema_only') return null;
  return `Answer with JSON and nothing else. It must match this JSON schema: ${JSON.stringify(format.schema)}`;
}

/** The instruction is the end of the first system message, or a system message before all others. */
function withInstruction(messages: ChatMessage[], instruction: string): ChatMessage[] {
  const at = messages.findIndex(({ role }) => role === 'system' || role === 'developer');
  const first = messages[at];
  if (first?.role !== 'system' && first?.role !== 'developer')
    return [{ role: 'system', content: instruction }, ...messages];
  const content: ChatContent =
    typeof first.content === 'string'
      ? `${first.content}\n\n${instruction}`
      : [...first.content, { type: 'text', text: instruction }];
  return messages.with(at, { ...first, content });
}
