import { z } from 'zod';
import type { JsonObject } from '../../domain/json.ts';
import { actionTable } from '../../admin/table.ts';
import { errorBodies, openaiErrorSchema } from '../openapi/schemas/errors.ts';
import { describedIn, describeRoutes, type DescribedRoute } from '../openapi/describe-routes.ts';
import type { Route } from '../route.ts';
import { version } from '../version.ts';

/** The OpenAPI 3.1 document of the admin API: its routes with their inputs, answers, refusals and roles. */
export function adminDocument(routes: readonly Route[]): JsonObject {
  const { paths, schemas, responses } = describeRoutes(describedIn(routes), {
    catalog: [],
    limits: { imageDeadlineSeconds: Infinity, videoDeadlineSeconds: Infinity },
    accessText,
    errors: { ...errorBodies, openai: AdminError },
    security: ({ auth }) => (auth === 'admin' ? undefined : []),
  });
  return {
    openapi: '3.1.0',
    info: { title: 'Tollgate admin API', version, description: introduction },
    // Where the document was read.
    servers: [{ url: '/' }],
    tags: [...Object.entries(actionTable).map(([name, entry]) => tagOf(name, entry)), ...ownTags],
    security: [{ token: [] }, { session: [] }],
    paths,
    components: { securitySchemes, schemas, responses },
  };
}

const introduction = [
  'Everything that the command `tollgate` can do. The answer of an action is the document that `--json` prints; with `Accept: application/vnd.tollgate.report+json` it is that document beside the text for people.',
  'Send a token as `Authorization: Bearer adm_…`. The role `operator` includes `viewer`, and `owner` includes both.',
].join('\n\n');

const securitySchemes = {
  token: { type: 'http', scheme: 'bearer', description: 'An admin token, `adm_…`.' },
  session: { type: 'apiKey', in: 'cookie', name: 'tollgate_session', description: 'A session of the console.' },
};

const tagOf = (name: string, entry: { description: string } | { summary: string }): JsonObject => ({
  name,
  description: 'summary' in entry ? entry.summary : entry.description,
});

const ownTags = [
  { name: 'console', description: 'What only the console needs: its sessions and its playground.' },
  { name: 'documentation', description: 'This document.' },
];

const accessText = (route: DescribedRoute): string =>
  route.auth === 'admin' ? `Needs the role \`${route.role}\`.` : 'Needs no token.';

const CatalogProblemSchema = z.object({
  file: z.string().optional(),
  model: z.string(),
  path: z.string(),
  message: z.string(),
});

const AdminError = z
  .object({
    error: openaiErrorSchema.extend({
      problems: z.array(CatalogProblemSchema).optional().describe('Everything that is wrong with a catalog.'),
    }),
  })
  .meta({ id: 'Error' });
