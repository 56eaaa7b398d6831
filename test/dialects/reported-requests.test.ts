import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject, JsonValue } from '../../src/domain/json.ts';
import { objectAt, parsed } from './json-at.ts';
import { dialects, families, familyNames, type DialectName, type FamilyName } from './matrix.ts';
import { startSdkScene, type SdkScene } from './sdk-scene.ts';

let scene: SdkScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startSdkScene();
});
afterAll(() => scene?.stop());

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const object = { type: 'object', properties: {} };
const listOf = <T>(count: number, one: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => one(at));

interface Reported {
  what: string;
  /** Replaces and adds fields of a plain request. */
  more: JsonObject;
  headers?: Record<string, string>;
  /** The fields that are named as left out where the family of the dialect's own vendor does not answer; none if absent. */
  ignored?: string;
  /** The families that are sent those fields. */
  own?: FamilyName;
  /** The families that refuse the request, with the field at fault. */
  refusedBy?: Partial<Record<FamilyName, string>>;
}

const chatTool = (name: string, parameters: JsonObject = object) => ({
  type: 'function',
  function: { name, parameters },
});
const chatCall = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };
const saying = (...messages: [role: string, content: JsonValue, more?: JsonObject][]): JsonObject => ({
  messages: messages.map(([role, content, more]) => ({ role, content, ...more })),
});

/** What programs and people were refused by gateways, and are answered here by every family. */
const reported: Record<DialectName, Reported[]> = {
  'chat completions': [
    { what: 'a custom tool', more: { tools: [{ type: 'custom', custom: { name: 'apply_patch', description: 'd' } }] } },
    {
      what: "the input of Cursor's agent, and its tools",
      more: {
        messages: [],
        input: [
          { role: 'user', content: [{ type: 'input_text', text: 'hello' }] },
          { type: 'function_call', call_id: 'c1', name: 'ApplyPatch', arguments: '*** Begin Patch' },
          { type: 'function_call_output', call_id: 'c1', output: 'done' },
        ],
        tools: [{ type: 'custom', name: 'ApplyPatch' }],
      },
    },
    {
      what: 'flat tools, as Cursor sends them beside messages',
      more: { tools: [{ type: 'function', name: 'look' }], tool_choice: { type: 'function', name: 'look' } },
    },
    {
      what: 'allowed tools',
      more: {
        tools: [chatTool('a'), chatTool('b')],
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'a' } }] },
        },
      },
    },
    { what: 'tools with dots and colons', more: { tools: [chatTool('fs.read'), chatTool('ns:tool')] } },
    {
      what: 'a tool whose schema is a choice',
      more: { tools: [chatTool('f', { anyOf: [{ ...object }, { ...object, required: [] }] })] },
    },
    {
      what: 'properties named constructor and prototype',
      more: {
        tools: [chatTool('f', { type: 'object', properties: { constructor: { type: 'string' }, prototype: {} } })],
      },
    },
    {
      what: 'blank answers and instructions',
      more: saying(['system', '  '], ['user', 'a'], ['assistant', ' '], ['user', 'b']),
    },
    { what: 'an answer that had no text', more: saying(['user', 'a'], ['assistant', null], ['user', 'b']) },
    {
      what: 'an answer of thoughts alone',
      more: saying(['user', 'a'], ['assistant', [], { reasoning_content: 'Hm.' }], ['user', 'b']),
    },
    { what: 'a greeting of the assistant', more: saying(['assistant', 'Welcome!'], ['user', 'a']) },
    {
      what: 'a picture in the result of a tool',
      more: saying(
        ['user', 'a'],
        ['assistant', null, { tool_calls: [chatCall] }],
        ['tool', [{ type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }], { tool_call_id: 'c1' }],
      ),
    },
    { what: 'obfuscation', more: { stream: true, stream_options: { include_obfuscation: true } } },
    { what: 'a safety identifier and a key of the cache', more: { safety_identifier: 'u', prompt_cache_key: 'k' } },
    { what: 'labels', more: { metadata: { feature: 'support' } } },
    {
      what: 'the sources of an earlier answer',
      more: saying(['user', 'a'], ['assistant', 'b', { annotations: [{ type: 'url_citation' }] }], ['user', 'c']),
      ignored: 'messages.1.annotations',
    },
    { what: 'a user of 600 characters', more: { user: 'u'.repeat(600) } },
    { what: 'a length, a top_k and a top_p of -1', more: { max_completion_tokens: -1, top_k: -1, top_p: -1 } },
    {
      what: 'five stop sequences',
      more: { stop: ['1', '2', '3', '4', '5'] },
      refusedBy: { 'OpenAI-compatible': 'stop' },
    },
    { what: 'the name of a user', more: saying(['user', 'a', { name: 'ann' }]) },
    {
      what: 'an empty list beside the calls of an answer',
      more: saying(['user', 'a'], ['assistant', [], { tool_calls: [chatCall] }], ['tool', 'b', { tool_call_id: 'c1' }]),
    },
  ],
  responses: [
    { what: 'client_metadata', more: { client_metadata: { a: 'b' } } },
    {
      what: 'an answer that had no text',
      more: {
        input: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: [] },
          { role: 'user', content: 'b' },
        ],
      },
    },
    {
      what: 'the tools of Codex',
      more: {
        tools: [
          {
            type: 'namespace',
            name: 'agents',
            description: 'd',
            tools: [{ type: 'function', name: 'read', parameters: object }],
          },
          { type: 'web_search', external_web_access: false },
          {
            type: 'custom',
            name: 'apply_patch',
            description: 'd',
            format: { type: 'grammar', syntax: 'lark', definition: 'start: X' },
          },
          { type: 'local_shell' },
        ],
      },
      ignored: 'tools.1.web_search, tools.3.local_shell',
    },
    {
      what: 'tools in the conversation, and thoughts of all turns',
      more: {
        input: [
          {
            type: 'additional_tools',
            role: 'developer',
            tools: [
              {
                type: 'namespace',
                name: 'n',
                description: 'd',
                tools: [{ type: 'custom', name: 'p', description: 'd' }],
              },
            ],
          },
          { role: 'user', content: 'hi' },
        ],
        reasoning: { context: 'all_turns' },
      },
      ignored: 'reasoning.context',
      own: 'OpenAI Responses',
    },
    {
      what: 'the phase of an earlier message',
      more: {
        input: [
          { role: 'user', content: 'a' },
          { type: 'message', role: 'assistant', content: 'b', phase: 'commentary' },
          { role: 'user', content: 'c' },
        ],
      },
    },
    {
      what: 'allowed tools',
      more: {
        tools: [
          { type: 'function', name: 'a', parameters: object },
          { type: 'function', name: 'b', parameters: object },
        ],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'a' }] },
      },
    },
    { what: 'truncation', more: { truncation: 'auto' }, ignored: 'truncation', own: 'OpenAI Responses' },
    {
      what: 'the sources of an earlier answer',
      more: {
        input: [
          { role: 'user', content: 'a' },
          {
            type: 'message',
            role: 'assistant',
            content: [
              { type: 'output_text', text: 'b', annotations: [{ type: 'url_citation', url: 'https://a.test' }] },
            ],
          },
          { role: 'user', content: 'c' },
        ],
      },
    },
    {
      what: 'a picture in the result of a tool',
      more: {
        input: [
          { role: 'user', content: 'a' },
          { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
          {
            type: 'function_call_output',
            call_id: 'c',
            output: [{ type: 'input_image', image_url: `data:image/png;base64,${png}` }],
          },
        ],
      },
    },
  ],
  messages: [
    { what: 'an answer that had no text', more: saying(['user', 'a'], ['assistant', []], ['user', 'b']) },
    { what: 'no edit of the context', more: { context_management: { edits: [] } } },
    {
      what: 'an edit of the context that keeps all',
      more: { context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } },
    },
    {
      what: 'an edit of the context',
      more: { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
      ignored: 'context_management',
      own: 'Anthropic',
    },
    { what: 'a top_k of 0 and a top_p of -1', more: { top_k: 0, top_p: -1 } },
    {
      what: 'a compaction',
      more: { context_management: { edits: [{ type: 'compact_20260112' }] } },
      ignored: 'context_management.edits.0.compact_20260112',
    },
    {
      what: 'a binding of thoughts',
      more: {
        max_tokens: 2_000,
        thinking: { type: 'adaptive', display: 'omitted', block_binding: { prefix_mismatch_behavior: 'drop_block' } },
      },
      ignored: 'thinking.block_binding',
      own: 'Anthropic',
    },
    {
      what: 'the effort of a turn in a message of the system without text',
      more: saying(
        ['user', 'a'],
        ['assistant', 'b'],
        ['user', 'c'],
        ['system', null, { output_config: { effort: 'low' } }],
      ),
      ignored: 'messages.3.output_config',
      own: 'Anthropic',
    },
    {
      what: 'instructions between the turns',
      more: saying(['user', 'a'], ['system', 'Be brief.'], ['assistant', 'b'], ['user', 'c']),
    },
    {
      what: 'tools that wait, with examples and a mark for the cache',
      more: {
        tools: [
          { name: 'a', input_schema: object, defer_loading: true, input_examples: [{ a: 1 }] },
          { name: 'b', input_schema: object, cache_control: { type: 'ephemeral', scope: 'global' } },
        ],
      },
      ignored: 'tools.0.defer_loading, tools.0.input_examples',
      own: 'Anthropic',
    },
    {
      what: 'the earlier name of a format',
      more: { output_format: { type: 'json_schema', schema: { ...object, additionalProperties: false } } },
    },
    {
      what: 'tools that Anthropic runs',
      more: {
        tools: [
          { type: 'web_search_20250305', name: 'web_search' },
          { name: 'a', input_schema: object },
        ],
      },
      ignored: 'tools.0.web_search_20250305',
    },
    {
      what: 'a picture in the result of a tool',
      more: saying(
        ['user', 'a'],
        ['assistant', [{ type: 'tool_use', id: 't1', name: 'f', input: { constructor: 1 } }]],
        [
          'user',
          [
            {
              type: 'tool_result',
              tool_use_id: 't1',
              content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }],
            },
          ],
        ],
      ),
    },
    {
      what: 'ids of calls that repeat',
      more: saying(
        ['user', 'a'],
        ['assistant', [{ type: 'tool_use', id: 'terminal:0', name: 'f', input: {} }]],
        ['user', [{ type: 'tool_result', tool_use_id: 'terminal:0', content: 'x' }]],
        ['assistant', [{ type: 'tool_use', id: 'terminal:0', name: 'f', input: {} }]],
        ['user', [{ type: 'tool_result', tool_use_id: 'terminal:0', content: 'y' }]],
      ),
    },
    {
      what: 'a budget for thoughts between calls, above the length of the answer',
      more: {
        max_tokens: 2_000,
        thinking: { type: 'enabled', budget_tokens: 10_000 },
        tools: [{ name: 'a', input_schema: object }],
      },
      headers: { 'anthropic-beta': 'interleaved-thinking-2025-05-14' },
    },
    {
      what: '17 stop sequences',
      more: { stop_sequences: listOf(17, (at) => `s${at}`) },
      refusedBy: { 'OpenAI-compatible': 'stop_sequences', Gemini: 'stop_sequences' },
    },
    {
      what: '129 tools',
      more: { tools: listOf(129, (at) => ({ name: `t${at}`, input_schema: object })) },
      refusedBy: { 'OpenAI Responses': 'tools' },
    },
  ],
  Gemini: [
    {
      what: 'an answer that had no text',
      more: {
        contents: [
          { role: 'user', parts: [{ text: 'a' }] },
          { role: 'model', parts: [] },
          { role: 'user', parts: [{ text: 'b' }] },
        ],
      },
    },
    { what: 'text as the modality', more: { generationConfig: { responseModalities: ['TEXT'] } } },
    { what: 'a topK of 0', more: { generationConfig: { topK: 0 } } },
    {
      what: 'words in another case',
      more: {
        generationConfig: { responseModalities: ['Text'] },
        tools: [{ functionDeclarations: [{ name: 'f' }] }],
        toolConfig: { functionCallingConfig: { mode: 'auto' } },
      },
    },
    {
      what: 'functions that say what they return',
      more: {
        tools: [
          {
            functionDeclarations: [
              {
                name: 'f',
                response_json_schema: { type: 'string' },
                response: { type: 'STRING' },
                behavior: 'BLOCKING',
              },
            ],
          },
        ],
        toolConfig: { functionCallingConfig: { mode: 'VALIDATED' } },
      },
    },
    {
      what: 'two allowed functions of which one must be called',
      more: {
        tools: [{ functionDeclarations: ['f', 'g', 'h'].map((name) => ({ name })) }],
        toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f', 'g'] } },
      },
    },
    {
      what: 'settings that change nothing',
      more: {
        generationConfig: { presencePenalty: 0, frequencyPenalty: 0, responseLogprobs: false },
        cachedContent: null,
      },
    },
    { what: 'labels', more: { labels: { a: 'b' } }, ignored: 'labels' },
    {
      what: 'one value wherever there is a list',
      more: {
        contents: { role: 'user', parts: { text: 'a' } },
        system_instruction: { parts: { text: 'Be brief.' } },
        tools: { function_declarations: { name: 'f' } },
        toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: 'f' } },
        safetySettings: { category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' },
        generationConfig: { stopSequences: 'ZZ', responseModalities: 'TEXT' },
      },
      ignored: 'safetySettings',
      own: 'Gemini',
    },
    { what: 'an empty object for the tools', more: { tools: {} } },
    {
      what: 'tools that Gemini runs, in one object',
      more: { tools: { google_search: {}, url_context: {} } },
      ignored: 'tools.0.google_search, tools.0.url_context',
    },
    {
      what: 'results of functions in the name of the model, and a file in one',
      more: {
        contents: [
          { role: 'user', parts: { text: 'a' } },
          { role: 'model', parts: { functionCall: { name: 'f', args: {} } } },
          {
            role: 'model',
            parts: {
              functionResponse: {
                name: 'f',
                response: { a: 1 },
                parts: { inlineData: { mimeType: 'image/png', data: png } },
              },
            },
          },
        ],
      },
    },
    {
      what: 'a signature alone, and a result without parts',
      more: {
        contents: [
          { role: 'user', parts: [{ text: 'a' }] },
          { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }, { thoughtSignature: 'c2ln' }] },
          { role: 'user', parts: [{ functionResponse: { name: 'f', response: { a: 1 }, parts: [] } }] },
        ],
      },
    },
    {
      what: 'a picture in the result of a function',
      more: {
        contents: [
          { role: 'user', parts: [{ text: 'a' }] },
          { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
          {
            role: 'user',
            parts: [
              {
                functionResponse: {
                  name: 'f',
                  response: { a: 1 },
                  parts: [{ inlineData: { mimeType: 'image/png', data: png } }],
                },
              },
            ],
          },
        ],
      },
    },
  ],
};

/** Requests that were refused by gateways, as programs send them, at every family, whole and streamed. */
describe.each(Object.entries(reported) as [DialectName, Reported[]][])('a request of %s with', (dialect, requests) => {
  const client = dialects[dialect];
  const cases = requests.flatMap((request) => familyNames.map((family) => ({ ...request, family })));

  it.each(cases)('$what is taken for $family', async ({ family, more, headers, ignored = null, own, refusedBy }) => {
    const { gateway, apiKey } = scene;
    for (const isStream of [false, true]) {
      const ask = { model: families[family], prompt: `reported ${dialect} ${family}`, isStream };
      const answer = await fetch(gateway.baseUrl + client.path(ask), {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ ...client.body(ask), ...more }),
      });
      const text = await answer.text();
      const field = refusedBy?.[family];
      if (field !== undefined) {
        expect(client.error(objectAt(parsed(text)))).toMatchObject({ param: field });
        continue;
      }
      expect({ status: answer.status, text }).toMatchObject({
        status: 200,
        text: expect.not.stringMatching(/"error":\s*\{|event: error/),
      });
      // A stream names them in its last event, because they depend on the channel.
      const named = family === own ? null : ignored;
      if (!isStream) expect(answer.headers.get('x-tollgate-ignored')).toBe(named);
      else if (named !== null) expect(text).toContain(named);
    }
  });
});
