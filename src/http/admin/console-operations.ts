import { z } from 'zod';
import { time, timeOrNull } from '../../schemas/time.ts';
import { roles } from '../../domain/operators/role.ts';
import { bodySchema, type NamedSchemas } from '../openapi/json-schema.ts';
import { json, type Operation } from '../openapi/operation.ts';
import { adminPrefix, oidcCallbackPath } from './admin-prefix.ts';
import { PlaygroundRequest } from './playground-route.ts';
import { SignIn } from './session-routes.ts';

const Session = z
  .object({
    name: z.string(),
    role: z.enum(roles),
    expires_at: timeOrNull.describe('Null for a token that never expires.'),
  })
  .meta({ id: 'Session' });

const PlaygroundKey = z
  .object({
    key_id: z.string(),
    api_key: z.string().describe('The secret, which is shown only here.'),
    expires_at: time,
    budget_daily: z.int().describe('Credits that the key may spend each day, UTC.'),
  })
  .meta({ id: 'PlaygroundKey' });

const SignInOptions = z
  .object({
    oidc: z
      .object({ issuer: z.string(), url: z.string().describe('Where a sign-in begins.') })
      .nullable()
      .describe('Null where no identity provider is configured.'),
  })
  .meta({ id: 'SignInOptions' });

/** What a browser shows that does not follow the redirect. */
const redirection = { '*/*': z.string() };

const bodyOf = (schema: z.ZodType) => (_catalog: unknown, named: NamedSchemas) => ({
  'application/json': { schema: bodySchema(schema, named) },
});

const session = `${adminPrefix}/session`;
const setsCookie = { 'Set-Cookie': 'The cookie of the session, which scripts cannot read.' };

/** The routes that are not actions. */
export const consoleOperations: Record<string, Operation<string>> = {
  [`POST ${session}`]: {
    summary: 'sign in to the console with a token',
    tag: 'console',
    body: bodyOf(SignIn),
    answers: { 200: { description: 'Who is signed in.', content: json(Session), headers: setsCookie } },
    errors: ['invalid_admin_token', 'cross_site_request'],
  },
  [`GET ${session}`]: {
    summary: 'show who is signed in',
    tag: 'console',
    answers: { 200: { description: 'Who is signed in, or whose token was sent.', content: json(Session) } },
  },
  [`DELETE ${session}`]: {
    summary: 'sign out',
    tag: 'console',
    answers: {
      200: {
        description: 'The session has ended.',
        content: json(z.object({ ended: z.boolean().describe('False if there was none.') })),
        headers: setsCookie,
      },
    },
  },
  [`GET ${session}/options`]: {
    summary: 'show the ways to sign in beside a token',
    tag: 'console',
    answers: { 200: { description: 'The ways to sign in.', content: json(SignInOptions) } },
  },
  [`GET ${session}/oidc`]: {
    summary: 'sign in to the console by OIDC',
    description: 'For a browser. What is checked when it comes back is in a cookie for ten minutes.',
    tag: 'console',
    answers: {
      303: {
        description: 'To the identity provider.',
        content: redirection,
        headers: { Location: 'The page of the identity provider.', 'Set-Cookie': 'The cookie of the sign-in.' },
      },
    },
    errors: ['cross_site_request', 'not_found'],
    refusesWithPages: true,
  },
  [`GET ${oidcCallbackPath}`]: {
    summary: 'come back from the identity provider',
    description: 'For a browser, with the parameters that the identity provider adds.',
    tag: 'console',
    answers: {
      303: {
        description: 'To the console, with a session.',
        content: redirection,
        headers: { Location: 'The console.', ...setsCookie },
      },
    },
    errors: ['sign_in_failed', 'unknown_operator', 'not_found'],
    refusesWithPages: true,
  },
  [`POST ${adminPrefix}/playground/key`]: {
    summary: 'get a short-lived API key for the playground',
    description: 'An operator has one such key for each project. A second request gives it a new secret.',
    tag: 'console',
    body: bodyOf(PlaygroundRequest),
    answers: { 200: { description: 'The key.', content: json(PlaygroundKey) } },
    errors: ['not_found', 'action_refused'],
  },
  [`GET ${adminPrefix}/openapi.json`]: {
    summary: 'show this document',
    tag: 'documentation',
    answers: {
      200: {
        description: 'The document.',
        content: json(z.looseObject({ openapi: z.string(), paths: z.record(z.string(), z.unknown()) })),
      },
    },
  },
};
