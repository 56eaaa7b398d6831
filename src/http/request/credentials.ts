import type { IncomingMessage } from 'node:http';

/**
 * The distinct credentials in a request's headers: `Authorization: Bearer` and `x-api-key` anywhere (spec §5), and the `own`
 * headers of a vendor's clients. A credential that is sent twice counts once. Other Authorization schemes are ignored.
 */
export function allCredentials(request: IncomingMessage, own: readonly string[]): string[] {
  const plain = ['x-api-key', ...own].flatMap((name) => headerValues(request, name)).filter((value) => value !== '');
  const bearer = bearerCredentials(request);
  return plain.length === 0 ? bearer : [...new Set([...bearer, ...plain])];
}

/** Whether the address is one that Azure's clients use. Groq's begin in the same way. */
export const isOfAzure = ({ originalUrl }: { originalUrl: string }): boolean => /^\/+openai\//.test(originalUrl);

/**
 * The values of all headers of this name, which is given in lower case. Node keeps only the first Authorization header and the first
 * Host, and its `headersDistinct` makes a list for each header of the request.
 */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i];
    if (header?.length === name.length && header.toLowerCase() === name) values.push(rawHeaders[i + 1] ?? '');
  }
  return values;
}

/** The distinct Bearer credentials. */
export function bearerCredentials(request: IncomingMessage): string[] {
  const headers = headerValues(request, 'authorization');
  const credentials = headers.flatMap((header) => /^bearer +(.+)$/i.exec(header)?.[1] ?? []);
  return credentials.length > 1 ? [...new Set(credentials)] : credentials;
}

/**
 * Whether the query has a credential, or a parameter named like one. A key in a query is compromised, because every proxy on the
 * way logs it.
 */
export function hasKeyInQuery(query: URLSearchParams): boolean {
  for (const [name, value] of query) {
    if (value !== '' && credentialNames.has(name.toLowerCase())) return true;
    if (/\bsk-[A-Za-z0-9]/.test(value) || /^sk-[A-Za-z0-9]/.test(name)) return true;
  }
  return false;
}

const credentialNames = new Set(['key', 'api_key', 'apikey', 'api-key', 'x-api-key', 'x-goog-api-key', 'access_token']);
