import type { JsonObject } from '../../src/domain/json.ts';
import { objectAt } from './json-at.ts';
import type { DialectName, FamilyName } from './matrix.ts';

/** What a program has seen and done in one turn. */
export interface AgentTurn {
  turn: JsonObject | JsonObject[];
  results: { callId: string; text: string }[];
}

/** What a program sends in one turn of its task. */
export interface AgentAsk {
  model: string;
  prompt: string;
  isStream: boolean;
  /** The turns so far: the model's as the program keeps it, and the results of its calls. */
  turns: readonly AgentTurn[];
}

/**
 * A program of test/agents/programs.ts: a request of the shape that its pinned version sends, with texts and tools of our own. test/agents/recorded-fields.json
 * has the fields that were recorded, and each must be in the request of its program. avante.nvim was read and not recorded.
 */
export interface AgentProgram {
  name: string;
  dialect: DialectName;
  headers?: Record<string, string>;
  /** The tool that the sandbox calls twice in each of two turns, and its arguments. Null: the program offers no tools. */
  tool: { name: string; args: JsonObject } | null;
  body(ask: AgentAsk): object;
  /** The fields that the gateway leaves out for a family and names, sorted. */
  ignored(family: FamilyName): string[];
}

const ephemeral = { cache_control: { type: 'ephemeral' } };
const schema = (...names: string[]): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string', description: `The ${name}.` }])),
  required: names,
  additionalProperties: false,
  $schema: 'https://json-schema.org/draft/2020-12/schema',
});
const shell = { name: 'run_shell', args: { command: 'echo a', description: 'Says a.' } };
const shellSchema = schema('command', 'description');
const none = (): string[] => [];

const chatTool = (name: string, parameters: JsonObject): JsonObject => ({
  type: 'function',
  function: { name, description: `Use ${name}.`, parameters },
});
/** The turns of a chat: the answer as it came and a message for each result. */
const chatTurns = (turns: readonly AgentTurn[], content: (text: string) => JsonObject): JsonObject[] =>
  turns.flatMap(({ turn, results }) => [
    { role: 'assistant', content: null, tool_calls: objectAt(turn as JsonObject).tool_calls ?? [] },
    ...results.map(({ callId, text }) => ({ role: 'tool', tool_call_id: callId, ...content(text) })),
  ]);
const asText = (text: string): JsonObject => ({ content: text });
const streamed = ({ isStream }: AgentAsk): JsonObject =>
  isStream ? { stream: true, stream_options: { include_usage: true } } : {};

/** The last calls of a turn and its result are marked for the prompt cache. */
function markedChat(messages: JsonObject[]): JsonObject[] {
  const last = messages.length - 1;
  return messages.map((message, index) => {
    const { tool_calls: calls, ...rest } = message;
    if (Array.isArray(calls) && index >= last - 2)
      return { ...rest, tool_calls: calls.map((call) => ({ ...objectAt(call), ...ephemeral })) };
    return index === 0 || index === last ? { ...message, ...ephemeral } : message;
  });
}

const messagesTurns = (turns: readonly AgentTurn[], isError: boolean): JsonObject[] =>
  turns.flatMap(({ turn, results }, round): JsonObject[] => {
    const isLast = round === turns.length - 1;
    const blocks = (turn as JsonObject[]).map((block) =>
      block.type === 'tool_use'
        ? { ...block, caller: { type: 'direct' }, ...(isLast && !isError && ephemeral) }
        : block,
    );
    const answers = results.map(({ callId, text }) => ({
      type: 'tool_result',
      tool_use_id: callId,
      content: text,
      ...(isError && { is_error: false }),
      ...(isLast && ephemeral),
    }));
    return [
      { role: 'assistant', content: blocks },
      { role: 'user', content: answers },
    ];
  });

const claudeCode: AgentProgram = {
  name: 'Claude Code',
  dialect: 'messages',
  headers: {
    'anthropic-version': '2023-06-01',
    'anthropic-beta':
      'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,effort-2025-11-24',
  },
  tool: shell,
  body: ({ model, prompt, isStream, turns }) => ({
    model,
    max_tokens: 32_000,
    ...(isStream && { stream: true }),
    system: [
      { type: 'text', text: 'entrypoint=cli;' },
      { type: 'text', text: 'You write code.', ...ephemeral },
    ],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: '<reminder>Be short.</reminder>' },
          { type: 'text', text: prompt, ...(turns.length === 0 && ephemeral) },
        ],
      },
      { role: 'system', content: 'You are in /tmp.', output_config: { effort: 'medium' } },
      ...messagesTurns(turns, true).flatMap((message): JsonObject[] =>
        message.role === 'user'
          ? [message, { role: 'system', content: '<tokens>900000 are left</tokens>' }]
          : [message],
      ),
      // Reminders may also stand beside the results.
      ...(turns.length > 0 ? [{ role: 'user', content: [{ type: 'text', text: '<reminder>Go on.</reminder>' }] }] : []),
    ],
    tools: [
      { name: shell.name, description: 'Runs a command.', input_schema: shellSchema },
      { name: 'later', description: 'Comes later.', input_schema: schema('path'), defer_loading: true },
    ],
    metadata: { user_id: '{"device_id":"d","session_id":"s"}' },
    thinking: { type: 'adaptive', display: 'omitted' },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    output_config: { effort: 'medium' },
  }),
  ignored: (family) => (family === 'Anthropic' ? [] : ['messages.1.output_config', 'tools.1.defer_loading']),
};

const opencodeMessages: AgentProgram = {
  name: 'opencode with the provider of Anthropic',
  dialect: 'messages',
  headers: { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'structured-outputs-2025-11-13' },
  tool: shell,
  body: ({ model, prompt, isStream, turns }) => ({
    model,
    max_tokens: 32_000,
    ...(isStream && { stream: true }),
    system: [{ type: 'text', text: 'You write code.', ...ephemeral }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: prompt, ...(turns.length === 0 && ephemeral) }] },
      ...messagesTurns(turns, false),
    ],
    thinking: { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } },
    tools: [
      { name: shell.name, description: 'Runs a command.', input_schema: shellSchema, eager_input_streaming: true },
    ],
    tool_choice: { type: 'auto' },
  }),
  ignored: (family) => (family === 'Anthropic' ? [] : ['thinking.block_binding']),
};

const answeredItems = (turns: readonly AgentTurn[], withIds: boolean): JsonObject[] =>
  turns.flatMap(({ turn, results }): JsonObject[] => [
    ...(turn as JsonObject[]).map((item): JsonObject => {
      if (item.type === 'reasoning') return { ...item, content: null };
      const { id, status, ...bare } = item;
      return withIds ? { ...bare, id: id ?? null, status: status ?? null } : bare;
    }),
    ...results.map(({ callId, text }, index) => ({
      type: 'function_call_output',
      call_id: callId,
      output: text,
      ...(withIds && { id: `fco_${index}` }),
    })),
  ]);

const responsesTool = (name: string, parameters: JsonObject): JsonObject => ({
  type: 'function',
  name,
  description: `Use ${name}.`,
  strict: false,
  parameters,
});
const codexTools = [
  responsesTool(shell.name, shellSchema),
  {
    type: 'namespace',
    name: 'agents',
    description: 'Further agents.',
    tools: [responsesTool('spawn', schema('task'))],
  },
  { type: 'web_search', external_web_access: true },
];
const grammar = { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' };
const laterTools = {
  type: 'additional_tools',
  id: 'at_1',
  role: 'developer',
  tools: [
    {
      type: 'namespace',
      name: 'functions',
      description: '',
      tools: [
        { type: 'custom', name: 'exec', description: 'Runs code.', format: grammar },
        responsesTool('wait', schema('id')),
      ],
    },
  ],
};
const codex: AgentProgram = {
  name: 'Codex CLI',
  dialect: 'responses',
  headers: { originator: 'codex_exec', session_id: 's' },
  tool: shell,
  body: ({ model, prompt, isStream, turns }) => ({
    model,
    ...(isStream && { stream: true }),
    input: [
      laterTools,
      { type: 'message', id: 'msg_1', role: 'developer', content: [{ type: 'input_text', text: 'You write code.' }] },
      { type: 'message', id: 'msg_2', role: 'user', content: [{ type: 'input_text', text: '<cwd>/tmp</cwd>' }] },
      { type: 'message', id: 'msg_3', role: 'user', content: [{ type: 'input_text', text: prompt }] },
      ...answeredItems(turns, true),
    ],
    tools: codexTools,
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: { effort: 'medium', summary: 'auto', context: 'all_turns' },
    store: false,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: 'a thread',
    text: { verbosity: 'low' },
    client_metadata: { thread_id: 't', 'x-codex-window-id': 't:0' },
  }),
  ignored: (family) =>
    family === 'OpenAI Responses'
      ? ['tools.2.web_search']
      : ['reasoning.context', 'text.verbosity', 'tools.2.web_search'],
};

const opencodeResponses: AgentProgram = {
  name: 'opencode with the provider of OpenAI',
  dialect: 'responses',
  tool: shell,
  body: ({ model, prompt, isStream, turns }) => ({
    model,
    ...(isStream && { stream: true }),
    max_output_tokens: 32_000,
    input: [
      { role: 'system', content: 'You write code.' },
      { role: 'user', content: [{ type: 'input_text', text: prompt }] },
      ...answeredItems(turns, false).filter(({ type }) => type !== 'reasoning'),
    ],
    tools: [responsesTool(shell.name, shellSchema)],
    tool_choice: 'auto',
    reasoning: { effort: 'medium', summary: 'auto' },
    store: false,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: 'a session',
  }),
  ignored: none,
};

const opencode: AgentProgram = {
  name: 'opencode',
  dialect: 'chat completions',
  tool: shell,
  body: (ask) => ({
    model: ask.model,
    max_tokens: 32_000,
    reasoning_effort: 'medium',
    messages: markedChat([
      { role: 'system', content: 'You write code.' },
      { role: 'user', content: ask.prompt },
      ...chatTurns(ask.turns, asText),
    ]),
    tools: [chatTool(shell.name, shellSchema), chatTool('edit', schema('path', 'text'))],
    tool_choice: 'auto',
    ...streamed(ask),
  }),
  ignored: none,
};

const geminiCli: AgentProgram = {
  name: 'Gemini CLI',
  dialect: 'Gemini',
  headers: { 'x-goog-api-client': 'google-genai-sdk/1.0 gl-node/20' },
  tool: shell,
  body: ({ prompt, turns }) => ({
    contents: [
      { role: 'user', parts: [{ text: '<context>This is a terminal.</context>' }, { text: prompt }] },
      ...turns.flatMap(({ turn, results }): JsonObject[] => [
        { ...(turn as JsonObject), role: 'model' },
        {
          role: 'user',
          parts: results.map(({ callId, text }) => ({
            functionResponse: { id: callId, name: shell.name, response: { output: text } },
          })),
        },
      ]),
    ],
    systemInstruction: { role: 'user', parts: [{ text: 'You write code.' }] },
    tools: [
      {
        functionDeclarations: [
          { name: shell.name, description: 'Runs a command.', parametersJsonSchema: shellSchema },
          { name: 'update_topic', description: 'Says what comes.', parametersJsonSchema: schema('title') },
        ],
      },
    ],
    generationConfig: {
      temperature: 1,
      topP: 0.95,
      topK: 64,
      thinkingConfig: { includeThoughts: true, thinkingLevel: 'HIGH' },
    },
  }),
  // OpenAI's Responses API has no such setting.
  ignored: (family) => (family === 'OpenAI Responses' ? ['generationConfig.topK'] : []),
};

/** Gemini CLI asks a small model which one should answer. */
const geminiRouter: AgentProgram = {
  ...geminiCli,
  tool: null,
  body: ({ prompt }) => ({
    contents: [{ role: 'user', parts: [{ text: prompt }] }],
    generationConfig: {
      temperature: 0,
      topP: 1,
      topK: 64,
      thinkingConfig: { includeThoughts: false, thinkingLevel: 'LOW' },
      responseMimeType: 'application/json',
      responseJsonSchema: schema('reasoning', 'model_choice'),
    },
  }),
};

const qwenCode: AgentProgram = {
  name: 'Qwen Code',
  dialect: 'chat completions',
  tool: shell,
  body: (ask) => ({
    model: ask.model,
    max_tokens: 8_000,
    messages: [
      { role: 'system', content: 'You write code.' },
      { role: 'user', content: [{ type: 'text', text: 'This is a terminal.' }] },
      { role: 'assistant', content: 'Thanks.' },
      { role: 'user', content: [{ type: 'text', text: ask.prompt }] },
      ...chatTurns(ask.turns, (text) => ({ content: [{ type: 'text', text }] })),
    ],
    tools: [chatTool(shell.name, shellSchema)],
    ...streamed(ask),
  }),
  ignored: none,
};

const llm: AgentProgram = {
  name: 'llm',
  dialect: 'chat completions',
  tool: shell,
  body: (ask) => ({
    model: ask.model,
    messages: [{ role: 'user', content: ask.prompt }, ...chatTurns(ask.turns, asText)],
    tools: [chatTool(shell.name, shellSchema)],
    ...streamed(ask),
  }),
  ignored: none,
};

const aider: AgentProgram = {
  name: 'aider',
  dialect: 'chat completions',
  tool: null,
  body: ({ model, prompt, isStream }) => ({
    model,
    messages: [
      { role: 'system', content: 'You edit files.' },
      { role: 'user', content: 'Change the greeting.' },
      { role: 'assistant', content: 'Ok.' },
      { role: 'user', content: prompt },
    ],
    ...(isStream && { stream: true }),
    temperature: 0,
  }),
  ignored: none,
};

/** Its defaults for Claude: Anthropic's editor in place of its own tools for files (`lua/avante/providers/claude.lua`, read 2026-11-29). */
const avante: AgentProgram = {
  name: 'avante.nvim',
  dialect: 'messages',
  headers: { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'prompt-caching-2024-07-31' },
  tool: { name: 'str_replace_based_edit_tool', args: { command: 'view', path: 'a.lua' } },
  body: ({ model, prompt, isStream, turns }) => ({
    model,
    max_tokens: 4_096,
    ...(isStream && { stream: true }),
    system: [{ type: 'text', text: 'You edit files.', ...ephemeral }],
    messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }, ...messagesTurns(turns, true)],
    tools: [
      { name: 'grep', description: 'Searches.', input_schema: schema('pattern') },
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
    ],
  }),
  ignored: none,
};

export const agentPrograms: readonly AgentProgram[] = [
  claudeCode,
  codex,
  opencode,
  opencodeMessages,
  opencodeResponses,
  geminiCli,
  geminiRouter,
  qwenCode,
  llm,
  aider,
  avante,
];
