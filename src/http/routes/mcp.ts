import { z } from 'zod';
import type { Config } from '../../config/load-config.ts';
import { demandAllowedOrigin } from '../middleware/allowed-origin.ts';
import type { McpDeps } from '../mcp/tools.ts';
import { EventText } from '../openapi/schemas/chat-completion.ts';
import { endpoint, type Route } from '../route.ts';
import { anyScope, postJsonRow } from './common-rows.ts';

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

/**
 * `POST /mcp`: tools for agents by the Model Context Protocol over Streamable HTTP (https://modelcontextprotocol.io/specification). No
 * session is kept, so GET and DELETE, which are about sessions, are 405. Each tool demands the scope that it needs.
 */
export const mcpRoute = (deps: McpDeps & { config: { http: Config['http'] } }): Route =>
  endpoint({
    ...postJsonRow('/mcp', anyScope),
    dialect: 'mcp',
    body: 'json_with_parts',
    beforeAuth: [demandAllowedOrigin(deps.config.http)],
    summary: 'Call tools, for agents',
    description: [
      'One message of the Model Context Protocol over Streamable HTTP, without sessions: use an MCP client with this address and the key as Bearer.',
      'The tools are `list_models`, `quote`, `generate_image`, `generate_video` and `get_task`. Each call of a tool needs the scope that its route under `/api/v1` needs, and a refusal is its result.',
      'A web page may call it only from an origin of `CORS_ORIGINS`.',
    ].join('\n\n'),
    tag: 'Agents',
    accepts: { 'application/json': Message },
    examples: () => ({ tools: { summary: 'List the tools', value: { jsonrpc: '2.0', id: 1, method: 'tools/list' } } }),
    answers: {
      200: {
        description: 'The answer to a request.',
        content: { 'application/json': Reply, 'text/event-stream': EventText },
      },
      202: { description: 'A notification was received.' },
    },
    errors: ['origin_not_allowed'],
    async handler(ctx) {
      // The SDK takes longer to load than the other routes together, and most processes never need it.
      const { answerMcp } = await import('../mcp/answer-mcp.ts');
      await answerMcp(deps, ctx);
    },
  });
