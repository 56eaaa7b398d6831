import type { ServerResponse } from 'node:http';
import type { JsonObject } from '../../src/domain/json.ts';

/** Counts as a provider reports them. */
export interface WireUsage {
  input: number;
  output: number;
  /** The part of the output that is thoughts. */
  thoughts?: number;
}

/** Why a provider's answer ends. */
export type WireFinish = 'stop' | 'length' | 'filter' | 'failed';

/** How a provider of one family writes a streamed answer and a whole one, for tests that script each event of it. */
export interface FamilyWire {
  adapter: 'openai' | 'anthropic' | 'gemini';
  /** A model of the shipped catalog that this family serves. */
  model: string;
  /** The events before the first piece. */
  open(input: number | null): string;
  text(text: string): string;
  thought(text: string): string;
  /** A piece of a tool call. The first piece of each index begins it. */
  call(index: number, piece: string, isFirst: boolean): string;
  /** Counts in the middle of the answer. Null if the family reports none there. */
  interim: ((usage: WireUsage) => string) | null;
  /** The last events. */
  end(finish: WireFinish, usage: WireUsage | null): string;
  /** The same answer as one JSON object. */
  whole(text: string, finish: WireFinish, usage: WireUsage | null): JsonObject;
}

const event = (json: JsonObject): string => `data: ${JSON.stringify(json)}\n\n`;
const typed = (type: string, members: JsonObject = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;

const openaiChunk = (delta: JsonObject, more: JsonObject = {}): string =>
  event({ object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: null }], ...more });
const openaiUsage = ({ input, output, thoughts }: WireUsage): JsonObject => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  ...(thoughts !== undefined && { completion_tokens_details: { reasoning_tokens: thoughts } }),
});
const openaiFinish = { stop: 'stop', length: 'length', filter: 'content_filter', failed: 'network_error' };

const openai: FamilyWire = {
  adapter: 'openai',
  model: 'gpt-5-mini',
  open: () => openaiChunk({ role: 'assistant', content: '' }),
  text: (content) => openaiChunk({ content }),
  thought: (reasoning_content) => openaiChunk({ reasoning_content }),
  call: (index, piece, isFirst) =>
    openaiChunk({
      tool_calls: [
        {
          index,
          ...(isFirst && { id: `call_${index}_of_test`, type: 'function' }),
          function: { ...(isFirst && { name: `tool_${index}` }), arguments: piece },
        },
      ],
    }),
  interim: (usage) => openaiChunk({}, { usage: openaiUsage(usage) }),
  end: (finish, usage) =>
    event({ choices: [{ index: 0, delta: {}, finish_reason: openaiFinish[finish] }] }) +
    (usage ? event({ choices: [], usage: openaiUsage(usage) }) : '') +
    'data: [DONE]\n\n',
  whole: (content, finish, usage) => ({
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: openaiFinish[finish] }],
    ...(usage && { usage: openaiUsage(usage) }),
  }),
};

const responsesStatus = { stop: 'completed', length: 'incomplete', filter: 'incomplete', failed: 'failed' };
const responsesWhole = (text: string, finish: WireFinish, usage: WireUsage | null): JsonObject => ({
  object: 'response',
  status: responsesStatus[finish],
  error: finish === 'failed' ? { code: 'server_error', message: 'It failed.' } : null,
  incomplete_details:
    finish === 'stop' || finish === 'failed'
      ? null
      : { reason: finish === 'length' ? 'max_output_tokens' : 'content_filter' },
  output: text === '' ? [] : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }],
  ...(usage && {
    usage: {
      input_tokens: usage.input,
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: usage.thoughts ?? 0 },
    },
  }),
});

const responses: FamilyWire = {
  adapter: 'openai',
  model: 'gpt-6-luna',
  open: () => typed('response.created', { response: { object: 'response', status: 'in_progress', output: [] } }),
  text: (delta) => typed('response.output_text.delta', { output_index: 0, content_index: 0, delta }),
  thought: (delta) => typed('response.reasoning_summary_text.delta', { output_index: 0, summary_index: 0, delta }),
  call: (index, delta, isFirst) => {
    const item = { type: 'function_call', call_id: `call_${index}_of_test`, name: `tool_${index}`, arguments: '' };
    return (
      (isFirst ? typed('response.output_item.added', { output_index: index, item }) : '') +
      typed('response.function_call_arguments.delta', { output_index: index, delta })
    );
  },
  interim: null,
  end: (finish, usage) => typed(`response.${responsesStatus[finish]}`, { response: responsesWhole('', finish, usage) }),
  whole: responsesWhole,
};

const anthropicUsage = ({ input, output, thoughts }: WireUsage): JsonObject => ({
  input_tokens: input,
  output_tokens: output,
  ...(thoughts !== undefined && { output_tokens_details: { thinking_tokens: thoughts } }),
});
const anthropicStop = { stop: 'end_turn', length: 'max_tokens', filter: 'refusal', failed: 'network_error' };

const anthropic: FamilyWire = {
  adapter: 'anthropic',
  model: 'claude-sonnet-4.5',
  open: (input) =>
    typed('message_start', {
      message: {
        type: 'message',
        content: [],
        ...(input !== null && { usage: { input_tokens: input, output_tokens: 1 } }),
      },
    }),
  text: (text) => typed('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  thought: (thinking) => typed('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking } }),
  call: (index, partial_json, isFirst) => {
    const block = { type: 'tool_use', id: `toolu_${index}`, name: `tool_${index}`, input: {} };
    return (
      (isFirst ? typed('content_block_start', { index: index + 1, content_block: block }) : '') +
      typed('content_block_delta', { index: index + 1, delta: { type: 'input_json_delta', partial_json } })
    );
  },
  interim: (usage) => typed('message_delta', { delta: {}, usage: anthropicUsage(usage) }),
  end: (finish, usage) =>
    typed('message_delta', {
      delta: { stop_reason: anthropicStop[finish] },
      ...(usage && { usage: anthropicUsage(usage) }),
    }) + typed('message_stop'),
  whole: (text, finish, usage) => ({
    type: 'message',
    content: [{ type: 'text', text }],
    stop_reason: anthropicStop[finish],
    ...(usage && { usage: anthropicUsage(usage) }),
  }),
};

const geminiUsage = ({ input, output, thoughts = 0 }: WireUsage): JsonObject => ({
  promptTokenCount: input,
  candidatesTokenCount: output - thoughts,
  thoughtsTokenCount: thoughts,
});
const geminiFinish = { stop: 'STOP', length: 'MAX_TOKENS', filter: 'SAFETY', failed: 'MALFORMED_FUNCTION_CALL' };
const geminiParts = (parts: JsonObject[], candidate: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { role: 'model', parts }, ...candidate }],
  ...more,
});

const gemini: FamilyWire = {
  adapter: 'gemini',
  model: 'gemini-2.5-flash',
  open: () => '',
  text: (text) => event(geminiParts([{ text }])),
  thought: (text) => event(geminiParts([{ text, thought: true }])),
  // Gemini sends each call whole.
  call: (index, piece, isFirst) =>
    isFirst ? event(geminiParts([{ functionCall: { name: `tool_${index}`, args: { piece } } }])) : '',
  interim: (usage) => event(geminiParts([], {}, { usageMetadata: geminiUsage(usage) })),
  end: (finish, usage) =>
    event(geminiParts([], { finishReason: geminiFinish[finish] }, usage ? { usageMetadata: geminiUsage(usage) } : {})),
  whole: (text, finish, usage) =>
    geminiParts([{ text }], { finishReason: geminiFinish[finish] }, usage ? { usageMetadata: geminiUsage(usage) } : {}),
};

/** Every form in which providers answer chats. The family `openai` has two. */
export const familyWires = { openai, responses, anthropic, gemini } satisfies Record<string, FamilyWire>;
export type FamilyName = keyof typeof familyWires;

/** Begins a streamed answer. */
export function beginEvents(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
}
