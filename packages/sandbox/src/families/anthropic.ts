import { anthropicDocuments, complaintAboutDocuments, tokensPerPage } from '../documents.ts';
import type { StreamWords } from '../chat-stream.ts';
import { json, listPage, type Family, type Reply } from '../family.ts';
import {
  answerChat,
  hashOf,
  offeredTools,
  objectOf,
  objectsOf,
  strangeField,
  stringsOf,
  textOfParts,
  turnOf,
  type ChatAnswered,
  type ChatRequest,
  type Fields,
} from '../chat.ts';
import { cameWith, partsIn } from '../earlier-calls.ts';

/**
 * Anthropic's Messages API, as https://platform.claude.com/docs/en/api/messages and …/api/errors describe it (read on
 * 2026-11-21): messages and the model list.
 */
export const anthropic: Family = async (call) => {
  if (!call.headers['x-api-key']) return authRefused;
  if (!call.headers['anthropic-version']) return invalid('anthropic-version: header is required');
  if (call.path === '/models' && call.method === 'GET') {
    const { search } = call;
    const page = await listPage(call, { limit: search.get('limit') ?? '20', after: search.get('after_id') });
    const data = page.names.map((id) => ({ ...modelEntry, id }));
    return json(200, { data, has_more: page.more !== null, first_id: page.names[0], last_id: page.names.at(-1) });
  }
  if (call.path !== '/messages' || call.method !== 'POST') return problem(404, 'not_found_error', 'Not found');
  const input = objectOf(call.body);
  if (!input) return invalid('The request body is not valid JSON');
  const complaint = complaintAbout(input, String(call.headers['anthropic-beta'] ?? ''));
  if (complaint) return invalid(complaint);
  return answerChat(call, toRequest(input), {
    refusals,
    stream: input.stream === true ? streamWords(`msg_sbx${hashOf(call.body)}`, input.model) : undefined,
    answer: ({ text, tools, finish, stop, usage, thoughts }) => ({
      id: `msg_sbx${hashOf(call.body)}`,
      type: 'message',
      role: 'assistant',
      model: input.model,
      content: [
        ...(thoughts === '' ? [] : [{ type: 'thinking', thinking: thoughts, signature: signatureOf(thoughts) }]),
        ...(text === '' ? [] : [{ type: 'text', text }]),
        ...tools.map(({ id, name, arguments: callArguments }) => ({
          type: 'tool_use',
          id,
          name,
          input: callArguments,
        })),
      ],
      ...stopOf(finish, stop),
      ...(usage && {
        usage: toUsage(usage),
      }),
    }),
  });
};

/** A signature belongs to its text, so that a changed text is noticed when it comes back. It is base64, as Anthropic's. */
const signatureOf = (thoughts: string) => `c2ln${hashOf(thoughts)}`;

const stopOf = (finish: ChatAnswered['finish'], stop: string | undefined) => ({
  stop_reason: stop === undefined ? reasonOf[finish] : 'stop_sequence',
  stop_sequence: stop ?? null,
});
const reasonOf = { stop: 'end_turn', empty: 'end_turn', length: 'max_tokens', tool: 'tool_use' };

const toUsage = (usage: NonNullable<ChatAnswered['usage']>) => ({
  // Tokens from the cache are counted apart.
  input_tokens: usage.input - usage.cached - usage.written,
  output_tokens: usage.output,
  cache_creation_input_tokens: usage.written,
  cache_read_input_tokens: usage.cached,
  output_tokens_details: { thinking_tokens: usage.thoughts },
  service_tier: 'standard',
});

/** Events as https://platform.claude.com/docs/en/build-with-claude/streaming describes them (read on 2026-11-22). */
const streamWords =
  (id: string, model: unknown) =>
  ({ tools, finish, stop, usage, thoughts }: ChatAnswered): StreamWords => {
    const event = (type: string, members: Fields) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
    let index = -1;
    let block: 'thinking' | 'text' | null = null;
    const signed = () => {
      const delta = { type: 'signature_delta', signature: signatureOf(thoughts) };
      return block === 'thinking' ? event('content_block_delta', { index, delta }) : '';
    };
    const closed = () => (block === null ? '' : signed() + event('content_block_stop', { index }));
    const opened = (content_block: Fields) => event('content_block_start', { index: (index += 1), content_block });
    const counts = usage && toUsage(usage);
    return {
      open:
        event('message_start', {
          message: {
            id,
            type: 'message',
            role: 'assistant',
            model,
            content: [],
            stop_reason: null,
            stop_sequence: null,
            ...(counts && { usage: { ...counts, output_tokens: 1 } }),
          },
        }) + event('ping', {}),
      piece(text, isThought) {
        const wanted = isThought ? 'thinking' : 'text';
        const turn =
          block === wanted
            ? ''
            : closed() +
              opened(isThought ? { type: 'thinking', thinking: '', signature: '' } : { type: 'text', text: '' });
        block = wanted;
        const delta = isThought ? { type: 'thinking_delta', thinking: text } : { type: 'text_delta', text };
        return turn + event('content_block_delta', { index, delta });
      },
      get close() {
        // Before the next block takes its number.
        const ending = closed();
        const called = tools.flatMap((tool) => {
          const argumentsJson = JSON.stringify(tool.arguments);
          return [
            opened({ type: 'tool_use', id: tool.id, name: tool.name, input: {} }),
            ...[argumentsJson.slice(0, 3), argumentsJson.slice(3)].map((partial_json) =>
              event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json } }),
            ),
            event('content_block_stop', { index }),
          ];
        });
        const delta = stopOf(finish, stop);
        return [
          ending,
          ...called,
          event('message_delta', { delta, ...(counts && { usage: { output_tokens: counts.output_tokens } }) }),
          event('message_stop', {}),
        ].join('');
      },
      error: event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } }),
    };
  };

const acceptedFields =
  'model messages max_tokens system temperature top_p top_k stop_sequences metadata tools tool_choice stream ' +
  'thinking output_config service_tier';

/** The request errors of the real API, so that tests notice a mistake of an adapter. */
function complaintAbout(input: Fields, betas: string): string | null {
  const strange = strangeField(
    input,
    betas.includes('context-management-') ? `${acceptedFields} context_management` : acceptedFields,
  );
  if (strange !== undefined) return `${strange}: Extra inputs are not permitted`;
  if (typeof input.model !== 'string' || input.model === '') return 'model: Field required';
  if (typeof input.max_tokens !== 'number') return 'max_tokens: Field required';
  if (typeof input.temperature === 'number' && input.temperature > 1) return 'temperature: range: 0..1';
  if (input.temperature !== undefined && input.top_p !== undefined)
    return '`temperature` and `top_p` cannot both be specified for this model. Please use only one.';
  const stops: unknown[] = Array.isArray(input.stop_sequences) ? input.stop_sequences : [];
  if (stops.some((stop) => typeof stop !== 'string' || stop.trim() === ''))
    return 'stop_sequences: each stop sequence must contain non-whitespace';
  const thinking = objectOf(input.thinking);
  if (thinking?.type === 'disabled' && /^claude-(?:opus|sonnet)-5-5|^claude-(?:fable|mythos)-5/.test(input.model))
    return '"thinking.type.disabled" is not supported for this model.';
  if (thinking?.type === 'between_tools' && !input.model.startsWith('claude-sonnet-5-5'))
    return '"thinking.type.between_tools" is not supported for this model.';
  if (thinking && thinking.type !== 'disabled') {
    if (input.temperature !== undefined && input.temperature !== 1)
      return '`temperature` may only be set to 1 when thinking is enabled.';
    if (['any', 'tool'].includes(String(objectOf(input.tool_choice)?.type)))
      return 'Thinking may not be enabled when tool_choice forces tool use.';
  }
  if (thinking?.type === 'enabled' && Number(thinking.budget_tokens) >= input.max_tokens)
    return '`max_tokens` must be greater than `thinking.budget_tokens`.';
  const messages = objectsOf(input.messages);
  if (messages.length === 0) return 'messages: at least one message is required';
  const complaint = complaintAboutTurns(messages, input.model) ?? complaintAboutBetas(input, messages, betas);
  if (complaint !== null) return complaint;
  const unread = complaintAboutDocuments(messages.flatMap(({ content }) => anthropicDocuments(content)));
  if (unread !== null) return `messages: ${unread}`;
  const byModel = thinking?.type === 'enabled' ? 'budget' : takesSystemTurns(input.model) ? 'adaptive' : 'off';
  const mode = thinking?.type === 'disabled' ? 'off' : byModel;
  const edits = objectsOf(objectOf(input.context_management)?.edits);
  if (mode === 'off' && edits.some(({ type }) => type === 'clear_thinking_20251015'))
    return '`clear_thinking_20251015` strategy requires `thinking` to be enabled';
  return complaintAboutThoughts(messages, mode);
}

/** Models since Claude Opus 4.8 take instructions between the turns, right after one of the user. */
const takesSystemTurns = (model: string): boolean => /^claude-[a-z]+-([5-9]|4-[89])/.test(model);

function complaintAboutTurns(messages: Fields[], model: string): string | null {
  if (messages[0]?.role !== 'user') return 'messages: first message must use the "user" role';
  for (const [index, { role, content }] of messages.entries()) {
    if (role === 'system' && !takesSystemTurns(model)) return "messages: role 'system' is not supported on this model";
    if (role === 'system' && messages[index - 1]?.role !== 'user')
      return `messages.${index}: a system message must follow a user message`;
    if (role !== 'user' && role !== 'assistant' && role !== 'system') return 'messages: Unexpected role';
    const blocks = objectsOf(content);
    if (blocks.some(({ type, text }) => type === 'text' && text === ''))
      return 'messages: text content blocks must be non-empty';
    if (blocks.length > 0 && blocks.every(({ type, text }) => type === 'text' && String(text).trim() === ''))
      return 'messages: text content blocks must contain non-whitespace text';
  }
  const last = messages.at(-1);
  const end = last?.role === 'assistant' ? objectsOf(last.content).at(-1) : undefined;
  if (end?.type === 'text' && /\s$/.test(String(end.text)))
    return 'messages: final assistant content cannot end with trailing whitespace';
  return null;
}

/** Fields that are unknown without their beta. */
function complaintAboutBetas(input: Fields, messages: Fields[], betas: string): string | null {
  const lacks = (beta: string, isUsed: boolean): boolean => isUsed && !betas.includes(beta);
  const turned = messages.findIndex(({ output_config: config }) => config !== undefined);
  if (lacks('mid-conversation-output-config-', turned >= 0) && !betas.includes('per-turn-control-'))
    return `messages.${turned}.output_config: Extra inputs are not permitted`;
  if (lacks('thinking-binding-controls-', objectOf(input.thinking)?.block_binding !== undefined))
    return 'thinking.block_binding: Extra inputs are not permitted';
  return null;
}

/** Thoughts must come back unchanged. With a budget, a turn that called tools must have them, and without thinking it must not. */
function complaintAboutThoughts(messages: Fields[], mode: 'budget' | 'adaptive' | 'off'): string | null {
  const blocks = messages.flatMap(({ content }) => objectsOf(content));
  const isChanged = ({ type, thinking, signature }: Fields) =>
    type === 'thinking' && signature !== signatureOf(typeof thinking === 'string' ? thinking : '');
  if (blocks.some(isChanged)) return 'messages: Invalid `signature` in `thinking` block';
  const has = ({ content }: Fields, ...types: string[]): boolean =>
    objectsOf(content).some(({ type }) => types.includes(String(type)));
  const last = messages.at(-1);
  if (!last || !has(last, 'tool_result')) return null;
  const turn = messages.slice(
    messages.findLastIndex((message) => message.role === 'assistant' && !has(message, 'tool_use')) + 1,
  );
  const hasThoughts = turn.some((message) => has(message, 'thinking', 'redacted_thinking'));
  if (mode === 'budget' && !hasThoughts) return 'messages: Expected `thinking` or `redacted_thinking`';
  return mode === 'off' && hasThoughts
    ? 'messages: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`'
    : null;
}

function toRequest(input: Fields): ChatRequest {
  const choice = objectOf(input.tool_choice);
  return {
    messages: [
      ...(input.system === undefined ? [] : [{ role: 'system' as const, text: textOfParts(input.system) }]),
      ...objectsOf(input.messages).flatMap(toMessages),
    ],
    maxTokens: typeof input.max_tokens === 'number' ? input.max_tokens : 0,
    stops: stringsOf(input.stop_sequences),
    signed: objectsOf(input.messages)
      .flatMap(({ content }) => objectsOf(content))
      .filter(({ type }) => type === 'thinking' || type === 'redacted_thinking').length,
    cameWith: cameWith({
      parts: objectsOf(input.messages)
        .flatMap(({ content }) => partsIn(content))
        .flatMap((block) => [block, ...partsIn(block.content)]),
      callId: ({ type, id }) => (type === 'tool_use' ? id : undefined),
      resultId: ({ type, tool_use_id: id }) => (type === 'tool_result' ? id : undefined),
      isPicture: ({ type }) => type === 'image',
    }),
    documents: {
      heard: objectsOf(input.messages).flatMap(({ content }) => anthropicDocuments(content)),
      tokensPerPage: tokensPerPage.anthropic,
    },
    tools: offeredTools(objectsOf(input.tools)),
    forced:
      choice?.type === 'tool' && typeof choice.name === 'string'
        ? { name: choice.name }
        : choice?.type === 'any'
          ? 'any'
          : null,
    schema: objectOf(objectOf(objectOf(input.output_config)?.format)?.schema),
  };
}

/** Tool results arrive inside a user message. */
function toMessages({ role, content }: Fields): ChatRequest['messages'] {
  if (role === 'system') return [{ role, text: textOfParts(content) }];
  const results = objectsOf(content).filter(({ type }) => type === 'tool_result');
  const texts = results.map((result) => textOfParts(result.content));
  return turnOf(role === 'assistant' ? 'assistant' : 'user', textOfParts(content), texts);
}

const modelEntry = {
  type: 'model',
  id: 'sandbox-chat',
  display_name: 'Sandbox chat',
  created_at: '2025-01-01T00:00:00Z',
};

const problem = (status: number, type: string, message: string): Reply =>
  json(status, { type: 'error', error: { type, message }, request_id: 'req_sandbox' });
const invalid = (message: string): Reply => problem(400, 'invalid_request_error', message);

const authRefused = problem(401, 'authentication_error', 'invalid x-api-key');
const refusals = {
  transient: problem(503, 'overloaded_error', 'Overloaded'),
  rate_limit: problem(429, 'rate_limit_error', 'This request would exceed your rate limit.'),
  refused: invalid('Output blocked by content filtering policy'),
  auth: authRefused,
  lost: problem(404, 'not_found_error', 'model: not found'),
  late_fail: problem(500, 'api_error', 'Internal server error'),
};
