import { z } from 'zod';
import { json } from '../description.ts';
import { answerCoded, renderCoded, renderJson, type CodedBody } from '../response/representations.ts';
import { endpoint, type Route } from '../route.ts';
import { adminDocument } from './admin-document.ts';
import { adminPrefix } from './admin-prefix.ts';

/** The document of these routes and of itself. It needs no token, and has nothing of the installation. */
export function adminOpenapiRoute(others: readonly Route[]): Route {
  let document: CodedBody | undefined;
  const route: Route = endpoint({
    auth: 'none',
    method: 'GET',
    path: `${adminPrefix}/openapi.json`,
    dialect: 'openai',
    body: 'none',
    summary: 'show this document',
    tag: 'documentation',
    answers: {
      200: {
        description: 'The document.',
        content: json(z.looseObject({ openapi: z.string(), paths: z.record(z.string(), z.unknown()) })),
      },
    },
    handler: (ctx) => answerCoded(ctx, (document ??= renderCoded(renderJson(adminDocument([...others, route]))))),
  });
  return route;
}
