import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { isObject } from '../../domain/json.ts';
import type { AppContext } from '../context.ts';
import { nonNullFields } from '../dialects/chat-fields.ts';
import { version } from '../version.ts';
import { registerTools, type McpDeps } from './tools.ts';

const instructions =
  'Tollgate generates pictures and videos, billed in credits. Find a model with list_models, ask for a price with quote, then call generate_image or generate_video. A result that is not ready comes as a task: read it with get_task.';

/** Answers one message of the protocol, in every revision that the SDK knows, by a server that exists for this message only. */
export async function answerMcp(deps: McpDeps, ctx: AppContext): Promise<void> {
  const server = (): McpServer => {
    // The tools never change, so no client needs to subscribe to their list.
    const capabilities = { tools: { listChanged: false } };
    const made = new McpServer({ name: 'tollgate', title: 'Tollgate', version }, { instructions, capabilities });
    registerTools(made, deps, ctx);
    return made;
  };
  let trouble: Error | undefined;
  const handler = createMcpHandler(server, {
    // The answer is complete when it is sent, and nothing changes that a client could subscribe to.
    keepAliveMs: 0,
    maxSubscriptions: 0,
    onerror: (error) => (trouble = error),
  });
  const request = new Request(new URL(ctx.path, 'http://localhost'), { method: 'POST', headers: headersOf(ctx) });
  const response = await handler.fetch(request, { parsedBody: withoutNulls(ctx.request.body) });
  if (response.status >= 500) throw new Error('no message of the protocol could be answered', { cause: trouble });
  await send(ctx, response);
}

/**
 * A call whose arguments of null are absent, as on every other route. Models that must fill in every argument send null for those that they do not
 * need, and clients in Go do for an empty map. The SDK refuses both.
 */
function withoutNulls(message: unknown): unknown {
  if (!isObject(message) || !isObject(message['params'])) return message;
  const { arguments: values, ...params } = message['params'];
  const named = isObject(values) ? nonNullFields(values) : values;
  return { ...message, params: { ...params, ...nonNullFields({ arguments: named }) } };
}

/** What the SDK reads of the request. Every client must take both formats of an answer, and the SDK refuses those that do not say so. */
function headersOf(ctx: AppContext): Headers {
  const headers = new Headers({ 'content-type': 'application/json', accept: 'application/json, text/event-stream' });
  for (const name of ['mcp-protocol-version', 'mcp-method', 'mcp-name']) {
    const value = ctx.get(name);
    if (value !== '') headers.set(name, value);
  }
  return headers;
}

async function send(ctx: AppContext, response: Response): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer());
  ctx.body = body.length > 0 ? body : null;
  ctx.status = response.status;
  const type = response.headers.get('content-type');
  if (type !== null) ctx.set('content-type', type);
}
