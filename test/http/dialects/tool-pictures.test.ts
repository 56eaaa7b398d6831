import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../src/domain/json.ts';
import { readGeminiChat } from '../../../src/http/dialects/gemini/gemini-chat-request.ts';
import { readOpenaiChat } from '../../../src/http/dialects/openai/openai-chat-request.ts';
import { readBy, refusalOf } from './tool-readers.ts';

describe('a picture in the result of a tool', () => {
  const data = 'iVBORw0KGgo=';
  const url = `data:image/png;base64,${data}`;
  const bodies: Record<string, JsonObject> = {
    'chat completions': {
      messages: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
        },
        {
          role: 'tool',
          tool_call_id: 'c1',
          content: [
            { type: 'text', text: '{"seen":1}' },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
    },
    responses: {
      input: [
        { role: 'user', content: 'a' },
        { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
        {
          type: 'function_call_output',
          call_id: 'c1',
          output: [
            { type: 'input_text', text: '{"seen":1}' },
            { type: 'input_image', image_url: url },
          ],
        },
      ],
    },
    messages: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'look', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'c1',
              content: [
                { type: 'text', text: '{"seen":1}' },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
              ],
            },
          ],
        },
      ],
    },
    Gemini: {
      contents: [
        { role: 'user', parts: [{ text: 'a' }] },
        { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'look', args: {} } }] },
        {
          role: 'user',
          parts: [
            {
              function_response: {
                id: 'c1',
                name: 'look',
                response: { seen: 1 },
                parts: [{ inline_data: { mime_type: 'image/png', data, display_name: 'a.png' } }],
              },
            },
          ],
        },
      ],
    },
  };

  it.each(Object.entries(bodies))('%s: is read beside its text', (dialect, body) => {
    const request = readBy(dialect)(body);
    expect(request.messages.at(-1)).toMatchObject({
      role: 'tool',
      toolCallId: 'c1',
      content: [
        { type: 'text', text: '{"seen":1}' },
        { type: 'image', url },
      ],
    });
    expect(request.leftOut).toEqual([]);
  });

  it('is read in a chat completion as a part of the Responses API, as Open WebUI 0.10 sends it', () => {
    const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };
    const content: JsonObject[] = [
      { type: 'input_text', text: '{"seen":1}' },
      { type: 'input_image', image_url: url, detail: 'low' },
    ];
    const messages: JsonObject[] = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content },
    ];
    const request = readBy('chat completions')({ messages });
    expect(request.messages.at(-1)).toMatchObject({
      content: [
        { type: 'text', text: '{"seen":1}' },
        { type: 'image', url, detail: 'low' },
      ],
    });
    expect(request.leftOut).toEqual([]);
    expect(refusalOf(() => readOpenaiChat({ model: 'm', messages })).param).toBe('messages.2.content.0.type');
  });

  it('is read alone where the function returned nothing else, as rig sends it', () => {
    const alone = (parts: JsonObject[]) => ({
      contents: [
        { role: 'user', parts: [{ text: 'a' }] },
        { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'look' } }] },
        { role: 'tool', parts: [{ functionResponse: { id: 'c1', name: 'look', parts } }] },
      ],
    });
    const request = readBy('Gemini')(alone([{ inlineData: { mimeType: 'image/png', data } }]));
    expect(request.messages.at(-1)).toMatchObject({ role: 'tool', content: [{ type: 'image', url }] });
    expect(refusalOf(() => readBy('Gemini')(alone([]))).param).toBe('contents.2.parts.0.functionResponse.response');
  });

  it('stays refused on the routes of the specification', () => {
    expect(refusalOf(() => readOpenaiChat({ model: 'm', ...bodies['chat completions'] })).param).toBe(
      'messages.2.content.1.type',
    );
    const { param } = refusalOf(() => readGeminiChat('m', bodies.Gemini));
    expect(param).toBe('contents.2.parts.0.functionResponse.parts');
  });
});
