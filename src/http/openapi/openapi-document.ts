import type { JsonObject } from '../../domain/json.ts';
import type { Route } from '../route.ts';
import { version } from '../version.ts';
import { errorBodies } from './schemas/errors.ts';
import { tags, type Catalog, type TaskDeadlines } from '../description.ts';
import { describedIn, describeRoutes, type DescribedRoute } from './describe-routes.ts';

/**
 * The OpenAPI 3.1 document of the client routes, with the parameters and examples of the models in `catalog`, and with the operator's
 * `limits`.
 */
export function openapiDocument(routes: readonly Route[], catalog: Catalog, limits: TaskDeadlines): JsonObject {
  const { paths, schemas, responses } = describeRoutes(describedIn(routes), {
    catalog,
    limits,
    accessText,
    errors: errorBodies,
    security: securityOf,
  });
  return {
    openapi: '3.1.0',
    info: { title: 'Tollgate', version, description: introduction, license },
    // Where the document was read: the same gateway may have several names.
    servers: [{ url: '/' }],
    tags: Object.entries(tags).map(([tag, description]) => ({ name: tag, description })),
    security: [{ bearer: [] }, { apiKey: [] }],
    paths,
    components: { securitySchemes, schemas, responses },
  };
}

const license = { name: 'Apache 2.0', identifier: 'Apache-2.0' };

const introduction = [
  'Chat, pictures and videos of several providers, billed in credits.',
  'Send your key as `Authorization: Bearer sk-…`. Chats answer in the response. A picture or a video is a task: create it, then poll it or receive a callback.',
  'Every error has a `code`; [the list of codes](/docs/errors) says what each means and what to do.',
].join('\n\n');

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API key, `sk-…`.' },
  apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The same key in another header.' },
  googleKey: { type: 'apiKey', in: 'header', name: 'x-goog-api-key', description: 'The same key, on Gemini routes.' },
};

const accessText = (route: DescribedRoute): string =>
  route.auth === 'api_key'
    ? `Needs a key with the scope ${route.scopes.map((scope) => `\`${scope}\``).join(' or ')}.`
    : 'Needs no key.';

function securityOf({ auth, dialect }: DescribedRoute): JsonObject[] | undefined {
  if (auth !== 'api_key') return [];
  return dialect === 'gemini' ? [{ bearer: [] }, { apiKey: [] }, { googleKey: [] }] : undefined;
}
