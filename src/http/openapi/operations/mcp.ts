import { z } from 'zod';
import { EventText } from '../schemas/chat-completion.ts';
import { bodySchema } from '../json-schema.ts';
import type { Operation } from '../operation.ts';

const Message = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: z.union([z.string(), z.int()]).optional(),
    method: z.string().describe('Such as `initialize`, `tools/list` or `tools/call`.'),
    params: z.looseObject({}).optional(),
  })
  .meta({ id: 'McpMessage' });

const Reply = z
  .looseObject({ jsonrpc: z.literal('2.0'), id: z.union([z.string(), z.int()]).nullable() })
  .describe('With `result`, or with `error` if the message is not understood.');

export const mcpOperations: Record<string, Operation> = {
  'POST /mcp': {
    summary: 'Call tools, for agents',
    description: [
      'One message of the Model Context Protocol over Streamable HTTP, without sessions: use an MCP client with this address and the key as Bearer.',
      'The tools are `list_models`, `quote`, `generate_image`, `generate_video` and `get_task`. Each call of a tool needs the scope that its route under `/api/v1` needs, and a refusal is its result.',
      'A web page may call it only from an origin of `CORS_ORIGINS`.',
    ].join('\n\n'),
    tag: 'Agents',
    body: (_catalog, named) => ({
      'application/json': {
        schema: bodySchema(Message, named),
        examples: { tools: { summary: 'List the tools', value: { jsonrpc: '2.0', id: 1, method: 'tools/list' } } },
      },
    }),
    answers: {
      200: {
        description: 'The answer to a request.',
        content: { 'application/json': Reply, 'text/event-stream': EventText },
      },
      202: { description: 'A notification was received.' },
    },
    errors: ['origin_not_allowed'],
  },
};
