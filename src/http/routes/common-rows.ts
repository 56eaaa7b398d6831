import { scopes, type Scope } from '../../domain/projects/scope.ts';

/** The scopes that open a route. A client that creates tasks may read them without the scope of reading the whole project. */
export const chat = ['chat'] as const;
export const media = ['media'] as const;
export const read = ['read'] as const;
export const ownTask = ['media', 'read'] as const;
export const anyScope = scopes;
/** The handler demands the scope of the model's type. */
export const chatOrMedia = ['chat', 'media'] as const;

type Scopes = readonly [Scope, ...Scope[]];

const client = { auth: 'api_key', dialect: 'openai' } as const;

export const get = (path: string, scopes: Scopes) =>
  ({ ...client, method: 'GET', path, scopes, body: 'none' }) as const;
export const post = (path: string, scopes: Scopes) =>
  ({ ...client, method: 'POST', path, scopes, body: 'none' }) as const;
export const postJson = (path: string, scopes: Scopes) =>
  ({ ...client, method: 'POST', path, scopes, body: 'json' }) as const;

/** A route of other vendors, whose clients send pictures and documents in their requests. */
export const postParts = (path: string, scopes: Scopes) =>
  ({ ...postJson(path, scopes), body: 'json_with_parts', skipsQuery: true }) as const;
