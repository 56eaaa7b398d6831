import { version } from '../version.ts';
import { escaped, htmlPage } from './page.ts';

/** `GET /` for a person who opens the base URL in a browser: what this is, and where clients and readers go on. */
export const homePage = (baseUrl: string): string =>
  htmlPage(
    'Tollgate',
    `<h1>Tollgate</h1>
<p>This is a gateway for chats, pictures and videos of several providers, billed in credits. Programs call it with an API key.</p>
<dl>
<dt>OpenAI SDKs</dt><dd><code>${escaped(baseUrl)}/v1</code></dd>
<dt>Anthropic and Google SDKs</dt><dd><code>${escaped(baseUrl)}</code></dd>
<dt>Agents (MCP)</dt><dd><code>${escaped(baseUrl)}/mcp</code></dd>
</dl>
<p>The <a href="/docs">reference</a> lists every route, and <a href="/docs/errors">Error codes</a> explains every refusal.</p>`,
  );

/** The same for a program. */
export const homeFacts = (baseUrl: string): object => ({
  name: 'tollgate',
  version,
  openai_base_url: `${baseUrl}/v1`,
  anthropic_base_url: baseUrl,
  documentation: `${baseUrl}/docs`,
  openapi: `${baseUrl}/api/v1/openapi.json`,
  llms: `${baseUrl}/llms.txt`,
});
