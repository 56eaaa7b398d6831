import type { StreamWords } from '../chat-stream.ts';
import type { FamilyCall, Refusals, Reply } from '../family.ts';
import {
  answerChat,
  hashOf,
  namesOf,
  objectOf,
  objectsOf,
  strangeField,
  textOfParts,
  type ChatAnswered,
  type ChatAsked,
  type Fields,
} from '../chat.ts';
import { stringOf } from '../media-family.ts';

/** What the real API accepts of the fields that the gateway may send. */
const knownFields =
  'model input max_output_tokens temperature top_p user reasoning text tools tool_choice parallel_tool_calls store ' +
  'stream metadata prompt_cache_key service_tier include instructions safety_identifier';

/** OpenAI's Responses API, as the types of `openai` 7.57.0 describe it (read on 2026-11-22). */
export function answerResponses(
  call: FamilyCall,
  refusals: Refusals,
  problem: (status: number, code: string, message: string) => Reply,
): Reply {
  const input = objectOf(call.body);
  if (!input) return problem(400, 'invalid_json', 'We could not parse the JSON body of your request.');
  const strange = strangeField(input, knownFields);
  if (strange !== undefined) return problem(400, 'unknown_parameter', `Unknown parameter: '${strange}'.`);
  if (objectsOf(input.input).length === 0) return problem(400, 'missing_required_parameter', "Missing 'input'.");
  const unanswered = unansweredCall(objectsOf(input.input));
  if (unanswered !== undefined)
    return problem(400, 'invalid_value', `No tool output found for function call ${unanswered}.`);
  return answerChat(call, toAsked(input), {
    refusals,
    answer: (answered) => toResponse(call, input.model, answered),
    stream: input.stream === true ? streamWords(call, input.model) : undefined,
  });
}

const toResponse = (
  call: FamilyCall,
  model: unknown,
  { text, tool, finish, usage, thoughts }: ChatAnswered,
): Fields => ({
  id: `resp_sbx${hashOf(call.body)}`,
  object: 'response',
  created_at: Math.floor(Date.now() / 1_000),
  status: finish === 'length' ? 'incomplete' : 'completed',
  error: null,
  incomplete_details: finish === 'length' ? { reason: 'max_output_tokens' } : null,
  model,
  output: [
    ...(thoughts === ''
      ? []
      : [{ id: 'rs_sbx', type: 'reasoning', summary: [{ type: 'summary_text', text: thoughts }] }]),
    ...(text === '' ? [] : [toMessage(text)]),
    ...(tool
      ? [
          {
            ...{ id: `fc_${hashOf(tool.id)}`, type: 'function_call', status: 'completed' },
            ...{ call_id: tool.id, name: tool.name, arguments: JSON.stringify(tool.arguments) },
          },
        ]
      : []),
  ],
  store: false,
  ...(usage && {
    usage: {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: 0 },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: usage.thoughts },
      total_tokens: usage.input + usage.output,
    },
  }),
});

/** Events as https://platform.openai.com/docs/api-reference/responses-streaming describes them (read on 2026-11-22). */
const streamWords =
  (call: FamilyCall, model: unknown) =>
  (answered: ChatAnswered): StreamWords => {
    const event = (type: string, members: Fields) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
    const { tool } = answered;
    const given = JSON.stringify(tool?.arguments ?? {});
    const called = tool
      ? [
          event('response.output_item.added', {
            output_index: 1,
            item: { type: 'function_call', call_id: tool.id, name: tool.name, arguments: '' },
          }),
          ...[given.slice(0, 3), given.slice(3)].map((delta) =>
            event('response.function_call_arguments.delta', { output_index: 1, delta }),
          ),
        ]
      : [];
    const ending = answered.finish === 'length' ? 'response.incomplete' : 'response.completed';
    return {
      open: event('response.created', { response: { object: 'response', status: 'in_progress', output: [] } }),
      piece: (delta, isThought) =>
        isThought
          ? event('response.reasoning_summary_text.delta', { output_index: 0, summary_index: 0, delta })
          : event('response.output_text.delta', { output_index: 0, content_index: 0, delta }),
      close: [...called, event(ending, { response: toResponse(call, model, answered) })].join(''),
      error: event('error', { code: 'server_error', message: 'The server had an error.', param: null }),
    };
  };

const toMessage = (text: string) => ({
  ...{ id: 'msg_sbx', type: 'message', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text, annotations: [] }],
});

/** The first call of the conversation without an output. The real API refuses such a conversation. */
function unansweredCall(items: Fields[]): string | undefined {
  const idsOf = (wanted: string) => items.flatMap(({ type, call_id: id }) => (type === wanted ? [stringOf(id)] : []));
  const answered = idsOf('function_call_output');
  return idsOf('function_call').find((id) => !answered.includes(id));
}

function toAsked(input: Fields): ChatAsked {
  const choice = objectOf(input.tool_choice);
  const format = objectOf(objectOf(input.text)?.format);
  return {
    messages: objectsOf(input.input).flatMap(toMessages),
    maxTokens: typeof input.max_output_tokens === 'number' ? input.max_output_tokens : 4_096,
    tools: namesOf(objectsOf(input.tools)),
    forced: typeof choice?.name === 'string' ? { name: choice.name } : input.tool_choice === 'required' ? 'any' : null,
    schema:
      format?.type === 'json_schema' ? (objectOf(format.schema) ?? {}) : format?.type === 'json_object' ? {} : null,
  };
}

function toMessages({ type, role, content, output }: Fields): ChatAsked['messages'] {
  if (type === 'function_call_output') return [{ role: 'tool', text: textOfParts(output) }];
  if (type === 'function_call') return [{ role: 'assistant', text: '' }];
  const known = role === 'assistant' || role === 'user' ? role : 'system';
  return [{ role: known, text: textOfParts(content) }];
}
