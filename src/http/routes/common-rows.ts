import { scopes, type Scope } from '../../domain/projects/scope.ts';

/** The scopes that open a route. A client that creates tasks may read them without the scope of reading the whole project. */
export const chatScope = ['chat'] as const;
export const mediaScope = ['media'] as const;
export const readScope = ['read'] as const;
export const ownTaskScope = ['media', 'read'] as const;
export const anyScope = scopes;
/** The handler demands the scope of the model's type. */
export const chatOrMediaScope = ['chat', 'media'] as const;

type Scopes = readonly [Scope, ...Scope[]];

const client = { auth: 'api_key', dialect: 'openai' } as const;

export const getRow = (path: string, scopes: Scopes) =>
  ({ ...client, method: 'GET', path, scopes, body: 'none' }) as const;
export const postRow = (path: string, scopes: Scopes) =>
  ({ ...client, method: 'POST', path, scopes, body: 'none' }) as const;
export const postJsonRow = (path: string, scopes: Scopes) =>
  ({ ...client, method: 'POST', path, scopes, body: 'json' }) as const;

/** A route of other vendors, whose clients send pictures and documents in their requests. */
export const postPartsRow = (path: string, scopes: Scopes) =>
  ({ ...postJsonRow(path, scopes), body: 'json_with_parts', skipsQuery: true }) as const;
