import type { z } from 'zod';
import {
  checkConversation,
  toLength,
  type ChatMessage,
  type ChatRequest,
  type ResponseFormat,
} from '../../../domain/chat/chat.ts';
import { GatewayError } from '../../../domain/errors.ts';
import type { JsonObject, JsonValue } from '../../../domain/json.ts';
import type { Thinking } from '../../../domain/chat/thoughts.ts';
import { nonNullFields, isNonNull, withoutHarmless, type HarmlessValues } from '../chat-fields.ts';
import { inWords } from '../dialect-words.ts';
import { readBody, strictly, VendorFieldCollector, type Reading } from '../reading.ts';
import { leftOutHistory, leftOutTools } from '../provider-tools.ts';
import { responsesFields, ResponsesBody, responsesRules } from './responses-fields.ts';
import { messagesOfInput } from './responses-input.ts';
import { chosenTools } from '../offered-tools.ts';
import { offeredTools, type ToolList } from './responses-tools.ts';

/**
 * Reads a Responses request. Throws `missing_parameter`, `invalid_value` or `unsupported_parameter` with `param`. Null in an optional
 * field means absent. Nothing is stored, so a request that needs an earlier response is refused. Without a `temperature` the model's own
 * applies, as at OpenAI.
 */
export function readResponses(body: JsonObject, reading: Reading = strictly): ChatRequest {
  const unread = reading.isStrict ? [] : withoutFurtherIncludes(body);
  const { parsed, leftOut } = readBody(ResponsesBody, body, responsesRules, reading);
  const own = new VendorFieldCollector();
  own.add(
    nonNullFields({ context: parsed.reasoning?.context === 'auto' ? null : parsed.reasoning?.context }),
    'reasoning',
  );
  const extra = furtherFields(parsed, own);
  const { tools, toolChoice, providerRun } = chosenTools(parsed.tool_choice, offeredTools(toolLists(parsed)));
  const unoffered = leftOutTools(providerRun, { ...reading, isForced: toolChoice === 'required' });
  const input = messagesOfInput(parsed.input, { own, tools });
  const unsaid = leftOutHistory(input.providerRun, reading);
  const messages: ChatMessage[] = [
    ...(parsed.instructions ? [{ role: 'system' as const, content: parsed.instructions }] : []),
    ...input.messages,
  ];
  checkConversation(messages, 'input');
  const { effort } = parsed.reasoning ?? {};
  const { format, verbosity } = parsed.text ?? {};
  return {
    model: parsed.model,
    messages,
    tools,
    ...toLength(parsed.max_output_tokens),
    ...nonNullFields({
      toolChoice,
      parallelToolCalls: parsed.parallel_tool_calls,
      responseFormat: format && toFormat(format),
      temperature: parsed.temperature,
      topP: parsed.top_p,
      user: parsed.safety_identifier ?? parsed.user,
      thinking: toThinking(parsed),
      vendor: own.toVendor('responses'),
      leftOut: leftOut && [...unread, ...leftOut, ...unoffered, ...unsaid],
    }),
    extra: { ...extra, ...nonNullFields({ reasoning_effort: effort, verbosity }) },
  };
}

/**
 * Removes what `include` asks of tools that the provider runs, and returns the paths. What it asks of the answer itself stays, so that it is
 * refused.
 */
function withoutFurtherIncludes(body: JsonObject): string[] {
  const { include } = body;
  if (!Array.isArray(include)) return [];
  const isLeftOut = (one: JsonValue): boolean =>
    typeof one === 'string' && !/^(reasoning\.encrypted_content|message\.output_text\.)/.test(one);
  body['include'] = include.filter((one) => !isLeftOut(one));
  return include.flatMap((one, index) => (isLeftOut(one) ? [`include.${index}`] : []));
}

/** Refusals of the shared checks in the words of the Responses API. */
export const inResponsesWords = (error: unknown): unknown => inWords(responsesWords, error);

export const responsesWords = {
  messages: 'input',
  max_tokens: 'max_output_tokens',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  verbosity: 'text.verbosity',
  'tools.*.function.parameters': 'tools.*.parameters',
};

/** Values that change nothing. A field with such a value is accepted and not sent. */
const harmless: HarmlessValues = {
  store: [false],
  background: [false],
  truncation: ['disabled'],
  service_tier: ['auto', 'default'],
  top_logprobs: [0],
};

/** What OpenAI alone knows, and what changes neither the answer nor its price. */
const ownFields: readonly string[] = ['prompt_cache_retention', 'prompt_cache_options', 'truncation'];
const withoutEffect: readonly string[] = ['client_metadata'];

/** Fields that need a store of responses, a tool that the provider runs, or a shape of the answer that is not written. */
const refusedFields: Readonly<Record<string, string>> = {
  store: 'Responses are not stored here: store must be false or absent.',
  background: 'Responses are not stored here: background must be false or absent.',
  previous_response_id:
    'Responses are not stored here: send the earlier items in input instead of previous_response_id. Clients do so ' +
    'once they are told that nothing is stored (Microsoft.Extensions.AI: StoredOutputEnabled, Agent Framework: store, VS Code: statefulResponses, LiveKit: store and use_websocket, each false).',
  conversation: 'Conversations are not stored here: send the earlier items in input.',
  prompt: 'Prompts are not stored here: send their text in instructions or input.',
  top_logprobs: 'The field top_logprobs is not supported, or not with this value.',
};

/** The fields that are neither read here nor harmless: each channel's list decides about them. */
function furtherFields(parsed: z.infer<typeof ResponsesBody>, own: VendorFieldCollector): JsonObject {
  const unread = Object.fromEntries(
    Object.entries(parsed).filter(
      (entry): entry is [string, JsonValue] => isNonNull(entry[1]) && !Object.hasOwn(responsesFields, entry[0]),
    ),
  );
  const further = withoutHarmless(unread, harmless);
  for (const param of Object.keys(further)) {
    const message = Object.hasOwn(refusedFields, param) ? refusedFields[param] : undefined;
    // After this code of OpenAI's, GitHub Copilot sends the whole conversation.
    const code = param === 'previous_response_id' ? 'previous_response_not_found' : 'unsupported_parameter';
    if (message !== undefined) throw new GatewayError(code, { param, message });
  }
  const isOf = (list: readonly string[]) => Object.entries(further).filter(([field]) => list.includes(field));
  own.add(Object.fromEntries(isOf(ownFields)));
  const taken = [...ownFields, ...withoutEffect];
  return Object.fromEntries(Object.entries(further).filter(([field]) => !taken.includes(field)));
}

/** Tools may also come in the conversation. */
const toolLists = ({ tools, input }: z.infer<typeof ResponsesBody>): ToolList[] => [
  ...(tools ? [{ path: 'tools', tools }] : []),
  ...(typeof input === 'string' ? [] : input).flatMap((item, index) =>
    item.type === 'additional_tools' ? [{ path: `input.${index}.tools`, tools: item.tools }] : [],
  ),
];

function toFormat(format: NonNullable<NonNullable<z.infer<typeof ResponsesBody>['text']>['format']>): ResponseFormat {
  if (format.type !== 'json_schema') return format;
  const { type, name, schema, description, strict } = format;
  return { type, name, schema, ...nonNullFields({ description, strict }) };
}

function toThinking({ reasoning, include }: z.infer<typeof ResponsesBody>): Thinking | undefined {
  const summary = reasoning?.summary ?? reasoning?.generate_summary;
  const isSigned = include?.includes('reasoning.encrypted_content') ?? false;
  if (!isNonNull(summary) && !isSigned) return undefined;
  return { ...nonNullFields({ summary }), ...(isSigned && { isSigned }) };
}
