import type { ChatTool, ToolCall } from '../../domain/chat/chat.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { callArguments } from './call-arguments.ts';
import { nonNullFields } from './chat-fields.ts';

/**
 * A tool whose input is free text, as OpenAI's `custom` tools. Families without such tools are sent a function with one string, and are told
 * of the grammar in words.
 */
export function customTool(
  name: string,
  { description, format }: { description?: string | null | undefined; format?: JsonObject | null | undefined },
): ChatTool {
  const text = [description ?? '', grammarIn(format)].filter(Boolean).join('\n\n');
  return {
    name,
    ...(text !== '' && { description: text }),
    parameters: {
      type: 'object',
      properties: { input: { type: 'string', description: 'The whole input of the tool.' } },
      required: ['input'],
      additionalProperties: false,
    },
    custom: nonNullFields({ description, format }),
  };
}

/** OpenAI nests the grammar in chat completions and not in responses. */
function grammarIn(format: JsonObject | null | undefined): string {
  if (format?.type !== 'grammar') return '';
  const nested = format.grammar;
  const grammar = isObject(nested) ? nested : format;
  const { syntax, definition } = grammar;
  if (typeof definition !== 'string') return '';
  return `The input must match this ${typeof syntax === 'string' ? `${syntax} ` : ''}grammar:\n${definition}`;
}

/** The free text as the arguments of a function. */
export const customArguments = (input: string): string => JSON.stringify({ input });

/** The free text in the arguments of a function. A model that wrote something else has its words returned unchanged. */
export function customInput(text: string): string {
  const input = callArguments(text)?.['input'];
  return typeof input === 'string' ? input : text;
}

/** Whether the tool of this name takes free text. */
export const isCustomTool = (tools: readonly ChatTool[], name: string): boolean =>
  tools.some((tool) => tool.name === name && tool.custom !== undefined);

/** How a dialect writes the call of a tool with free text: `function` as that of a function whose arguments are the text. */
export type CustomCallForm = 'custom' | 'function';

type CustomCall =
  | { id: string; type: 'custom'; custom: { name: string; input: string } }
  | { id: string; type: 'function'; function: { name: string; arguments: string } };

/** Such a call, with the free text that is in its arguments. */
export function customCall({ id, name, arguments: text }: ToolCall, form: CustomCallForm): CustomCall {
  const input = customInput(text);
  if (form === 'function') return { id, type: 'function', function: { name, arguments: input } };
  return { id, type: 'custom', custom: { name, input } };
}
