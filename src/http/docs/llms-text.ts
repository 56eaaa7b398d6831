import { errorTable, type ErrorCode } from '../../domain/errors.ts';
import { statusOf } from '../response/error-status.ts';
import { tags, type Catalog } from '../description.ts';
import { describedIn, operationName } from '../openapi/describe-routes.ts';
import type { Route } from '../route.ts';
import { errorHelp } from './error-help.ts';

/** `GET /llms.txt` (https://llmstxt.org): what a language model needs to write a client, in Markdown. */
export function llmsText(baseUrl: string, table: readonly Route[], catalog: Catalog): string {
  const models = catalog.map(({ model }) => `- \`${model.id}\` (${model.type}): ${model.display_name}`);
  const routes = Object.keys(tags).flatMap((tag) => [
    `### ${tag}`,
    '',
    ...describedIn(table)
      .filter((route) => route.tag === tag)
      .map((route) => `- \`${operationName(route)}\`: ${route.summary}`),
    '',
  ]);
  const errors = (Object.keys(errorTable) as ErrorCode[]).map(
    (code) => `- \`${code}\` (${statusOf[code]}): ${errorHelp[code].when}. ${errorHelp[code].remedy}`,
  );
  return `${[
    '# Tollgate',
    '',
    '> A gateway for chats, pictures and videos of several providers, billed in credits. One API key, one base URL.',
    '',
    `- Base URL: ${baseUrl}`,
    '- Authentication: `Authorization: Bearer sk-…` or `x-api-key: sk-…`. Never in the query.',
    `- Chats speak the dialects of OpenAI (\`POST /v1/chat/completions\`, \`POST /v1/responses\`), Anthropic (\`POST /v1/messages\`) and Google (\`POST /v1beta/models/{model}:generateContent\`).`,
    `- SDKs of OpenAI: \`base_url\` = ${baseUrl}/v1. SDKs of Anthropic and Google: the base URL itself.`,
    '- A picture or a video is a task: `POST` creates it (202), `GET /api/v1/tasks/{task_id}` reads it until `status` is `succeeded`, `failed` or `canceled`.',
    '- Send `Idempotency-Key` with every POST that costs credits, and retry with the same key.',
    '- Unknown fields are refused with 400 under `/api/v1`. Chats under `/v1` and `/v1beta` leave them out and name them in `x-tollgate-ignored`. `error.code` is the code to program against, `error.param` the field.',
    '- Signed URLs in `output` need no key.',
    `- Agents: ${baseUrl}/mcp is an MCP endpoint (Streamable HTTP, the key as Bearer) with the tools list_models, quote, generate_image, generate_video and get_task.`,
    '',
    `- [OpenAPI 3.1 document](${baseUrl}/api/v1/openapi.json): every field of every route`,
    `- [Reference](${baseUrl}/docs): the same as a page`,
    `- [Error codes](${baseUrl}/docs/errors)`,
    '',
    '## Example',
    '',
    '```sh',
    `curl ${baseUrl}/api/v1/images/generate -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\`,
    `  -d '{"model":"${catalog.find(({ model }) => model.type === 'image')?.model.id ?? 'MODEL'}","prompt":"a paper boat on a river"}'`,
    '```',
    '',
    '## Models',
    '',
    ...models,
    '',
    '## Routes',
    '',
    ...routes,
    '## Errors',
    '',
    ...errors,
  ].join('\n')}\n`;
}
