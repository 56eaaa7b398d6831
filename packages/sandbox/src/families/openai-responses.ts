import { complaintAboutDocuments, openaiDocuments, tokensPerPage } from '../documents.ts';
import type { StreamWords } from '../chat-stream.ts';
import type { FamilyCall, Refusals, Reply } from '../family.ts';
import {
  answerChat,
  hashOf,
  offeredTools,
  objectOf,
  objectsOf,
  strangeField,
  textOfParts,
  type ChatAnswered,
  type ChatRequest,
  type Fields,
  type ToolCalled,
} from '../chat.ts';
import { cameWith, partsIn } from '../earlier-calls.ts';
import { lackedEffort, tooManyTools } from './chat-model-limits.ts';
import { stringOf } from '../media-family.ts';

/** What the real API accepts of the fields that the gateway may send. */
const acceptedFields =
  'model input max_output_tokens temperature top_p user reasoning text tools tool_choice parallel_tool_calls store ' +
  'stream metadata prompt_cache_key service_tier include instructions safety_identifier ' +
  'truncation prompt_cache_retention prompt_cache_options';

/** OpenAI's Responses API, as the types of `openai` 7.57.0 describe it (read on 2026-11-22). */
export function answerResponses(
  call: FamilyCall,
  refusals: Refusals,
  problem: (status: number, code: string, message: string) => Reply,
): Reply {
  const input = objectOf(call.body);
  if (!input) return problem(400, 'invalid_json', 'We could not parse the JSON body of your request.');
  const unknownField = strangeField(input, acceptedFields);
  if (unknownField !== undefined) return problem(400, 'unknown_parameter', `Unknown parameter: '${unknownField}'.`);
  if (typeof input.max_output_tokens === 'number' && input.max_output_tokens < 16)
    return problem(400, 'integer_below_min_value', "Invalid 'max_output_tokens': integer below minimum value.");
  if (objectsOf(input.input).length === 0) return problem(400, 'missing_required_parameter', "Missing 'input'.");
  const effortComplaint = lackedEffort(stringOf(input.model), objectOf(input.reasoning)?.effort);
  if (effortComplaint !== null) return problem(400, 'unsupported_value', effortComplaint);
  const toolsComplaint = tooManyTools(stringOf(input.model), input.tools);
  if (toolsComplaint !== null) return problem(400, 'array_above_max_length', toolsComplaint);
  const unanswered = unansweredCall(objectsOf(input.input));
  if (unanswered !== undefined)
    return problem(400, 'invalid_value', `No tool output found for function call ${unanswered}.`);
  if (objectsOf(input.input).some(hasChangedThoughts))
    return problem(400, 'invalid_encrypted_content', 'The encrypted content could not be verified.');
  const documentsComplaint = complaintAboutDocuments(documentsIn(input));
  if (documentsComplaint !== null) return problem(400, 'invalid_value', documentsComplaint);
  return answerChat(call, toRequest(input), {
    refusals,
    answer: (answered) => toResponse(call, input, answered),
    stream: input.stream === true ? streamWords(call, input) : undefined,
  });
}

/**
 * The encrypted content is a hash of the summary, so that a change of either is noticed when both come back. The real API reads the encrypted
 * content alone: clients such as genai for Rust send it back with an empty summary.
 */
const encrypted = (thoughts: string) => `enc_${hashOf(thoughts)}`;
const hasChangedThoughts = ({ type, summary, encrypted_content: content }: Fields) =>
  type === 'reasoning' &&
  content !== undefined &&
  content !== encrypted(textOfParts(summary)) &&
  !(objectsOf(summary).length === 0 && /^enc_[0-9a-f]{8}$/.test(stringOf(content)));

const toReasoning = (thoughts: string): Fields => ({
  id: 'rs_sbx',
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: thoughts }],
  encrypted_content: encrypted(thoughts),
});

const isCustom = ({ name }: ToolCalled, { tools }: Fields): boolean =>
  objectsOf(tools).some((tool) => tool.type === 'custom' && tool.name === name);

/** A custom tool is called with its text, which the script gives as `input`. */
function toCall(tool: ToolCalled, input: Fields, status: 'in_progress' | 'completed'): Fields {
  const text = status === 'completed' ? textOfCall(tool, input) : '';
  const named = { status, call_id: tool.id, name: tool.name };
  return isCustom(tool, input)
    ? { id: `ctc_${hashOf(tool.id)}`, type: 'custom_tool_call', ...named, input: text }
    : { id: `fc_${hashOf(tool.id)}`, type: 'function_call', ...named, arguments: text };
}
const textOfCall = (tool: ToolCalled, input: Fields): string =>
  isCustom(tool, input) ? stringOf(tool.arguments.input) : JSON.stringify(tool.arguments);

const toResponse = (
  call: FamilyCall,
  input: Fields,
  { text, tools, finish, usage, thoughts }: ChatAnswered,
): Fields => ({
  id: `resp_sbx${hashOf(call.body)}`,
  object: 'response',
  created_at: Math.floor(Date.now() / 1_000),
  status: finish === 'length' ? 'incomplete' : 'completed',
  error: null,
  incomplete_details: finish === 'length' ? { reason: 'max_output_tokens' } : null,
  model: input.model,
  output: [
    ...(thoughts === '' ? [] : [toReasoning(thoughts)]),
    ...(text === '' ? [] : [toMessage(text)]),
    ...tools.map((tool) => toCall(tool, input, 'completed')),
  ],
  store: false,
  ...(usage && {
    usage: {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: usage.written },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: usage.thoughts },
      total_tokens: usage.input + usage.output,
    },
  }),
});

/** Events as https://platform.openai.com/docs/api-reference/responses-streaming describes them (read on 2026-11-22). */
const streamWords =
  (call: FamilyCall, input: Fields) =>
  (answered: ChatAnswered): StreamWords => {
    const event = (type: string, members: Fields) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
    const { tools, thoughts } = answered;
    let isThinking = false;
    /** The event that ends the thoughts, where they were the last piece. */
    const endOfThoughts = () => {
      const item = toReasoning(thoughts);
      return isThinking ? event('response.output_item.done', { output_index: 0, item }) : '';
    };
    const called = tools.flatMap((tool, index) => {
      const position = { output_index: index + 2 };
      const kind = isCustom(tool, input) ? 'custom_tool_call_input' : 'function_call_arguments';
      const text = textOfCall(tool, input);
      return [
        event('response.output_item.added', { ...position, item: toCall(tool, input, 'in_progress') }),
        ...[text.slice(0, 3), text.slice(3)].map((delta) => event(`response.${kind}.delta`, { ...position, delta })),
        event('response.output_item.done', { ...position, item: toCall(tool, input, 'completed') }),
      ];
    });
    const ending = answered.finish === 'length' ? 'response.incomplete' : 'response.completed';
    return {
      open: event('response.created', { response: { object: 'response', status: 'in_progress', output: [] } }),
      piece(delta, isThought) {
        const before = isThought ? '' : endOfThoughts();
        isThinking = isThought;
        return isThought
          ? event('response.reasoning_summary_text.delta', { output_index: 0, summary_index: 0, delta })
          : before + event('response.output_text.delta', { output_index: 1, content_index: 0, delta });
      },
      get close() {
        return [endOfThoughts(), ...called, event(ending, { response: toResponse(call, input, answered) })].join('');
      },
      error: event('error', { code: 'server_error', message: 'The server had an error.', param: null }),
    };
  };

const toMessage = (text: string) => ({
  id: 'msg_sbx',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});

const callTypes = ['function_call', 'custom_tool_call'];
const isCall = ({ type }: Fields): boolean => callTypes.includes(stringOf(type));
const resultTypes = callTypes.map((type) => `${type}_output`);
const isResult = ({ type }: Fields): boolean => resultTypes.includes(stringOf(type));

/** The first call of the conversation without an output. The real API refuses such a conversation. */
function unansweredCall(items: Fields[]): string | undefined {
  const answered = items.filter(isResult).map(({ type, call_id: id }) => `${stringOf(type)} ${stringOf(id)}`);
  const unanswered = items
    .filter(isCall)
    .find(({ type, call_id: id }) => !answered.includes(`${stringOf(type)}_output ${stringOf(id)}`));
  return unanswered && stringOf(unanswered.call_id);
}

const documentsIn = (input: Fields) =>
  objectsOf(input.input).flatMap(({ content, output }) => [...openaiDocuments(content), ...openaiDocuments(output)]);

function toRequest(input: Fields): ChatRequest {
  const choice = objectOf(input.tool_choice);
  const format = objectOf(objectOf(input.text)?.format);
  return {
    messages: objectsOf(input.input).flatMap(toMessages),
    stops: [],
    documents: { heard: documentsIn(input), tokensPerPage: tokensPerPage.openai },
    signed: objectsOf(input.input).filter(({ encrypted_content: content }) => content !== undefined).length,
    maxTokens: typeof input.max_output_tokens === 'number' ? input.max_output_tokens : 4_096,
    cameWith: cameWith({
      parts: objectsOf(input.input).flatMap((item) => [item, ...partsIn(item.content), ...partsIn(item.output)]),
      callId: (item) => (isCall(item) ? item.call_id : undefined),
      resultId: (item) => (isResult(item) ? item.call_id : undefined),
      isPicture: ({ type }) => type === 'input_image',
    }),
    tools: offeredTools(objectsOf(input.tools)),
    forced: typeof choice?.name === 'string' ? { name: choice.name } : input.tool_choice === 'required' ? 'any' : null,
    schema:
      format?.type === 'json_schema' ? (objectOf(format.schema) ?? {}) : format?.type === 'json_object' ? {} : null,
  };
}

function toMessages(item: Fields): ChatRequest['messages'] {
  const { role, content, output } = item;
  if (isResult(item)) return [{ role: 'tool', text: textOfParts(output) }];
  if (isCall(item)) return [{ role: 'assistant', text: '' }];
  const supportedRole = role === 'assistant' || role === 'user' ? role : 'system';
  return [{ role: supportedRole, text: textOfParts(content) }];
}
