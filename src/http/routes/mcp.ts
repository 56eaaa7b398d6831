import type { Config } from '../../config/load-config.ts';
import { scopes } from '../../domain/projects/scope.ts';
import { demandAllowedOrigin } from '../middleware/allowed-origin.ts';
import type { McpDeps } from '../mcp/tools.ts';
import type { Route } from '../route.ts';

/**
 * `POST /mcp`: tools for agents by the Model Context Protocol over Streamable HTTP (https://modelcontextprotocol.io/specification). No
 * session is kept, so GET and DELETE, which are about sessions, are 405. Each tool demands the scope that it needs.
 */
export const mcpRoute = (deps: McpDeps & { config: { http: Config['http'] } }): Route => ({
  method: 'POST',
  path: '/mcp',
  auth: 'api_key',
  scopes,
  dialect: 'mcp',
  body: 'json_with_parts',
  beforeAuth: [demandAllowedOrigin(deps.config.http)],
  handler: async (ctx) => {
    // The SDK takes longer to load than the other routes together, and most processes never need it.
    const { answerMcp } = await import('../mcp/answer-mcp.ts');
    await answerMcp(deps, ctx);
  },
});
